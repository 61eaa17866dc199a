import pytest
from msgspec.structs import replace
from records import observed

from loop_close.judge import report_of
from loop_close.model import EditsRun
from loop_close.prompt import edits_not_run_line, edits_not_run_words

GREEN = report_of(observed(exit_code=0))


@pytest.mark.parametrize("ran", [None, EditsRun(), EditsRun(edited=3)])
def test_nothing_to_say(ran):
    assert edits_not_run_words(ran) == ""
    assert edits_not_run_line(replace(GREEN, edits_run=ran)) == ""


@pytest.mark.parametrize(
    ("edited", "functions", "omitted", "words"),
    [
        (1, ["f"], 0, "The edited function was not run by any test: f (a.py)."),
        (5, ["f"], 0, "1 of 5 edited functions was not run by any test: f (a.py)."),
        (5, ["f", "g"], 0, "2 of 5 edited functions were not run by any test: f (a.py), g (a.py)."),
        (
            70,
            "abcdefg",
            60,
            "67 of 70 edited functions were not run by any test:"
            " a (a.py), b (a.py), c (a.py), d (a.py), e (a.py) and 62 more.",
        ),
    ],
)
def test_words(edited, functions, omitted, words):
    ran = EditsRun(edited=edited, not_run=tuple(("a.py", name) for name in functions), omitted=omitted)
    assert edits_not_run_words(ran) == words


def test_names_are_code_in_the_prompt():
    line = edits_not_run_line(replace(GREEN, edits_run=EditsRun(edited=2, not_run=(("a.py", "C.f"),))))
    assert line == "1 of 2 edited functions was not run by any test: `C.f` (`a.py`)."


def test_names_from_outside_stay_in_the_line():
    ran = EditsRun(edited=1, not_run=(("a\n# b`.py", "\x1b[31mf\u202e"),))
    for text in (edits_not_run_words(ran), edits_not_run_line(replace(GREEN, edits_run=ran))):
        assert "\n" not in text
        assert "\x1b" not in text
        assert "\u202e" not in text
