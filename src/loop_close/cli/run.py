"""``loop-close run -- CMD``: run a command unchanged, then write the next prompt from its output."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import select
import selectors
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Self

from loop_close import files
from loop_close.cli.logs import Tail
from loop_close.cli.project import begin_memory, is_told, targets_of
from loop_close.cli.project_state import SourceStatus
from loop_close.cli.status import latest_run_numbers, run_result
from loop_close.cli.streams import Streams, UsageError
from loop_close.model import Counts, Observation
from loop_close.prompt.show import safe
from loop_close.provenance import RUNS_AGAIN, runner_of
from loop_close.remember import Memory
from loop_close.targets import Targets

#: With this word pytest remembers its run itself.
_PLUGIN = "--loop-close"
#: What shells answer for a command that is not there, and for one that cannot be run.
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Give back the command's own exit code, 128 and the signal's number where a signal ended it."""
    words: list[str] = options.words
    if not words:
        raise UsageError("run needs a command, for example: loop-close run -- pytest -q")
    targets = targets_of(Path.cwd())
    if options.budget:
        targets = targets._replace(settings=replace(targets.settings, budget=options.budget))
    is_own = name_of(words) not in PYTEST or not any(word in (_PLUGIN, f"{_PLUGIN}-failed") for word in words)
    before = latest_run_numbers(targets.root)
    memory = begin_memory(targets, options.source or name_of(words), is_own=is_own)
    targets.announce()
    is_announced = files.is_unfinished(targets.prompt)
    try:
        done = pass_through(words)
    except OSError as error:
        streams.complain(f"cannot run {words[0]}: {error.strerror or error}")
        done = _not_run(words[0], error)
    if is_announced and is_told(targets, done.exit_code):
        lines = _beside(done, words, options.source or "", targets, memory, before)
    else:
        lines = _close(done, words, options.source or "", targets, memory)
    if done.is_mid_line:
        streams.break_line()
    for line in lines:
        streams.complain(line)
    return done.exit_code


def _not_run(word: str, error: OSError) -> Done:
    """A command that could not be started, in the words of a shell."""
    is_missing = isinstance(error, FileNotFoundError)
    said = f"sh: 1: {word}: {'not found' if is_missing else f'cannot execute: {error.strerror or error}'}"
    code = _NOT_FOUND if is_missing else _NOT_EXECUTABLE
    return Done(exit_code=code, outputs=(said,))


def _close(done: Done, words: Sequence[str], source: str, targets: Targets, memory: Memory) -> list[str]:
    """Write the prompt; the lines to show. A fault of ours costs a line and not the command's result."""
    try:
        return [*done.problems, *_write(done, words, source, targets, memory)]
    except (Exception, KeyboardInterrupt) as fault:  # whose exit code would take the place of the command's
        return [*done.problems, _fallback(done, targets, fault)]


def _beside(
    done: Done,
    words: Sequence[str],
    source: str,
    targets: Targets,
    memory: Memory,
    before: Mapping[str, int],
) -> list[str]:
    """Write what the command did not, such as what checkers found, beside what it did; the lines to show."""
    try:
        ran = run_result(targets.root, before).statuses
        seen = _without_known(_observed(done, words, source, targets, memory), ran)
        seen = replace(seen, rerun=rerun_words(source, words, by_test=False))
        if ran and seen.failures:
            from loop_close import app

            return [*done.problems, *app.conclude(seen, targets, memory, selection=shlex.join(words))]
    except (Exception, KeyboardInterrupt) as fault:
        from loop_close.text import fault_text

        memory.abandon()
        return [
            *done.problems,
            f"internal error of loop-close: {fault_text(fault)}; {targets.name} is unchanged",
        ]
    return _left(done, words, targets, memory)


def _without_known(seen: Observation, ran: Sequence[SourceStatus]) -> Observation:
    """What was read but for that which the runs have remembered themselves: tests, and the environments they ran in."""
    from loop_close.facts import is_environment

    by_runner = any(each.last.source.startswith("tox:") for each in ran)
    red = {each.last.source.partition(":")[2] for each in ran if each.verdict != "green"}
    found = [f for f in seen.failures if f.phase == "check" and not by_runner]
    tools = {failure.tool for failure in found}
    found += [
        failure
        for failure in seen.failures
        if is_environment(failure)
        and not by_runner
        and failure.code not in red
        and not any(tool in failure.message for tool in tools)
    ]
    return replace(seen, failures=tuple(found), counts=Counts(), expects_tests=False, incomplete="")


