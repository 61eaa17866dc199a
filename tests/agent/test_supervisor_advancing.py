from dataclasses import replace

import pytest

from loop_close.agent.supervisor import Supervisor, ToolResult, is_non_advancing, progress_meta
from loop_close.memory import Breaker, Episode, Progress, Step

FIRST = Step(run=1, unresolved=2)
STALLED = {"ai.nimblebrain/non-advancing": True, "dev.loop-close/non-advancing": True}
ADVANCED = {"dev.loop-close/non-advancing": False}
MACHINE = {"ai.nimblebrain/infra-error": True, "dev.loop-close/infrastructure": True}
OPEN = Breaker(state="open", reason="no progress for 3 runs")


def progress(*steps, breaker=None):
    episode = Episode(first=1, runs=len(steps), steps=steps)
    return Progress(
        run=len(steps), position=len(steps), episode=episode, step=steps[-1], breaker=breaker or Breaker()
    )


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        (None, {}),
        (progress(FIRST), {}),
        (progress(FIRST, Step(run=2, unresolved=2)), STALLED),
        (progress(FIRST, Step(run=2, unresolved=1, advanced="fixed")), ADVANCED),
        (progress(FIRST, Step(run=2, unresolved=2, advanced="later")), ADVANCED),
        (progress(FIRST, Step(run=2, unresolved=0, advanced="fixed")), ADVANCED),
        (progress(Step(run=1, is_counted=False)), ADVANCED),  # green from the start
        (progress(FIRST, Step(run=2, unresolved=2, is_counted=False)), {}),  # another look
        (progress(FIRST, Step(run=2, unresolved=2, is_counted=False), breaker=OPEN), STALLED),
        (progress(FIRST, FIRST, FIRST, Step(run=4, unresolved=9), breaker=OPEN), STALLED),
        (progress(FIRST, Step(run=2, unresolved=2, is_counted=False, is_killed=True)), MACHINE),
        (progress(FIRST, Step(run=2, unresolved=2, is_counted=False, infrastructure=("t",))), MACHINE),
        (
            progress(FIRST, Step(run=2, unresolved=2, is_counted=False, infrastructure=("t",)), breaker=OPEN),
            MACHINE,
        ),
        (progress(FIRST, Step(run=2, unresolved=2, infrastructure=("t",))), STALLED),  # others failed, too
    ],
)
def test_progress_is_marked(about, expected):
    assert progress_meta(about, is_green=about is not None and not about.step.unresolved) == expected
    assert is_non_advancing(about) == (expected == STALLED)


def test_red_run_of_which_no_failure_is_known_says_nothing_of_progress():
    about = progress(FIRST, Step(run=2, unresolved=0, advanced="fixed"))
    assert progress_meta(about, is_green=False) == {}


def run_of_tests(about, text):
    return ToolResult(
        tool="loop_run", content=text, meta=progress_meta(about, is_green=not about.step.unresolved)
    )


def test_runs_that_stand_still_trip_however_their_text_varies():
    supervisor = Supervisor()
    still = progress(FIRST, Step(run=2, unresolved=2))
    assert [supervisor.observe(run_of_tests(still, f"2 failed: {n}")) for n in "ab"] == [None, None]
    assert supervisor.observe(run_of_tests(still, "2 failed: c")).kind == "non-advancing"


def test_runs_that_advance_never_trip_however_alike_their_text():
    supervisor = Supervisor()
    moving = progress(FIRST, Step(run=2, unresolved=2, advanced="later"))
    green = progress(replace(FIRST, unresolved=0))
    for about in (moving, green):
        assert [supervisor.observe(run_of_tests(about, "the same text")) for _ in range(9)] == [None] * 9


def test_an_advance_between_begins_anew():
    supervisor = Supervisor()
    still = progress(FIRST, Step(run=2, unresolved=2))
    moving = progress(FIRST, Step(run=2, unresolved=1, advanced="fixed"))
    runs = [still, still, moving, still, still]
    assert [supervisor.observe(run_of_tests(about, "x")) for about in runs] == [None] * 5
