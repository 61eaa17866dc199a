"""What makes two failures the same: tables of pairs."""

import pytest
import records as made
from hypothesis import given

from loop_close.judge import report_of
from loop_close.keys import canonical, records_of


def records(*failures, **fields):
    return records_of(report_of(made.observed(*failures, **fields)).causes, "pytest")


def record(failure):
    return records(failure)[0]


def raising(message, line=10, type="ValueError", **fields):
    return made.failure(made.raised(type, message, [made.in_test(), made.frame(line=line)], **fields))


def comparing(message, statement="assert total(cart) == 6"):
    return made.failure(made.verdict(made.origin(), statement=statement, message=message))


SAME_BUT_FOR_CHANCE = [
    ("<Cart object at 0x7f1234567890>", "<Cart object at 0x7f6543210987>"),
    ("no file /tmp/pytest-of-me/pytest-3/test_a0/x.csv", "no file /tmp/pytest-of-me/pytest-7/test_a0/x.csv"),
    ("at 2026-11-21T10:00:00Z", "at 2026-11-22T17:31:09Z"),
    ("took 0.21s", "took 1.73s"),
    (
        "id 123e4567-e89b-12d3-a456-426614174000 is taken",
        "id 99999999-e89b-12d3-a456-426614174fff is taken",
    ),
    ("cannot reach localhost:40123", "cannot reach localhost:51999"),
    ("worker gw0 is gone", "worker gw3 is gone"),
    ("left {'b': 1, 'a': {'y', 'x'}}", "left {'a': {'x', 'y'}, 'b': 1}"),
]


@pytest.mark.parametrize(("one", "other"), SAME_BUT_FOR_CHANCE)
def test_what_chance_makes_of_a_message_leaves_all_keys(one, other):
    first, second = record(raising(one)), record(raising(other))
    assert (first.exact, first.shape, first.cause) == (second.exact, second.shape, second.cause)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("drew 0.8273", "drew 0.1134"),
        ("no user 'ann'", "no user 'bob'"),
        ("expected 6, got 7", "expected 6, got 5"),
    ],
)
def test_values_are_part_of_the_exact_key_alone(one, other):
    first, second = record(raising(one)), record(raising(other))
    assert first.exact != second.exact
    assert (first.shape, first.cause) == (second.shape, second.cause)


def test_shifted_lines_leave_all_keys():
    first, second = record(raising("bad", line=10)), record(raising("bad", line=99))
    assert (first.exact, first.shape, first.cause) == (second.exact, second.shape, second.cause)
    assert (first.line, second.line) == (10, 99)


@pytest.mark.parametrize(
    "other",
    [
        raising("bad", type="KeyError"),
        raising("the cart is closed"),
        made.failure(made.raised("ValueError", "bad", [made.in_test(), made.frame(function="other")])),
    ],
)
def test_another_exception_words_or_place_is_another_shape(other):
    assert record(raising("bad")).shape != record(other).shape


def test_the_statement_identifies_a_verdict_and_not_its_values():
    seven, five = record(comparing("assert 7 == 6")), record(comparing("assert 5 == 6"))
    assert seven.shape == five.shape
    assert seven.exact != five.exact
    assert (seven.got, seven.want, five.got) == ("7", "6", "5")


def test_a_statement_that_stands_there_twice_is_told_apart():
    lines = ("def test_total():", "    assert get() == 200", "    post()", "    assert get() == 200")

    def at(line):
        frame = made.in_test(line=line, source=made.source(*lines, start=1))
        site = made.Site(frame=frame, statement="assert get() == 200")
        return made.failure(made.raised("AssertionError", "assert 500 == 200", [frame], site=site))

    assert record(at(2)).shape != record(at(4)).shape
    assert (record(at(2)).line, record(at(4)).line) == (2, 4)


LONG = "x" * 400
SHORTENED = f"assert '{'x' * 12}...{'x' * 13}' == 'y'"


