import sys

import pytest

from loop_close.monitor.tool import FREE_IDS, MonitoringTool

if not hasattr(sys, "monitoring"):
    pytest.skip("needs Python 3.12", allow_module_level=True)

USE = sys.monitoring.use_tool_id


def function():
    return 1


@pytest.fixture
def told():
    return []


@pytest.fixture
def tool(told):
    events = sys.monitoring.events
    callbacks = {
        "PY_START": lambda code, offset: sys.monitoring.DISABLE,
        "PY_RETURN": lambda code, offset, value: told.append(value),
    }
    found = MonitoringTool(callbacks, lambda: [(function.__code__, events.PY_RETURN)])
    assert found.start() == ""
    found.listen()
    yield found
    found.stop()


@pytest.fixture
def free():
    """Take tool ids, and free them in the end."""
    taken = []

    def take(tool):
        sys.monitoring.use_tool_id(tool, "another")
        taken.append(tool)

    yield take
    for each in taken:
        sys.monitoring.free_tool_id(each)


@pytest.mark.parametrize("asked", FREE_IDS)
def test_ids_that_are_in_use_are_passed_over(free, asked):
    free(asked)
    found = MonitoringTool({}, list)
    assert found.start() == ""
    assert found.id in FREE_IDS
    assert found.id != asked
    found.stop()


def test_python_is_left_as_it_is(tool):
    assert sys.monitoring.use_tool_id is USE
    assert 3 not in FREE_IDS  # Hypothesis does without its report of what differs where that is in use


def test_another_callback(tool, told):
    function()
    tool.replace("PY_RETURN", lambda code, offset, value: told.append("other"))
    function()
    assert told == [1, "other"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_at_once(tool, order):
    other = MonitoringTool({}, list)
    assert other.start() == ""
    assert other.id != tool.id
    both = [tool, other]
    assert [both[n].stop() for n in order] == [True, True]
    assert all(sys.monitoring.get_tool(each) is None for each in FREE_IDS)


def test_all_taken(free):
    for each in FREE_IDS:
        free(each)
    found = MonitoringTool({}, list)
    assert found.start() == "the tool ids of sys.monitoring that loop-close may use (5 and 4) are in use"


def meddled_with(tool, what):
    if what == "events":
        sys.monitoring.set_events(tool.id, 0)
    else:
        sys.monitoring.register_callback(tool.id, sys.monitoring.events.PY_RETURN, None)


@pytest.mark.parametrize("what", ["events", "callbacks"])
def test_what_the_program_switched_off_is_noticed(tool, what):
    meddled_with(tool, what)
    assert not tool.stop()
    assert all(sys.monitoring.get_tool(each) is None for each in FREE_IDS)


def test_what_we_asked_for_is_gone_where_the_program_freed_our_id(tool, told):
    id, events = tool.id, sys.monitoring.events
    sys.monitoring.free_tool_id(id)
    assert not tool.stop()
    sys.monitoring.use_tool_id(id, "another")
    try:
        assert sys.monitoring.get_events(id) == 0
        assert sys.monitoring.get_local_events(id, function.__code__) == 0
        assert sys.monitoring.register_callback(id, events.PY_RETURN, None) is None
    finally:
        sys.monitoring.free_tool_id(id)
