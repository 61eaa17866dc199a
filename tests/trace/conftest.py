import sys

import pytest

from loop_close.trace.code import Ownership
from loop_close.trace.lines import LineTracker, lines_in


@pytest.fixture
def tracker():
    """A tracker that has started."""
    if not hasattr(sys, "monitoring"):
        pytest.skip("needs Python 3.12")
    found = LineTracker(Ownership("/project"), lambda seconds: None)
    assert found.start() == ""
    yield found
    found.stop()


@pytest.fixture
def made():
    """Define a function of the code under test by its source."""

    def define(source, name="f", file="a"):
        space = {"__name__": "made"}
        exec(compile(source, f"/project/{file}.py", "exec"), space)
        return space[name]

    return define


@pytest.fixture
def ran(tracker):
    """What ran since the last call, as sorted pairs of a function's name and a line."""

    def take():
        taken = [(tracker.functions[number], mask) for number, mask in tracker.take().items()]
        return sorted(
            (code.co_name, line) for code, mask in taken for line in lines_in(mask, code.co_firstlineno)
        )

    return take
