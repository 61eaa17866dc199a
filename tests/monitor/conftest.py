import pytest

from loop_close.monitor.codes import Ownership
from loop_close.monitor.watch import LineTracker


@pytest.fixture
def watch():
    found = LineTracker(Ownership("/project"))
    assert found.start() == ""
    yield found
    found.stop()
