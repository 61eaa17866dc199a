import contextlib
import importlib
import sys
from unittest.util import safe_repr

import pytest

from loop_close.trace.code import Ownership
from loop_close.trace.lines import FREE_IDS, LineTracker, lines_in

if not hasattr(sys, "monitoring"):
    pytest.skip("needs Python 3.12", allow_module_level=True)

F = "def f(a):\n    if a:\n        a += 1\n    return a\n"


def test_each_line_once_and_again_after_it_was_taken(made, ran):
    f = made(F)
    for _ in range(3):
        for argument in (0, 1, 0):
            f(argument)
        assert ran() == [("f", 2), ("f", 3), ("f", 4)]
    assert ran() == []


def test_nothing_is_reported_again_while_it_is_off(tracker, made, ran):
    f, g = made(F), made(F.replace("f(", "g("), "g")
    f(0)
    tracker.take()
    tracker.turn(is_on=False)
    f(1)
    g(0)
    assert ran() == [("f", 2), ("f", 3), ("f", 4)]
    assert [tracker.functions[number] for number in tracker.outside] == [g.__code__]  # it did run
    f(1)
    g(1)
    assert ran() == []
    tracker.turn(is_on=True)
    f(1)
    g(0)
    assert ran() == [("f", 2), ("f", 3), ("f", 4), ("g", 2), ("g", 4)]


@pytest.mark.parametrize("end", ["", "raise ImportError"])
def test_what_ran_in_an_import_inside_of_another_is_reported_again(tmp_path, monkeypatch, end):
    name = "imported_whole" if not end else "imported_in_part"
    texts = {
        "__init__": f"import {name}.inner\n{end}",
        "inner": f"from {name}.rules import rule\nrule(1)",
        "rules": F.replace("f(", "rule("),
    }
    (tmp_path / name).mkdir()
    for file, text in texts.items():
        (tmp_path / name / f"{file}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    tracker = LineTracker(Ownership(str(tmp_path)), lambda seconds: None)
    assert tracker.start() == ""
    try:
        with pytest.raises(ImportError) if end else contextlib.nullcontext():
            importlib.import_module(name)
        rule = sys.modules[f"{name}.rules"].rule
        rule(1)
        taken = {tracker.functions[n].co_name: lines_in(mask, 1) for n, mask in tracker.take().items()}
    finally:
        tracker.stop()
    assert taken == {"rule": [2, 3, 4]}


def test_generator_that_goes_on_later(made, ran):
    each = made("def f():\n    yield 1\n    x = 2\n    yield x\n")()
    next(each)
    assert ran() == [("f", 2)]
    next(each)
    assert ran() == [("f", 3), ("f", 4)]


@pytest.mark.large
def test_function_too_long_to_be_reported_by_line(made, ran):
    count = 3_000
    body = "".join(f"    if a == {n}: return sum(g(x) for x in [a])\n" for n in range(count))
    f = made(f"def f(a):\n{body}\ndef g(x):\n    return x\n")
    for _ in range(2):
        f(7)
        assert ran() == [("f", 1), ("f", 9), ("g", count + 4)]


@pytest.mark.parametrize(
    "source",
    [
        "def f(): return 1",
        "def f(): return list(x for x in (1, 2))",
        "def f(): yield 1",
    ],
)
def test_function_on_one_line(made, ran, source):
    f = made(source)
    for _ in range(3):
        list(f() if source.endswith("yield 1") else [f(), f()])
        assert [line for _, line in ran()] == [1]


MAKES = """\
def f(name):
    return property(
        lambda self: self.data[name]
    )

class C:
    data = {"a": 1}
    a = f("a")
"""


def test_lambda_is_part_of_the_function_around_it(tracker, made, ran):
    kind = made(MAKES, "C")
    tracker.take()
    for _ in range(3):
        assert kind().a == 1
        assert ran() == [("f", 3)]


def test_made_again_and_again_is_one_function(tracker, made, ran):
    for _ in range(3):
        made(F)(0)
        made(F)(0)
        assert ran() == [("f", 2), ("f", 4)]
    assert len(tracker.functions) == 1


def test_end_of_the_stack(tracker, made, ran):
    deep = made("def f(n):\n    return f(n + 1)\n")
    late = made("def g():\n    return 1\n", "g")

    def sink():
        late()
        sink()

    for function in (lambda: deep(0), sink):
        with pytest.raises(RecursionError):
            function()
    assert tracker.fault == ""
    assert ran() == [("f", 2), ("g", 2)]


def test_repr_for_a_failure_message_is_not_of_the_test(made, ran):
    shown = made("def shown(self):\n    return 'x'\n", "shown")
    other = type("Other", (), {"__repr__": shown})()
    assert safe_repr(other) == "x"
    assert ran() == []
    assert (safe_repr(other), repr(other)) == ("x", "x")
    assert ran() == [("shown", 2)]


# --- the tool id


def another():
    return LineTracker(Ownership("/project"), lambda seconds: None)


def test_python_is_left_as_it_was(tracker, made, ran):
    f = made(F)
    f(1)
    tracker.stop()
    tracker.stop()
    assert (ran(), tracker.fault) == ([("f", 2), ("f", 3), ("f", 4)], "")
    assert all(sys.monitoring.get_tool(tool) is None for tool in FREE_IDS)
    sys.monitoring.use_tool_id(FREE_IDS[0], "another")
    try:
        assert sys.monitoring.get_events(FREE_IDS[0]) == 0
        assert sys.monitoring.get_local_events(FREE_IDS[0], f.__code__) == 0
        line = sys.monitoring.events.LINE
        assert sys.monitoring.register_callback(FREE_IDS[0], line, None) is None
    finally:
        sys.monitoring.free_tool_id(FREE_IDS[0])


def test_two_at_once(tracker, made, ran):
    other = another()
    assert other.start() == ""
    assert another().start() == "the tool ids of sys.monitoring that loop-close may use (5 and 4) are in use"
    assert 3 not in FREE_IDS  # Hypothesis does without its report of what differs where that is in use
    f = made(F)
    f(1)
    other.stop()
    f(0)
    assert ran() == [("f", 2), ("f", 3), ("f", 4)]
    f(0)
    assert ran() == [("f", 2), ("f", 4)]


def test_events_that_the_program_switched_off_are_noticed(tracker):
    sys.monitoring.set_events(FREE_IDS[0], 0)
    tracker.stop()
    assert tracker.fault.startswith("TakenError: the program took over our tool id")
    assert sys.monitoring.get_tool(FREE_IDS[0]) is None


def test_id_that_the_program_took_is_left_alone(tracker):
    sys.monitoring.free_tool_id(FREE_IDS[0])
    sys.monitoring.use_tool_id(FREE_IDS[0], "another")
    tracker.stop()
    assert tracker.fault
    assert sys.monitoring.get_tool(FREE_IDS[0]) == "another"
    sys.monitoring.free_tool_id(FREE_IDS[0])
