import sys
from types import SimpleNamespace

import pytest

from loop_close.monitor import executions
from loop_close.monitor.codes import LONGEST_TABLE, Ownership
from loop_close.monitor.session import Monitor
from loop_close.monitor.tool import FREE_IDS
from loop_close.monitor.watch import LineTracker

needs_monitoring = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12")


def made(source, name="f"):
    space = {"__name__": "made"}
    exec(compile(source, "/project/a.py", "exec"), space)
    return space[name]


def ran(watch):
    taken = watch.take()
    assert {number for number, _ in taken.lines} == taken.masks.keys()
    return [(watch.functions[number].code.co_name, line) for number, line in taken.lines]


F = "def f(a):\n    if a:\n        a += 1\n    return a\n"


@needs_monitoring
def test_lines_in_order_each_once(watch):
    f = made(F)
    for _ in range(3):
        for argument in (0, 1, 0):
            f(argument)
        assert ran(watch) == [("f", 2), ("f", 4), ("f", 3)]
    assert ran(watch) == []


EXPRESSION = """\
def f(a):
    return sum(
        g(x) for x in a
    )


def g(x):
    return x
"""


@needs_monitoring
def test_generator_expression_on_one_line_costs_nothing_however_long_it_runs(watch):
    f = made(EXPRESSION)
    (inner,) = (each for each in f.__code__.co_consts if hasattr(each, "co_code"))
    f.__globals__["g"](1)
    watch.take()
    for _ in range(2):
        f([1, 2])
        assert ran(watch) == [("f", 2), ("f", 3), ("g", 8)]
        assert not sys.monitoring.get_local_events(watch._tool.id, inner)


@pytest.mark.large
@needs_monitoring
def test_parts_of_a_function_too_long_to_be_told_by_line(watch):
    count = 3_000
    lines = "".join(f"    if a == {n}: return sum(g(x) for x in [a])\n" for n in range(count))
    f = made(f"def f(a):\n{lines}\ndef g(x):\n    return x\n")
    assert len(f.__code__.co_linetable) > LONGEST_TABLE
    for _ in range(2):
        f(7)
        assert ran(watch) == [("f", 1), ("f", 9), ("g", count + 4)]


class Hostile(str):
    __slots__ = ()

    def __hash__(self):
        raise ValueError("no hash")


@needs_monitoring
def test_name_of_a_file_that_has_no_hash(watch):
    f = made(F)
    f.__code__ = f.__code__.replace(co_filename=Hostile("/project/a.py"))
    assert f(1) == 2
    assert watch.fault == "ValueError: no hash"


@needs_monitoring
def test_function_known_only_by_its_call(watch):
    watch.stop()
    f = made(F)
    other = LineTracker(Ownership("/project"))
    other.start()
    try:
        f(0)
        assert ran(other) == [("f", 2), ("f", 4)]
    finally:
        other.stop()


@needs_monitoring
@pytest.mark.parametrize(
    "source",
    [
        "def f(): return 1",
        "f = lambda: 1",
        "def f(): return [x for x in (1, 2)]",
        "def f(): return list(x for x in (1, 2))",
        "def f(): yield 1",
    ],
)
def test_function_on_one_line(watch, source):
    f = made(source)
    for _ in range(3):
        list(f() if source.endswith("yield 1") else [f(), f()])
        assert [line for _, line in ran(watch)] == [1]


MAKES = """\
def f(name):
    return property(
        lambda self: self.data[name]
    )

class C:
    data = {"a": 1}
    a = f("a")
"""


@needs_monitoring
def test_lambda_on_one_line_of_a_function(watch):
    kind = made(MAKES, "C")
    watch.take()
    for _ in range(3):
        assert kind().a == 1
        assert ran(watch) == [("f", 3)]


@needs_monitoring
def test_made_again_and_again_is_one_function(watch):
    for _ in range(3):
        made(F)(0)
        made(F)(0)
        assert ran(watch) == [("f", 2), ("f", 4)]
    assert len(watch.functions) == 1


@needs_monitoring
def test_no_more_than_so_many(watch, monkeypatch):
    monkeypatch.setattr(executions, "MAX_FUNCTIONS", 3)
    functions = [made(F.replace("f(", f"f{n}("), f"f{n}") for n in range(5)]
    for f in functions:
        f(1)
    assert {name for name, _ in ran(watch)} == {"f0", "f1", "f2"}
    assert watch.is_full


@needs_monitoring
def test_code_that_is_let_go_of_while_lines_are_armed_again(watch, monkeypatch):
    f = made(F)
    f(0)
    arm, released = watch._monitoring.set_local_events, []

    def arming(*event):
        released.append(len(released))
        watch._ran_before |= {released[-1]}
        arm(*event)

    watch._ran_before = {*watch._tracked.codes}
    monkeypatch.setattr(watch, "_monitoring", SimpleNamespace(set_local_events=arming))
    watch.take()
    assert watch._ran_before == {*released} != set()


@needs_monitoring
def test_end_of_the_stack(watch):
    deep = made("def f(n):\n    return f(n + 1)\n")
    late = made("def g():\n    return 1\n", "g")

    def sink():
        late()
        sink()

    for function in (lambda: deep(0), sink):
        with pytest.raises(RecursionError):
            function()
    assert watch.fault == ""
    assert ran(watch) == [("f", 2), ("g", 2)]


@needs_monitoring
def test_stops_more_than_once_and_tells_nothing_then(watch):
    f = made(F)
    f(1)
    watch.stop()
    watch.stop()
    assert all(sys.monitoring.get_tool(tool) != watch._tool.name for tool in FREE_IDS)
    assert not sys.monitoring.get_tool(FREE_IDS[0])


@needs_monitoring
def test_ids_of_others_are_left_alone(watch):
    other = LineTracker(Ownership("/project"))
    assert other.start() == ""
    f = made(F)
    f(1)
    other.stop()
    f(0)
    assert ran(watch) == [("f", 2), ("f", 3), ("f", 4)]
    f(0)
    assert ran(watch) == [("f", 2), ("f", 4)]


def test_python_that_cannot(monkeypatch):
    monkeypatch.delattr(sys, "monitoring", raising=False)
    monitor = Monitor("/project")
    monitor.begin_test("t")
    monitor.saw(SimpleNamespace(outcome="failed", when="call"))
    monitor.end_test("t", ())
    assert monitor.calls() is None
    assert monitor.why_off == "run with Python 3.12 or newer to get the function named"
    monitor.stop()
