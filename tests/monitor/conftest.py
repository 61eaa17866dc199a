import pytest

from loop_close.monitor.codes import Ownership
from loop_close.monitor.watch import Watch


@pytest.fixture
def watch():
    found = Watch(Ownership("/project"))
    assert found.start() == ""
    yield found
    found.stop()
