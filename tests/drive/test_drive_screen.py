"""What a person sees, without a terminal and with one."""

import io

from loop_close.cli import Streams
from loop_close.drive import screen as module
from loop_close.drive.screen import Screen


class Terminal(io.StringIO):
    def isatty(self):
        return True


def screen_of(errors):
    output = io.StringIO()
    return Screen(Streams(input=io.BytesIO(), output=output, errors=errors)), output


def test_without_a_terminal_there_are_lines_only():
    errors = io.StringIO()
    screen, output = screen_of(errors)
    screen.step("tests: pytest")
    screen.wait_for("turn 1")
    screen.waited()
    screen.pass_on(1, b"answer")
    screen.step("2 failing")
    assert output.getvalue() == "answer"
    assert errors.getvalue() == "loop-close: tests: pytest\n\nloop-close: 2 failing\n"


def test_on_a_terminal_it_tells_how_long_it_takes_and_takes_that_away_again(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.delenv("NO_COLOR", raising=False)
    errors = Terminal()
    screen, _ = screen_of(errors)
    screen.wait_for("turn 1 of 100: claude")
    screen.waited()
    assert errors.getvalue() == ""
    now[0] += 83
    screen.waited()
    screen.waited()  # not again within a second
    assert errors.getvalue() == "\r\x1b[Kloop-close: turn 1 of 100: claude, 1:23"
    screen.pass_on(2, b"said\n")
    assert errors.getvalue().endswith("1:23\r\x1b[Ksaid\n")
    screen.step("done")
    assert errors.getvalue().endswith("\x1b[1mloop-close: done\n\x1b[0m")


def test_unfinished_line_is_not_overwritten(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    errors = Terminal()
    screen, _ = screen_of(errors)
    screen.wait_for("turn 1")
    screen.pass_on(1, b"no end")
    now[0] += 60
    screen.waited()
    assert "turn 1" not in errors.getvalue()


def test_no_colours_where_they_are_turned_off(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    errors = Terminal()
    screen, _ = screen_of(errors)
    screen.step("done")
    assert errors.getvalue() == "loop-close: done\n"


def test_who_reads_no_more_ends_nothing():
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    output = Closed()
    screen = Screen(Streams(input=io.BytesIO(), output=output, errors=io.StringIO()))
    screen.pass_on(1, b"answer\n")
    screen.pass_on(1, b"answer\n")