def _left(done: Done, words: Sequence[str], targets: Targets, memory: Memory) -> list[str]:
    """Leave the prompt that the command itself wrote; the lines to show."""
    memory.abandon()  # the command remembers the run itself
    is_expected = any(word.startswith(_PLUGIN) for word in words)
    told = f"the command itself wrote {targets.name}; it is left unchanged"
    return [*done.problems, *([] if is_expected else [told])]


def _write(done: Done, words: Sequence[str], source: str, targets: Targets, memory: Memory) -> list[str]:
    from loop_close import app

    seen = _observed(done, words, source, targets, memory)
    return app.conclude(seen, targets, memory, selection=shlex.join(words))


def _observed(done: Done, words: Sequence[str], source: str, targets: Targets, memory: Memory) -> Observation:
    from loop_close.readers.streams import observe_texts

    seen = observe_texts(done.outputs, done.exit_code, root=str(targets.root), source=memory.source)
    by_test = any(failure.nodeid for failure in seen.failures)
    return replace(seen, rerun=rerun_words(source, words, by_test=by_test))


def _fallback(done: Done, targets: Targets, fault: BaseException) -> str:
    from loop_close.text import fault_text

    line = f"internal error of loop-close: {fault_text(fault)}; the result of the command is not affected"
    try:
        text = (
            f"{files.FAULT} (exit {done.exit_code})\n\nRead the output of the command, starting at the end.\n"
        )
        targets.write_prompt(text)
    except (OSError, files.UnusablePathError) as error:
        line += f"; {targets.name} could not be written either: {error}"
    return line


# Run a process whose output goes on as it comes, on a terminal with its colours, while its end is kept.

_PAUSE = 0.1
#: As much as pipes may hold: what the process wrote before it ended, where others go on to write.
_LATE = 2_000_000
_SHELL_OFFSET = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """A process that has ended.

    :ivar exit_code: its own; 128 and the number of the signal that ended it, as a shell says it.
    :ivar outputs: the end of what it wrote to each stream; one where standard output and error are the same.
    :ivar problems: what could not be passed on, in a line each.
    :ivar is_mid_line: our standard error is left in the middle of a line.
    """

    exit_code: int
    outputs: tuple[str, ...]
    problems: tuple[str, ...] = ()
    is_mid_line: bool = False


def pass_through(words: Sequence[str]) -> Done:
    """Run a command to its end.

    Where our own standard output or error is a terminal, the command's is one too, of the same size. Where both
    are the same file, the command's are, too: that alone keeps the order of what it writes. Signals that are sent
    to us are sent on.

    :raises OSError: when it cannot be started.
    """
    with Signals() as signals:
        opened = channels()
        ends = [channel.theirs for channel in (opened[0], opened[-1])]
        try:
            process = subprocess.Popen(list(words), stdout=ends[0], stderr=ends[1])
        except OSError:
            for channel in opened:
                channel.close()
            raise
        finally:
            for channel in opened:
                channel.started()
        signals.attend(process, opened)
        _pump(opened, process, signals)
        code = _wait(process, signals)
    return Done(
        exit_code=_SHELL_OFFSET - code if code < 0 else code,
        outputs=tuple(channel.tail.text() for channel in opened),
        problems=tuple(channel.problem for channel in opened if channel.problem),
        is_mid_line=opened[-1].tail.is_mid_line(),
    )


def _pump(opened: Sequence[Channel], process: subprocess.Popen[bytes], signals: Signals) -> None:
    """Pass on until the streams end, or the process has ended and what it left behind holds them open."""
    late = 0
    with selectors.DefaultSelector() as selector:
        for channel in opened:
            selector.register(channel.ours, selectors.EVENT_READ, channel)
        while selector.get_map() and late < _LATE:
            signals.look()
            has_ended = (
                process.poll() is not None
            )  # asked first: what it wrote until then is there to be read
            ready = selector.select(0 if has_ended else _PAUSE)
            if has_ended and not ready:
                break
            for key, _ in ready:
                size = key.data.pass_on()
                late += size if has_ended else 0
                if not size:
                    selector.unregister(key.fd)
                    key.data.close()
    for channel in opened:
        channel.close()


