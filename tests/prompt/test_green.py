import pytest

from loop_close.prompt import edits_not_run, span


def edited(number, *not_run, file="a.py"):
    """So many edited functions, of which no test ran these."""
    others = [(file, f"other_{n}", True) for n in range(number - len(not_run))]
    return (*((file, name, False) for name in not_run), *others)


@pytest.mark.parametrize("functions", [None, (), edited(3)])
def test_nothing_to_say(functions):
    assert edits_not_run(functions, str) == ""


@pytest.mark.parametrize(
    ("number", "functions", "words"),
    [
        (1, ["f"], "No test was seen to run the edited function: f (a.py)."),
        (5, ["f", "g"], "No test was seen to run 2 of 5 edited functions: f (a.py), g (a.py)."),
        (
            10,
            "abcdefg",
            "No test was seen to run 7 of 10 edited functions:"
            " a (a.py), b (a.py), c (a.py), d (a.py), e (a.py) and 2 more.",
        ),
    ],
)
def test_words(number, functions, words):
    assert edits_not_run(edited(number, *functions), str) == words


def test_names_are_code_in_the_prompt_and_stay_in_the_line():
    line = edits_not_run(edited(2, "C.f"), span)
    assert line == "No test was seen to run 1 of 2 edited functions: `C.f` (`a.py`)."
    text = edits_not_run(edited(1, "\x1b[31mf\u202e", file="a\n# b`.py"), span)
    assert not {"\n", "\x1b", "\u202e"} & {*text}
