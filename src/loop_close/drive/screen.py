"""What a person sees of the loop: a line at each step, and on a terminal how long the agent has been at work."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TextIO

from loop_close.agent.loop import AgentLoop, RunOutcome
from loop_close.agent.strategies import FixPlan
from loop_close.cli import OutputError, Streams, columns_of
from loop_close.records import State
from loop_close.text import one_line

_BOLD, _PLAIN, _CLEAR = "\x1b[1m", "\x1b[0m", "\r\x1b[K"
_FIRST, _NEXT = 1.0, 1.0
_HOUR = 3_600
_PATIENCE = 2.0
_NARROWEST = 20


class Screen:
    """Standard output and standard error of the driver.

    What the agent prints comes from other threads: the one that writes holds the lock.
    """

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._is_terminal = streams.errors.isatty()
        self._lock = threading.Lock()
        self._status = ""
        self._begun = self._due = 0.0
        self._is_shown = False
        self._is_mid_line = {1: False, 2: False}
        self._is_deaf = {1: False, 2: False}

    def step(self, text: str) -> None:
        """Print the state of the loop in a line that can be seen among the output of tests and agents."""
        with self._held():
            self._finish_line()
            is_bold = self._is_terminal and not os.environ.get("NO_COLOR")
            if is_bold:
                self._write_error(_BOLD)
            self._streams.complain(text)
            if is_bold:
                self._write_error(_PLAIN)

    def wait_for(self, status: str) -> None:
        """From now on the agent is at work."""
        self._status, self._begun = status, time.monotonic()
        self._due = self._begun + _FIRST

    def waited(self) -> None:
        """Show on a terminal how long it has been at work; to be called a few times a second."""
        if not self._is_terminal or time.monotonic() < self._due or any(self._is_mid_line.values()):
            return
        with self._held():
            passed = spelled(time.monotonic() - self._begun)
            width = max(columns_of(self._streams.errors) or 80, _NARROWEST)
            self._write_error(f"{_CLEAR}{f'loop-close: {self._status}, {passed}'[: width - 1]}")
            self._due, self._is_shown = time.monotonic() + _NEXT, True

    def pass_on(self, number: int, data: bytes) -> None:
        """Write what the agent wrote to its standard output (1) or standard error (2), as it is.

        The loop goes on when the reader has closed the pipe.
        """
        with self._lock:
            self._clear()
            self._is_mid_line[number] = not data.endswith(b"\n")
            stream = self._streams.output if number == 1 else self._streams.errors
            if not self._is_deaf[number]:
                self._is_deaf[number] = not _written(stream, data)

    def done(self) -> None:
        """The agent has ended its turn."""
        with self._held():
            self._finish_line()

    def say(self, text: str) -> None:
        """Print the result; an error of writing does not change the loop's result."""
        with self._held():
            self._finish_line()
        try:
            self._streams.say(text)
        except BrokenPipeError:
            self._streams.forget_output()
        except OutputError as error:
            self._streams.complain(str(error))
            self._streams.forget_output()

    def heed_readers(self) -> None:
        """Discard output whose reader has gone: tests that print into the pipe would be killed."""
        if not is_read(self._streams.output):
            self._streams.forget_output()

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """The lock, as far as it can be had: who holds it may wait for a reader that does not read."""
        is_held = self._lock.acquire(timeout=_PATIENCE)
        try:
            yield
        finally:
            if is_held:
                self._lock.release()

    def _finish_line(self) -> None:
        """Begin a new line where the agent has left one unfinished."""
        self._clear()
        if any(self._is_mid_line.values()):
            self._streams.break_line()
        self._is_mid_line = {1: False, 2: False}

    def _clear(self) -> None:
        if self._is_shown:
            self._write_error(_CLEAR)
            self._is_shown = False

    def _write_error(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._streams.errors.write(text)
            self._streams.errors.flush()


def _written(stream: TextIO, data: bytes) -> bool:
    """Whether it could be written: as bytes, as the agent's encoding is its own business."""
    try:
        try:
            number = stream.fileno()
        except (OSError, ValueError):  # no file, as in a test
            stream.write(data.decode("utf-8", "replace"))
            return True
        while data:
            data = data[os.write(number, data) :]
    except (OSError, ValueError):
        return False
    return True


def is_read(stream: TextIO) -> bool:
    """Whether there may be a reader; known for a pipe only."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return not any(state & (select.POLLERR | select.POLLNVAL) for _, state in poll.poll(0))
    except (OSError, ValueError, AttributeError):
        return True


def spelled(seconds: float) -> str:
    """``1:02:03``, or ``2:03``."""
    whole = int(seconds)
    minutes = f"{whole % _HOUR // 60:02}" if whole >= _HOUR else f"{whole // 60}"
    return f"{whole // _HOUR}:{minutes}:{whole % 60:02}" if whole >= _HOUR else f"{minutes}:{whole % 60:02}"


# --- the lines that report the state of a loop and how it ended

_SHOWN = 8
_MAX_STEPS = 12
_ENDED = {
    "done": "done",
    "failing": "NOT done: limit reached",
    "unknown": "NOT done: limit reached",
    "stuck": "NOT done: stuck",
    "objected": "NOT done: a person must accept changed tests",
    "unavailable": "NOT done: the agent is unavailable",
    "interrupted": "NOT done: interrupted",
}


def trend(failing: Sequence[int]) -> str:
    """``9 → 6 → 4 failing``: the last runs, those that changed nothing once; ``0 failing`` where that is all."""
    moved = [count for at, count in enumerate(failing) if at == 0 or failing[at - 1] != count]
    if not any(moved):
        return "0 failing"
    more = "… → " if len(moved) > _SHOWN else ""
    return f"{more}{' → '.join(map(str, moved[-_SHOWN:]))} failing"


def state_line(loop: AgentLoop, state: State) -> str:
    """The state of the loop after the checks, in words."""
    known = f"; {trend(loop.failing)}" if loop.failing else ""
    return one_line(
        f"{state.verdict}: {state.reason}{known}" if state.reason else f"{state.verdict}{known}", 300
    )


def turn_label(loop: AgentLoop) -> str:
    """``turn 3 of 100``."""
    most = loop.limits.max_iterations
    return f"turn {loop.turns + 1}" + ("" if most == float("inf") else f" of {most:g}")


def summary_lines(loop: AgentLoop, ended: str, reason: str, state: State) -> Iterator[str]:
    """How the loop ended, in lines; each file that a person accepted is named."""
    turns = f"{loop.turns} turn{'s' * (loop.turns != 1)}"
    yield f"loop-close drive: {_ENDED[ended]} after {turns} in {spelled(loop.runtime)}: {one_line(reason, 600)}"
    if loop.failing:
        yield f"  {trend(loop.failing)}" + (f"; cost {loop.cost:.2f}" if loop.cost else "")
    yield from (f"  accepted by a person: {one_line(path, 200)}" for path in state.accepted[:_SHOWN])
    yield from (f"  {line}" for line in _steps(loop.plan))


def next_step_lines(outcome: RunOutcome, prompt_file: str, work: Sequence[str] = ()) -> Iterator[str]:
    """What was tried, and how to go on, where the loop is not done.

    :param work: what the agent said it did, a line a turn.
    """
    if outcome.attempts:
        yield "  what was tried:"
        yield from (f"    {line}" for line in outcome.attempts)
    if work:
        yield "  what the agent said it did:"
        yield from (f"    {one_line(line, 200)}" for line in work)
    yield f"  the next prompt: {prompt_file}"
    yield "  to go on with this loop, at a limit with a higher one: loop-close drive --resume"


def _steps(plan: FixPlan) -> Iterator[str]:
    for number, step in enumerate(plan.steps[:_MAX_STEPS], 1):
        is_own = step.cause.startswith("step ")
        state = (
            ("completed" if is_own else "fixed")
            if step.completed
            else "given up"
            if step.is_exhausted
            else "open"
        )
        tries = f" after {step.attempts} attempt{'s' * (step.attempts != 1)}" if step.attempts else ""
        yield f"{number}. {state}{tries}: {one_line(step.description or step.cause, 160)}"
    if len(plan.steps) > _MAX_STEPS:
        yield f"… and {len(plan.steps) - _MAX_STEPS} more"