def _wait(process: subprocess.Popen[bytes], signals: Signals) -> int:
    while True:
        try:
            return process.wait(_PAUSE)
        except subprocess.TimeoutExpired:  # it has closed its streams and goes on
            signals.look()


# One stream of a process on its way to ours: a pseudo-terminal where ours is a terminal, else a pipe.

_CHUNK = 65_536


def channels() -> list[Channel]:
    """For standard output and standard error; one for both where they are the same file."""
    return [Channel(1)] if os.path.sameopenfile(1, 2) else [Channel(1), Channel(2)]


class Channel:
    """What a process writes at one end comes out at the other, and goes to a stream of ours.

    :ivar tail: the end of all that came.
    :ivar problem: why the rest could not be passed on; empty where nothing is to be told.
    """

    def __init__(self, target: int) -> None:
        self.tail = Tail()
        self.problem = ""
        self._target = target
        self.is_terminal = os.isatty(target) and sys.platform != "win32"
        self.ours, self.theirs = _terminal() if self.is_terminal else os.pipe()
        self._open = {self.ours, self.theirs}
        self.resize()

    def resize(self) -> None:
        """Give the process's terminal the size of ours."""
        if not self.is_terminal:
            return
        import fcntl
        import termios

        with contextlib.suppress(OSError):
            size = fcntl.ioctl(self._target, termios.TIOCGWINSZ, b"\0" * 8)
            fcntl.ioctl(self.ours, termios.TIOCSWINSZ, size)

    def started(self) -> None:
        """Leave their end to the process: the stream ends when it closes it."""
        self._close(self.theirs)

    def pass_on(self) -> int:
        """Move what is there; the number of bytes, 0 at the end.

        Where nobody takes the bytes any more, that is the end too: the process is to notice, as it would without
        us, and not to write for nobody.
        """
        try:
            chunk = os.read(self.ours, _CHUNK)
        except OSError:  # Linux says EIO when the last writer of a pseudo-terminal is gone
            return 0
        self.tail.add(chunk)
        try:
            _write_all(self._target, chunk)
        except BrokenPipeError:
            return 0
        except OSError as error:
            self.problem = f"cannot pass on the output of the command: {error.strerror or error}"
            return 0
        return len(chunk)

    def close(self) -> None:
        """Both ends; again is no fault."""
        self._close(self.ours)
        self._close(self.theirs)

    def _close(self, end: int) -> None:
        if end in self._open:
            self._open.remove(end)
            os.close(end)


def _terminal() -> tuple[int, int]:
    """A pseudo-terminal that changes nothing that is written to it."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    modes = termios.tcgetattr(theirs)
    modes[1] &= ~termios.OPOST  # a line feed stays a line feed: the real terminal makes of it what it does
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    return ours, theirs


def _write_all(target: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(target, data) :]
        except BlockingIOError:  # whoever opened it for us may have made it so
            select.select([], [target], [])


# Send on to a process the signals that are sent to us, each once.

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
#: Those that keys of a terminal send, to all processes in its foreground: to the command as well as to us.
_KEYS = ("SIGINT", "SIGQUIT")


class Signals:
    """While it is entered, signals do not end us but go to the process.

    What is ignored stays so, as ``nohup`` wants it. A signal that comes before there is a process waits for it.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before: dict[int, object] = {}
        self._blocked: set[int] = set()
        self._channels: Sequence[Channel] = ()

    def __enter__(self) -> Self:
        for number in _numbers((*_FORWARDED, *_KEYS)):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._forward)
        return self

    def __exit__(self, *raised: object) -> None:
        self.look()
        if self._blocked:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._blocked)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal gave

    def attend(self, process: subprocess.Popen[bytes], channels: Sequence[Channel]) -> None:
        """From now on there is a process, and its terminals follow the size of ours."""
        self._process, self._channels = process, channels
        for number in self._early:
            self._send(number)
        if hasattr(signal, "sigtimedwait"):
            # Blocked only now, as the process would inherit it. Taken by hand, they tell who sent them.
            self._blocked = {n for n in _numbers(_KEYS) if n in self._before}
            signal.pthread_sigmask(signal.SIG_BLOCK, self._blocked)
        if any(channel.is_terminal for channel in channels):
            self._before[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, self._resize)

    def look(self) -> None:
        """See to the signals that tell who sent them; to be called a few times a second."""
        while self._blocked and (told := signal.sigtimedwait(self._blocked, 0)) is not None:
            if told.si_code <= 0:  # by a process; those of the terminal have reached the command as well
                self._send(told.si_signo)

    def _forward(self, number: int, frame: FrameType | None) -> None:
        if number not in _numbers(_KEYS) or not _is_in_foreground():
            self._send(number)

    def _send(self, number: int) -> None:
        if self._process is None:
            self._early.append(number)
            return
        with contextlib.suppress(OSError):
            self._process.send_signal(number)

    def _resize(self, number: int, frame: FrameType | None) -> None:
        for channel in self._channels:
            channel.resize()
        self._send(number)  # the terminal's own may have come before the size was there


