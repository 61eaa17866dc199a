import sys

import pytest

from loop_close.monitor.tool import FREE_IDS, Tool

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
    found = Tool(callbacks, lambda: [(function.__code__, events.PY_RETURN)])
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


def test_id_that_somebody_asks_for_is_given_up_for_another(tool, told, free):
    function()
    seen = []
    for asked in FREE_IDS[:2]:
        assert tool.id == asked
        free(asked)
        assert sys.monitoring.get_tool(asked) == "another"
        assert sys.monitoring.get_events(asked) == 0
        assert sys.monitoring.get_local_events(asked, function.__code__) == 0
        assert tool.is_ours()
        function()
        seen.append(len(told))
    assert seen == [2, 3]


def test_another_callback(tool, told):
    function()
    tool.replace("PY_RETURN", lambda code, offset, value: told.append("other"))
    function()
    assert told == [1, "other"]


def test_another_callback_goes_along_to_another_id(tool, told, free):
    tool.replace("PY_RETURN", lambda code, offset, value: told.append("other"))
    free(tool.id)
    function()
    assert told == ["other"]


def test_without_another_id_it_ends(tool, told, free):
    for asked in FREE_IDS:
        free(asked)
    function()
    assert not told
    assert not tool.is_ours()
    assert not tool.stop()
    assert sys.monitoring.use_tool_id is USE


def test_other_ids_and_nonsense_are_left_to_python(tool, free):
    mine = tool.id
    free(0)
    with pytest.raises(ValueError, match="already in use"):
        sys.monitoring.use_tool_id(0, "yet another")
    with pytest.raises(ValueError, match="invalid tool"):
        sys.monitoring.use_tool_id(9, "no such id")
    with pytest.raises(TypeError):
        sys.monitoring.use_tool_id("0", "no id")
    with pytest.raises(TypeError):
        sys.monitoring.use_tool_id()
    assert tool.id == mine


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_at_once(tool, order):
    other = Tool({}, list)
    assert other.start() == ""
    assert other.id != tool.id
    both = [tool, other]
    assert [both[n].stop() for n in order] == [True, True]
    assert all(sys.monitoring.get_tool(each) is None for each in FREE_IDS)
    sys.monitoring.use_tool_id(FREE_IDS[0], "mine")
    sys.monitoring.free_tool_id(FREE_IDS[0])
    sys.monitoring.use_tool_id = USE  # the first to come was not the last to go


def test_all_taken(free):
    for each in FREE_IDS:
        free(each)
    found = Tool({}, list)
    assert found.start() == "all tool ids of sys.monitoring are in use"
    assert sys.monitoring.use_tool_id is USE


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


@pytest.mark.parametrize("what", ["events", "callbacks"])
def test_what_the_program_switched_off_before_it_asked_for_our_id_is_noticed(tool, what, free):
    meddled_with(tool, what)
    free(tool.id)
    assert not tool.is_ours()
    assert not tool.stop()


@pytest.mark.parametrize("is_asked_for", [True, False])
def test_what_we_asked_for_is_gone_where_the_program_freed_our_id(tool, told, is_asked_for):
    id, events = tool.id, sys.monitoring.events
    sys.monitoring.free_tool_id(id)
    if not is_asked_for:
        tool.stop()
    sys.monitoring.use_tool_id(id, "another")
    try:
        assert sys.monitoring.get_events(id) == 0
        assert sys.monitoring.get_local_events(id, function.__code__) == 0
        assert sys.monitoring.register_callback(id, events.PY_RETURN, None) is None
    finally:
        sys.monitoring.free_tool_id(id)
