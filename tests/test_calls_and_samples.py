import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from loop_close.calls import sample, sample_key


@given(st.lists(st.text(), unique=True), st.integers(0, 9))
def test_so_many_of_them_in_whatever_order_they_come(nodeids, number):
    some = sample(nodeids, number)
    assert len(some) == min(number, len(nodeids))
    assert {*some} <= {*nodeids}
    assert some == sample(reversed(nodeids), number)
    assert some == sorted(nodeids, key=sample_key)[:number]


def test_the_same_ones_in_every_process():
    script = "from loop_close.calls import sample; print(*sample(map(str, range(99)), 5))"
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert other.stdout.split() == sample(map(str, range(99)), 5)


def test_a_name_that_is_no_text():
    assert sample(["a\ud800", "b"], 2) in (["a\ud800", "b"], ["b", "a\ud800"])
