import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.calls import bits_of, reach, sample, sample_key

MANY = [f"tests/test_a.py::test_{number}" for number in range(1_000)]


@given(st.lists(st.text(), unique=True), st.integers(0, 9))
def test_so_many_of_them_in_whatever_order_they_come(nodeids, number):
    some = sample(nodeids, number)
    assert len(some) == min(number, len(nodeids))
    assert {*some} <= {*nodeids}
    assert some == sample(reversed(nodeids), number)
    assert some == sorted(nodeids, key=sample_key)[:number]


def test_from_all_over():
    places = [MANY.index(each) for each in sample(MANY, 100)]
    assert all(any(start <= place < start + 200 for place in places) for start in range(0, 1_000, 200))


def test_the_same_ones_in_every_process():
    script = "from loop_close.calls import sample; print(*sample(map(str, range(99)), 5))"
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert other.stdout.split() == sample(map(str, range(99)), 5)


def test_a_name_that_is_no_text():
    assert sample(["a\ud800", "b"], 2) in (["a\ud800", "b"], ["b", "a\ud800"])


def plainly(edges, own):
    """By walking from each node."""
    found = []
    for start in range(len(edges)):
        waiting, seen = [start], set()
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += edges[node]
        bits = 0
        for node in seen:
            bits |= own[node]
        found.append(bits)
    return found


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([], []),
        ([[]], [1]),
        ([[0]], [1]),
        ([[1], [2], []], [0b111, 0b110, 0b100]),
        ([[1], [0]], [0b11, 0b11]),
        ([[1], [2], [0, 3], []], [0b1111, 0b1111, 0b1111, 0b1000]),
        ([[1, 2], [], [1]], [0b111, 0b10, 0b110]),
    ],
)
def test_small_graphs(edges, expected):
    assert reach(edges, [1 << node for node in range(len(edges))]) == expected


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.lists(st.frozensets(st.integers(0, n - 1)), min_size=n, max_size=n)
    )
)
def test_it_is_what_walking_finds(edges):
    own = [node % 3 and 1 << node for node in range(len(edges))]
    assert reach(edges, own) == plainly(edges, own)


@pytest.mark.large
def test_long_chains_need_no_stack():
    edges = [[node + 1] for node in range(50_000)] + [[]]
    assert reach(edges, [0] * 50_000 + [1])[0] == 1


@given(st.sets(st.integers(0, 500)))
def test_bits(places):
    assert list(bits_of(sum(1 << place for place in places))) == sorted(places)