def _numbers(names: Sequence[str]) -> list[signal.Signals]:
    """Those that the platform has."""
    return [signal.Signals[name] for name in names if hasattr(signal, name)]


def _is_in_foreground() -> bool:
    """Whether we are in the foreground of a terminal, which then signals the process as well."""
    with contextlib.suppress(OSError), open("/dev/tty", "rb") as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False


# The words that run a command under ``loop-close run`` again.

_SECRET = re.compile(r"-.{0,200}(?:pass|secret|token|credential|api-?key)", re.IGNORECASE)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]{0,9}(?:\.exe)?\Z")
PYTEST = ("pytest", "py.test")
#: Programs that run the program they are given, with all words behind its name.
_LAUNCHERS = ("uv", "poetry", "pdm", "pipenv", "rye", "hatch", "coverage", "env", "timeout", "xvfb-run")
# Not the flags of pytest that are given most, nor an option with its value.
_MAY_TAKE_VALUE = re.compile(r"(?!-[qvsxl]+\Z)-[^=]*\Z")
# Options of pytest itself that choose tests or stop before all have run, with how many values they take.
_LIMITS = {
    **dict.fromkeys(("-k", "-m", "--maxfail"), 1),
    **dict.fromkeys(("-x", "--exitfirst", "--lf", "--last-failed", "--sw", "--stepwise", "--sw-skip"), 0),
}


def rerun_words(source: str, words: Sequence[str], *, by_test: bool) -> tuple[str, ...]:
    """``loop-close run -- CMD``, in an environment of tox or nox the runner's own command.

    Nothing where that cannot be told, or would not run what it says.

    :param source: the name given by ``--source``, empty for none.
    :param by_test: node ids of failing tests are going to be put behind: few commands take them.
    """
    runner, environment = runner_of(os.environ)
    if runner in RUNS_AGAIN and safe(environment) == environment:
        return runner, RUNS_AGAIN[runner], environment
    again = list(_without_paths(words)) if by_test else list(words)
    told = ("loop-close", "run", *(["--source", source] if source else []), "--", *again)
    is_secret = any(_SECRET.match(word) for word in words) or any(safe(w) != w or "\n" in w for w in told)
    return () if is_secret or (by_test and name_of(words) not in PYTEST) else told


def name_of(words: Sequence[str]) -> str:
    """What runs: the program, or the module that Python runs as one."""
    return os.path.basename(words[start_of(words)])


def start_of(words: Sequence[str]) -> int:
    """Where its name stands."""
    first = os.path.basename(words[0])
    if _PYTHON.match(first) and "-m" in words[:-1]:
        return words.index("-m") + 1
    if first in _LAUNCHERS:
        named = (n for n, word in enumerate(words) if os.path.basename(word) in PYTEST)
        return next((n for n in named if not words[n - 1].startswith("--")), 0)
    return 0


def _without_paths(words: Sequence[str]) -> Iterator[str]:
    """The words but for what selects tests or stops early; behind an option, a path may be its value."""
    start = start_of(words) + 1
    yield from words[:start]
    values = 0
    for number, word in enumerate(words[start:], start):
        if values:
            values -= 1
            continue
        name, equals, _ = word.partition("=")
        if name in _LIMITS:
            values = 0 if equals else _LIMITS[name]
            continue
        if re.match("-[km].", word):
            continue
        if re.fullmatch("-[qvsl]*x[qvsxl]*", word):  # flags in one word
            word = word.replace("x", "").rstrip("-")
        is_value = number > start and _MAY_TAKE_VALUE.match(words[number - 1]) is not None
        if word.startswith("-") or is_value or not os.path.exists(word.partition("::")[0]):
            yield word
