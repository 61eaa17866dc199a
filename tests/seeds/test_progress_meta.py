import msgspec
import pytest
from loops import known, loop, step

from loop_close.seeds.supervisor import Supervisor, ToolResult, progress_meta

STALLED = {"ai.nimblebrain/non-advancing": True, "dev.loop-close/non-advancing": True}
ADVANCED = {"dev.loop-close/non-advancing": False}
MACHINE = {"ai.nimblebrain/infra-error": True, "dev.loop-close/infrastructure": True}


def after(failing, *, is_attempt=True, stalled=0, is_of_machine=False, **fields):
    """The loop after its second run."""
    record = msgspec.structs.replace(known().record, is_infrastructure=is_of_machine)
    last = msgspec.structs.replace(step(2, failing), is_attempt=is_attempt, **fields)
    tests = [msgspec.structs.replace(known(ran=2), record=record)] * failing
    return loop(step(1, 2), last, failing=tests, stalled=stalled)


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        (loop(step(1, 2)), {}),
        (after(2), STALLED),
        (after(2, advanced="changed"), ADVANCED),
        (after(0, advanced="fewest"), ADVANCED),
        (loop(step(1, 0), failing=()), ADVANCED),  # green from the start
        (after(2, is_attempt=False), {}),  # another look
        (after(2, is_attempt=False, stalled=3), STALLED),
        (after(2, is_attempt=False, is_finished=False), MACHINE),
        (after(2, is_attempt=False, is_of_machine=True), MACHINE),
        (after(2, is_attempt=False, is_of_machine=True, stalled=3), MACHINE),
        (after(2, is_of_machine=True), STALLED),  # it was an attempt all the same
    ],
)
def test_progress_is_marked(about, expected):
    assert progress_meta(about, is_green=not about.failing) == expected


def test_red_run_of_which_no_failure_is_known_says_nothing_of_progress():
    about = after(0, advanced="fewest")
    assert progress_meta(about, is_green=False) == {}


def run_of_tests(about, text):
    return ToolResult(tool="loop_run", content=text, meta=progress_meta(about, is_green=not about.failing))


def test_runs_that_stand_still_trip_however_their_text_varies():
    supervisor = Supervisor()
    still = after(2)
    assert [supervisor.observe(run_of_tests(still, f"2 failed: {n}")) for n in "ab"] == ["", ""]
    assert supervisor.observe(run_of_tests(still, "2 failed: c")).startswith(
        "`loop_run` made no progress 3 times"
    )
