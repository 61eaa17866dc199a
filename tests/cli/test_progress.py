"""The progress of long work, shown at a terminal only."""

import io
from types import SimpleNamespace

import pytest

from loop_close.cli import analyze
from loop_close.cli.analyze import Bar, ReadProgress


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Each look at the clock is half a second later."""
    times = iter(n / 2 for n in range(1_000))
    # Its own clock only: other threads look at that of the process.
    monkeypatch.setattr(analyze, "time", SimpleNamespace(monotonic=lambda: next(times)))


def test_nothing_is_shown_where_there_is_no_terminal(clock):
    stream = io.StringIO()
    chunks = [b"x" * 1_000_000] * 9
    assert list(ReadProgress(stream).of(chunks, "read")) == chunks
    assert stream.getvalue() == ""


def test_short_work_shows_nothing(clock):
    stream = Screen()
    assert list(ReadProgress(stream).of([b"x"], "read")) == [b"x"]
    assert stream.getvalue() == ""


def test_long_work_is_shown_on_one_line_that_is_gone_at_the_end(clock):
    stream = Screen()
    list(ReadProgress(stream).of([b"x" * 1_000_000] * 4, "read"))
    shown = stream.getvalue().split("\r\x1b[K")
    assert shown == ["", "loop-close: read 2 MB", "loop-close: read 3 MB", "loop-close: read 4 MB", ""]


def test_line_is_gone_after_a_fault_too(clock):
    stream = Screen()
    work = ReadProgress(stream).of([b"x"] * 9, "read")
    for _ in range(4):
        next(work)
    work.close()
    assert stream.getvalue().endswith("MB\r\x1b[K")


def test_bar_shows_how_much_is_done_and_how_long_the_rest_takes(clock):
    stream = Screen()
    with Bar(stream, 1_200, "files") as bar:
        bar.show(300, ", 2 red")
        bar.show(600)
    assert stream.getvalue().split("\r\x1b[K") == [
        "",
        "loop-close: [                        ] 0 of 1,200 files",
        "loop-close: [######                  ] 300 of 1,200 files, 2 red, 3 s left",
        "loop-close: [############            ] 600 of 1,200 files, 2 s left",
        "",
    ]


def test_bar_is_as_wide_as_it_can_be(clock):
    stream = Screen()
    with Bar(stream, 1, "files") as bar:
        bar.show(3, f", {'x' * 200}")  # more files came meanwhile
    lines = stream.getvalue().split("\r\x1b[K")
    assert lines[2].startswith("loop-close: [########################] 3 of 3 files, xxx")
    assert len(lines[2]) == 79


def test_bar_is_not_shown_where_there_is_no_terminal(clock):
    stream = io.StringIO()
    with Bar(stream, 1, "files") as bar:
        bar.show(1)
    assert stream.getvalue() == ""
