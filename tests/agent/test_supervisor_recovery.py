import pytest
from tool_calls import ADVANCED, MACHINE, each, error, miss, misses, ok, told

from loop_close.agent.supervisor import Supervisor


def tripped(*results):
    supervisor = Supervisor()
    for result in results:
        supervisor.observe(result)
    assert supervisor.disabled == {"t"}
    return supervisor


@pytest.mark.parametrize(
    "result",
    [
        error("bad"),
        error("another error"),
        error("connection reset", meta=MACHINE),
        ok("lost", meta=MACHINE),
        miss("anything"),
        ok("bad"),  # the very content it tripped on
        ok("bad", input={"page": 9}),
    ],
)
def test_stuck_tool_gives_the_same_answer(result):
    supervisor = tripped(*[error("bad")] * 3)
    before = supervisor.trips["t"]
    assert supervisor.observe(result) == before
    assert supervisor.disabled == {"t"}


@pytest.mark.parametrize("row", [[error("bad")] * 3, each("ABAB"), misses(6)])
@pytest.mark.parametrize("meta", [{}, ADVANCED])
def test_advancing_success_with_other_content_recovers(row, meta):
    supervisor = tripped(*row)
    assert supervisor.observe(ok("works", meta=meta)) is None
    assert supervisor.disabled == frozenset()
    assert told(row)[:-1] == ["."] * (len(row) - 1)
    assert [supervisor.observe(result) for result in row[:-1]] == [None] * (len(row) - 1)


def test_no_page_of_a_cycle_is_a_recovery():
    supervisor = tripped(*each("ABABAB"))
    assert all(supervisor.observe(page) for page in each("ABBA", input={"page": 2}))


def test_a_dead_end_is_not_left_by_other_inputs():
    supervisor = tripped(*[ok("[]", input={"cursor": 1})] * 3)
    assert all(supervisor.observe(ok("[]", input={"cursor": n})) for n in range(2, 9))
    assert supervisor.observe(ok('["a"]', input={"cursor": 9})) is None


def test_reset_forgets_all():
    supervisor = tripped(*[error("bad")] * 3)
    supervisor.reset()
    assert supervisor.disabled == frozenset()
    assert supervisor.observe(error("bad")) is None
