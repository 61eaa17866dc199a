from records import observed

from loop_close.judge import report_of, without_known
from loop_close.model import KnownFailure
from loop_close.prompt.sections import known_document, known_failing, known_failures


def report_with(*known):
    made = observed(exit_code=0)
    made = type(made)(**{name: getattr(made, name) for name in made.__slots__} | {"known": known})
    return without_known(report_of(made), (), "2027-01-31")


def test_each_group_is_named_with_its_issue_and_day():
    report = report_with(
        KnownFailure(test="a.py::test_a", issue="#1", until="2027-01-31"),
        KnownFailure(test="a.py::test_b", state="expired", until="2020-01-01"),
        KnownFailure(test="a.py::test_c", state="not-accepted"),
        KnownFailure(test="a.py::*", state="not-needed", issue="`]( x"),
    )
    assert [*known_failures(report, 200)] == [
        "Added since the loop began, so they count until a person accepts them (`loop-close accept`):",
        "",
        "- `a.py::test_c`",
        "",
        "Their last day has passed, so they count again:",
        "",
        "- `a.py::test_b` (until 2020-01-01)",
        "",
        "They fail, and do not count:",
        "",
        "- `a.py::test_a` (`#1`, until 2027-01-31)",
        "",
        "No longer needed, as these tests pass:",
        "",
        "- `a.py::*` (`` `]( x ``)",
    ]
    assert known_failing(report.observation) == 1


def test_many_are_counted():
    report = report_with(*(KnownFailure(test=f"a.py::test_{n}") for n in range(20)))
    lines = [*known_failures(report, 200)]
    assert len(lines) == 11
    assert lines[-1] == "- and 12 more"
    assert len(known_document(report.observation)) == 20


def test_nothing_is_said_of_none():
    assert [*known_failures(report_with(), 200)] == []
    assert known_document(report_with().observation) == []
