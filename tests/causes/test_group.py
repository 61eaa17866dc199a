import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from records import TEST, failure, failures, frame, in_test, origin, raised, verdict

from loop_close.causes import group
from loop_close.detectors import claim
from loop_close.model import Evidence, Site

KIND = "test-failure"


def grouped(*found, kind=KIND):
    return group([claim(kind, f) for f in found], {KIND: 60})


def many(number, make, test="test_{}"):
    return [failure(make(n), f"{TEST}::{test.format(n)}") for n in range(number)]


def out_of(function="total", type="ValueError", message="bad", **fields):
    return raised(type, message, [in_test(), frame(function=function)], **fields)


def checked(number):
    at = in_test("test_all")
    site = Site(frame=at, statement=f"check(part_{number}())")
    return raised(
        "AssertionError", f"wrong {number}", [at, in_test("check")], site=site, bases=("Exception",)
    )


def none_used(n):
    """One function gave None; twelve tests used it, each in its own way."""
    source = (origin("find"),)
    at = in_test(f"test_{n}")
    if n % 3 == 0:
        site = Site(frame=at, statement=f"assert find({n}) == {n}", origins=source)
        return raised("AssertionError", f"assert None == {n}", [at], site=site, bases=("Exception",))
    site = Site(frame=at, statement=f"find({n}).x{n}", origins=source)
    if n % 3 == 1:
        details = {"name": f"x{n}", "owner": "NoneType"}
        message = f"'NoneType' object has no attribute 'x{n}'"
        return raised("AttributeError", message, [at], site=site, details=details)
    return raised("TypeError", "'NoneType' object is not subscriptable", [at], site=site)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], 0),
        (many(40, lambda n: out_of("database")), 1),
        (many(20, lambda n: verdict(origin("roman"), message=f"assert {n} == 1"), "test_roman[{}]"), 1),
        (many(6, lambda n: out_of("total", ["KeyError", "ValueError"][n % 2])), 2),
        (many(6, lambda n: raised("ImportError", frames=[in_test(f"m{n}")], details={"name": "yaml"})), 1),
        (many(12, none_used), 1),
        (many(15, checked), 15),
        (many(12, lambda n: out_of("read", "KeyError", details={"environment": f"NAME_{n % 6}"})), 6),
        (many(20, lambda n: out_of(cause=out_of("client", "KeyError", f"id {n * 7919:x}"))), 1),
        (many(3, lambda n: out_of("run", message="task failed", cause=out_of(f"task_{n}"))), 3),
    ],
)
def test_number_of_causes(found, expected):
    causes = grouped(*found)
    assert len(causes) == expected
    assert sum(len(c.evidence) for c in causes) == len(found)
    assert len({c.id for c in causes}) == expected


def test_failures_of_two_kinds_stay_apart():
    one, two = failure(out_of(), f"{TEST}::a"), failure(out_of(), f"{TEST}::b")
    causes = group([claim("timeout", one), claim(KIND, two)], {KIND: 60, "timeout": 10})
    assert [c.kind for c in causes] == ["timeout", KIND]


def test_evidence_without_a_failure_is_no_cause():
    assert group([Evidence(kind="todo-marker", snippet="# TODO")], {}) == ()


def test_failure_that_a_detector_names_twice_counts_once():
    one = failure(out_of())
    (cause,) = group([claim(KIND, one), replace(claim(KIND, one), label="again")], {})
    assert len(cause.evidence) == 1


def test_order_of_causes():
    found = [
        *many(2, lambda n: out_of("twice"), "test_twice_{}"),
        *many(1, lambda n: raised("KeyError", frames=[frame("src/b.py", "b")]), "test_b_{}"),
        *many(1, lambda n: raised("KeyError", frames=[frame("src/a.py", "a", 9)]), "test_a_{}"),
        *many(1, lambda n: raised("KeyError", frames=[frame("src/a.py", "c", 3)]), "test_c_{}"),
    ]
    blocking = failure(raised("SyntaxError", frames=[frame("src/z.py", "z")]), "tests/test_z.py")
    causes = group(
        [*(claim(KIND, f) for f in found), claim("syntax-error", blocking)], {KIND: 60, "syntax-error": 20}
    )
    assert [c.evidence[0].label for c in causes] == ["z", "twice", "c", "a", "b"]


def test_the_first_evidence_is_the_first_by_place():
    found = [failure(out_of(), f"{TEST}::test_{n}") for n in "cab"]
    (cause,) = grouped(*found)
    assert [e.failure.nodeid[-1] for e in cause.evidence] == ["a", "b", "c"]


def test_ids_are_those_of_the_last_time():
    ids = [c.id for c in grouped(*many(3, lambda n: out_of(f"f{n}")))]
    assert ids == [c.id for c in grouped(*many(3, lambda n: out_of(f"f{n}")))]
    assert all(len(i) == 8 and int(i, 16) >= 0 for i in ids)
    # Fewer tests ran, lines moved, values changed: the same cause.
    first = grouped(*many(5, lambda n: out_of(message=f"no {n}")))[0].id
    later = raised("ValueError", "no 77", [in_test(line=60), frame(line=99)])
    assert grouped(failure(later, "tests/test_other.py::test_z"))[0].id == first


@settings(max_examples=40)
@given(st.lists(failures, max_size=6), st.randoms(use_true_random=False))
def test_any_failures_in_any_order(found, chance):
    found = [replace(f, nodeid=f"{f.nodeid}{n}") for n, f in enumerate(found)]
    causes = grouped(*found)
    assert sorted(e.failure.nodeid for c in causes for e in c.evidence) == sorted(f.nodeid for f in found)
    shuffled = list(found)
    chance.shuffle(shuffled)
    assert grouped(*shuffled) == causes


@pytest.mark.large
def test_thousands_of_failures_take_no_time_to_speak_of():
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz ", k=60)) for _ in range(1500)]
    found = many(1500, lambda n: out_of(message=words[n]))
    assert len(grouped(*found)) > 1000
