"""Bodies of modules, told by line; whole imports are in the tests of the plugin."""

import sys

import pytest

from loop_close.monitor.codes import Ownership
from loop_close.monitor.executions import Execution
from loop_close.monitor.imports import ModuleBodies

BODY, INNER = (
    compile(f"a = {n}", f"/project/{name}.py", "exec") for n, name in enumerate(("outer", "inner"))
)


class Hits(list):
    """What ran, and how much of it was set aside."""

    def __init__(self):
        super().__init__()
        self.aside = []

    def set_aside(self, begun):
        taken = self[begun:]
        del self[begun:]
        self.aside.append(taken)
        return Execution(dict.fromkeys(taken, 1))


@pytest.fixture
def hits():
    return Hits()


@pytest.fixture
def bodies(hits):
    return ModuleBodies(Ownership("/project"), hits, hits.set_aside)


@pytest.fixture
def on_line(bodies):
    return bodies.on_line(lambda code, line: "otherwise", "disable", lambda fault: faults.append(fault))


faults: list[Exception] = []


def test_what_ran_for_each_line(bodies, hits, on_line):
    hits.append(1)  # before
    bodies.begin(BODY)
    assert on_line(BODY, 1) == "disable"
    hits += [2, 3]
    on_line(BODY, 4)
    on_line(BODY, 5)
    hits.append(2)
    bodies.end(BODY)
    assert hits == [1]
    assert bodies.imports.statements == {
        ("/project/outer.py", 1): {2, 3},
        ("/project/outer.py", 5): {2},
    }
    assert bodies.imports.functions == {2, 3}


def test_one_module_imports_another(bodies, hits, on_line):
    bodies.begin(BODY)
    on_line(BODY, 1)
    hits.append(1)
    bodies.begin(INNER)
    on_line(INNER, 7)
    hits.append(2)
    bodies.end(INNER)
    hits.append(3)
    bodies.end(BODY)
    assert bodies.imports.statements == {
        ("/project/inner.py", 7): {2},
        ("/project/outer.py", 1): {1, 3},
    }


def test_lines_of_functions_go_elsewhere(on_line):
    assert on_line(BODY, 1) == "otherwise"


def test_fault_is_told_and_not_raised(bodies, hits, on_line):
    bodies.begin(BODY)
    on_line(BODY, 1)
    hits.append([])  # no number
    faults.clear()
    assert on_line(BODY, 2) == "disable"
    assert [type(fault) for fault in faults] == [TypeError]


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12")
def test_by_line_until_the_first_test_begins(bodies):
    events = sys.monitoring.events
    assert bodies.events(sys.monitoring, BODY) == events.PY_RETURN | events.LINE
    bodies.end_collection()
    assert bodies.events(sys.monitoring, BODY) == events.PY_RETURN


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12")
def test_long_bodies_are_not_told_by_line(bodies):
    """Python takes the square of their length for it."""
    table = compile("\n".join(f"a{n} = {n}" for n in range(5_000)), "/project/table.py", "exec")
    assert bodies.events(sys.monitoring, table) == sys.monitoring.events.PY_RETURN


def test_where_too_much_runs_nothing_is_told(bodies, hits, on_line, monkeypatch):
    monkeypatch.setattr("loop_close.monitor.imports.MOST_RUN", 2)
    bodies.begin(BODY)
    for line in range(1, 6):
        on_line(BODY, line)
        hits.append(1)
    bodies.end(BODY)
    assert (bodies.imports.statements, bodies.imports.functions) == ({}, {1})
    assert hits == []