@pytest.mark.parametrize(
    ("plain", "verbose"),
    [
        ("assert [1, 2] == [1, 3]\n  At index 1 diff: 2 != 3\n  Use -v to get more diff", None),
        (SHORTENED, f"assert '{LONG}' == 'y'\n  - y\n  + {LONG}"),
        ("the cart\nassert 1 == 2", "the cart\nassert 1 == 2\n  more"),
    ],
)
def test_verbosity_leaves_the_text_that_identifies(plain, verbose):
    verbose = verbose or "assert [1, 2] == [1, 3]\n  At index 1 diff: 2 != 3\n  Full diff:\n    [\n  ..."
    assert canonical(plain, is_verdict=True) == canonical(verbose, is_verdict=True)


def test_findings_of_a_checker_are_known_again_on_other_lines():
    def finding(line, message='Name "x" is not defined'):
        return made.failure(
            nodeid="",
            phase="check",
            message=message,
            file="a.py",
            line=line,
            tool="mypy",
            code="name-defined",
        )

    first, second = records(finding(3), finding(9))
    assert second.test == f"{first.test} #2"
    shifted = records(finding(13), finding(19))
    assert [m.test for m in shifted] == [first.test, second.test]


@pytest.mark.parametrize(
    ("type", "message", "expected"),
    [
        ("ConnectionRefusedError", "[Errno 111] Connection refused", True),
        ("OSError", "[Errno 28] No space left on device", True),
        ("TimeoutError", "took too long", False),
        ("TimeoutError", "The read operation timed out", True),
        ("ValueError", "No space left on device", False),
    ],
)
def test_faults_of_the_machine(type, message, expected):
    bases = {"Con": ("ConnectionError", "OSError"), "Tim": ("OSError",)}.get(type[:3], ())
    assert record(raising(message, type=type, bases=bases)).is_infrastructure is expected


def test_what_the_project_raises_itself_is_no_fault_of_the_machine():
    made_it = {"bases": ("OSError",), "type": "ConnectionError"}
    line = made.source("        raise ConnectionError('refused')", start=10)
    double = made.raised(message="refused", frames=[made.in_test(line=10, source=line)], **made_it)
    assert not record(made.failure(double)).is_infrastructure
    asserted = made.source("    assert socket.create_connection(address)", start=10)
    by_library = made.raised(message="refused", frames=[made.in_test(line=10, source=asserted)], **made_it)
    assert record(made.failure(by_library)).is_infrastructure
    inline = made.source("    if failing: raise ConnectionError('refused')", start=10)
    double = made.raised(message="refused", frames=[made.in_test(line=10, source=inline)], **made_it)
    assert not record(made.failure(double)).is_infrastructure
    handed_on = made.raised(message="x", frames=[made.frame(source=line, is_handing_on=True)], **made_it)
    assert record(made.failure(handed_on)).is_infrastructure
    assert not record(made.failure(made.raised("AssertionError", context=handed_on))).is_infrastructure
    assert record(made.failure(made.raised("FetchError", context=handed_on))).is_infrastructure


def test_credentials_are_in_no_record():
    secret = "ghp_" + "a1B2" * 9
    found = record(
        made.failure(made.raised("ValueError", f"bad token {secret}"), nodeid=f"t.py::a[{secret}]")
    )
    assert secret not in repr(found)


@given(made.failures)
def test_any_failure_has_keys(failure):
    for found in records(failure):
        assert found.test
        assert found.exact[0] == found.shape[0] == found.cause[0] == "2"
        assert len(found.message) <= 200
        assert len(found.got) <= 40


def test_values_that_no_edit_can_hold_still_leave_all_keys_of_an_assertion():
    first, second = (record(comparing(f"assert 'http://[::1]:{port}' == 'x'")) for port in (40123, 51999))
    assert (first.exact, first.shape, first.cause) == (second.exact, second.shape, second.cause)
