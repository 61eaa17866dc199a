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


def shape(causes):
    """What the causes come to: who stands with whom, and by which id."""
    return {(c.id, c.kind, tuple(sorted(e.failure.nodeid for e in c.evidence))) for c in causes}


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


def unknown_module(n):
    at = [in_test(f"module_{n}")]
    return raised("ModuleNotFoundError", "No module", at, bases=("ImportError",), details={"name": "a"})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], 0),
        (many(40, lambda n: out_of("database")), 1),
        (many(20, lambda n: verdict(origin("roman"), message=f"assert {n} == 1"), "test_roman[{}]"), 1),
        (many(20, lambda n: verdict(message=f"assert {n} == 1", test="test_roman"), "test_roman[{}]"), 1),
        (many(5, lambda n: out_of("quote", message=f"no quote for {n}")), 1),
        (many(6, lambda n: out_of("total", ["KeyError", "ValueError"][n % 2])), 2),
        (many(6, lambda n: raised("ImportError", frames=[in_test(f"m{n}")], details={"name": "yaml"})), 1),
        (many(12, none_used), 1),
        (many(15, checked), 15),
        (many(12, lambda n: out_of("read", "KeyError", details={"environment": f"NAME_{n % 6}"})), 6),
        (many(6, lambda n: out_of("read", "FileNotFoundError", details={"path": f"{n % 4}.txt"})), 4),
        (many(20, lambda n: out_of(cause=out_of("client", "KeyError", f"id {n * 7919:x}"))), 1),
        (many(40, unknown_module), 1),
        (many(5, lambda n: out_of(f"function_{n}")), 5),
        (many(3, lambda n: out_of("run", message="task failed", cause=out_of(f"task_{n}"))), 3),
    ],
)
def test_number_of_causes(found, expected):
    causes = grouped(*found)
    assert len(causes) == expected
    assert sum(len(c.evidence) for c in causes) == len(found)
    assert len({c.id for c in causes}) == expected


LONG = "the order of the customer cannot be taken now since the shop in the town of "


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("no price for tea in the shop", "the currency is not supported", 2),
        ("the customer is unknown", "the order is unknown and cannot be sent", 2),
        (LONG + "Aberdeen is closed", LONG + "Inverness is closed", 1),
        ("abcdefghij", "abcdefghik", 1),  # 0.90 is enough
        ("abcdefghi", "abcdefghk", 2),  # 0.89 is not
    ],
)
def test_similar_messages_of_one_place(a, b, expected):
    found = [failure(out_of(message=m), f"{TEST}::test_{n}") for n, m in enumerate([a, b])]
    assert len(grouped(*found)) == expected


def test_similar_messages_of_two_places_stay_apart():
    found = [
        failure(out_of("a", message=LONG + "Aberdeen"), f"{TEST}::test_a"),
        failure(out_of("b", message=LONG + "Inverness"), f"{TEST}::test_b"),
    ]
    assert len(grouped(*found)) == 2


def test_failures_of_two_kinds_stay_apart():
    one, two = failure(out_of(), f"{TEST}::a"), failure(out_of(), f"{TEST}::b")
    causes = group([claim("timeout", one), claim(KIND, two)], {KIND: 60, "timeout": 10})
    assert [c.kind for c in causes] == ["timeout", KIND]


def test_verdicts_of_two_kinds_stay_apart_though_one_function_explains_both():
    one = failure(verdict(origin("f")), f"{TEST}::a")
    site = Site(
        frame=in_test("b"), statement="assert g(f())", origins=(origin("g"),), inner=("src/shop/cart.py:f",)
    )
    two = failure(raised("AssertionError", "", [in_test("b")], site=site, bases=("Exception",)), f"{TEST}::b")
    assert len(group([claim(KIND, one), claim(KIND, two)], {})) == 1
    assert len(group([claim("custom", one), claim(KIND, two)], {})) == 2


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


NEAR = ["abcdefghij", "abcdefghik", "abcdefghkk", "abcdefkkkk", "zyxw"]


@settings(max_examples=40)
@given(st.lists(st.sampled_from(NEAR), max_size=8), st.randoms(use_true_random=False))
def test_nearly_equal_messages_in_any_order(messages, chance):
    found = [failure(out_of(message=m), f"{TEST}::test_{n}") for n, m in enumerate(messages)]
    shuffled = list(found)
    chance.shuffle(shuffled)
    assert shape(grouped(*shuffled)) == shape(grouped(*found))


@pytest.mark.large
def test_thousands_of_failures_take_no_time_to_speak_of():
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz ", k=60)) for _ in range(1500)]
    found = many(1500, lambda n: out_of(message=words[n]))
    assert len(grouped(*found)) > 1000


MISMATCH = "ScopeMismatch: the function scoped fixture base was requested by the session scoped fixture data"


@pytest.mark.parametrize(
    ("type", "message", "number"),
    [
        ("Failed", MISMATCH, 1),
        ("InvalidRequestError", MISMATCH, 1),
        ("AssertionError", MISMATCH, 2),
        ("Failed", "no", 2),
    ],
)
def test_equal_long_words_that_tests_meet_in_two_places_are_of_one_fault(type, message, number):
    found = [
        failure(raised(type, message, [in_test(name)]), f"{TEST}::{name}") for name in ("test_a", "test_b")
    ]
    assert len(grouped(*found)) == number


def test_equal_long_words_in_two_functions_under_test_are_two_faults():
    found = [
        failure(
            raised("UnicodeEncodeError", MISMATCH, [in_test(name), frame(function=name[-1])]),
            f"{TEST}::{name}",
        )
        for name in ("test_a", "test_b")
    ]
    assert len(grouped(*found)) == 2
