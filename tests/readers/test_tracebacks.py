import pytest

from loop_close.library import close_loop
from loop_close.readers.processes import read_tracebacks


def test_equal_tracebacks_are_one_failure():
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x\nValueError: bad\n\n'
    reading = read_tracebacks(text * 3, "")
    assert len(reading.failures) == 1
    assert len(reading.spans) == 3


@pytest.mark.parametrize(
    ("text", "kind", "snippet"),
    [
        ("SyntaxError: invalid syntax\n", "syntax-error", "invalid syntax"),
        ("NotImplementedError: later\n", "not-implemented", "later"),
        ("TODO(ann): price it\n", "todo-marker", "TODO(ann): price it"),
        ("FIXME: price it\n", "fixme-marker", "FIXME: price it"),
    ],
)
def test_lines_that_say_enough_alone(text, kind, snippet):
    found = close_loop(f"Starting\n{text}Bye\n", exit_code=1).evidence
    assert [(each.kind, each.snippet) for each in found] == [(kind, snippet)]
    is_red = close_loop(f"Starting\n{text}Bye\n", exit_code=0).verdict == "red"
    assert is_red == (not kind.endswith("-marker"))


@pytest.mark.parametrize("prefix", ["", "E   ", "E       "])
def test_last_line_alone_tells_of_a_missing_module(prefix):
    text = f"Starting the service\n{prefix}ModuleNotFoundError: No module named 'shop.prices'\nBye\n"
    made = close_loop(text, exit_code=1)
    assert made.stall_reason == "1 failed import detected"
    assert made.evidence[0].label == "shop.prices" or "shop.prices" in made.next_prompt
    assert close_loop(text, exit_code=0).verdict == "red"


def test_last_line_of_a_traceback_is_not_repeated():
    text = (
        'Traceback (most recent call last):\n  File "/prog/a.py", line 1, in <module>\n    import b\n'
        "ModuleNotFoundError: No module named 'b'\n"
    )
    assert close_loop(text, exit_code=1).stall_reason == "1 failed import detected"
