import pytest

from loop_close.model import EditsRun
from loop_close.prompt import edits_not_run, span


@pytest.mark.parametrize("ran", [None, EditsRun(), EditsRun(edited=3)])
def test_nothing_to_say(ran):
    assert edits_not_run(ran, str) == ""


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
    assert edits_not_run(ran, str) == words


def test_names_are_code_in_the_prompt():
    line = edits_not_run(EditsRun(edited=2, not_run=(("a.py", "C.f"),)), span)
    assert line == "1 of 2 edited functions was not run by any test: `C.f` (`a.py`)."


def test_names_from_outside_stay_in_the_line():
    text = edits_not_run(EditsRun(edited=1, not_run=(("a\n# b`.py", "\x1b[31mf\u202e"),)), span)
    assert not {"\n", "\x1b", "\u202e"} & {*text}
