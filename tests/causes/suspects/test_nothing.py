import pytest
from called import CART, called, calls
from records import failure, raised, verdict

from loop_close.causes.clues import is_about_none, none_before_tests

SPEAKS = failure(raised(message="'NoneType' object has no attribute 'copy'"))
SILENT = failure(raised(message="NoneTypes: 3, Nonesuch"))
COMPARED = failure(verdict(message="assert None == 1"))
LOST = called("mark", in_import=True, none_before=True, returns_value=True)
MAY = called("find", 30, in_import=True, none_before=True)


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([SPEAKS], True),
        ([failure(raised(message="wrong", cause=SPEAKS.raised))], True),
        ([SILENT], False),
        ([COMPARED], True),
        ([SPEAKS, SILENT], True),
        ([SPEAKS, SILENT, SILENT], False),
        ([failure(None)], False),
        ([], False),
    ],
)
def test_at_least_half_speak_of_none(failures, expected):
    assert is_about_none(failures) is expected


@pytest.mark.parametrize(("passed", "shares"), [(0, [1.0, 0.5]), (3, [0.5, 0.25]), (11, [])])
def test_the_more_tests_pass_the_less_it_says(passed, shares):
    found = none_before_tests([SPEAKS], calls(LOST, MAY, called("total", 50), passed=passed))
    assert [*found] == [(CART, "mark"), (CART, "find")][: len(shares)]
    assert [each.share for each in found.values()] == shares


def test_of_a_module_that_cannot_be_imported_they_say_nothing():
    failed = failure(SPEAKS.raised, phase="collect")
    assert [each.share for each in none_before_tests([failed], calls(LOST, passed=99)).values()] == [1.0]


@pytest.mark.parametrize(
    ("failures", "known"),
    [([SILENT], calls(LOST)), ([COMPARED], calls(LOST)), ([SPEAKS], None), ([], calls(LOST))],
)
def test_nothing_to_say(failures, known):
    assert none_before_tests(failures, known) == {}
