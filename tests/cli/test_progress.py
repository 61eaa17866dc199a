"""How far long work has come, where somebody looks."""

import io
from types import SimpleNamespace

import pytest

from loop_close.cli import progress
from loop_close.cli.progress import Progress


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Each look at the clock is half a second later."""
    times = iter(n / 2 for n in range(1_000))
    # Its own clock only: other threads look at that of the process.
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(times)))


def test_nothing_is_shown_where_there_is_no_terminal(clock):
    stream = io.StringIO()
    chunks = [b"x" * 1_000_000] * 9
    assert list(Progress(stream).of(chunks, "read")) == chunks
    assert stream.getvalue() == ""


def test_short_work_shows_nothing(clock):
    stream = Screen()
    assert list(Progress(stream).of([b"x"], "read")) == [b"x"]
    assert stream.getvalue() == ""


def test_long_work_is_shown_on_one_line_that_is_gone_at_the_end(clock):
    stream = Screen()
    list(Progress(stream).of([b"x" * 1_000_000] * 4, "read"))
    shown = stream.getvalue().split("\r\x1b[K")
    assert shown == ["", "loop-close: read 2 MB", "loop-close: read 3 MB", "loop-close: read 4 MB", ""]


def test_line_is_gone_after_a_fault_too(clock):
    stream = Screen()
    work = Progress(stream).of([b"x"] * 9, "read")
    for _ in range(4):
        next(work)
    work.close()
    assert stream.getvalue().endswith("MB\r\x1b[K")
