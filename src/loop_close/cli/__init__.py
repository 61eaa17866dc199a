"""The command ``loop-close``: its entry point, streams and errors."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from loop_close.records import Record
from loop_close.text import fault_text, reason_of

if TYPE_CHECKING:
    from loop_close.files import Targets

#: Exit codes of the command itself (sysexits.h): wrong usage, internal error.
USAGE, FAULT = 64, 70
#: A variable that says in what a command runs: ``drive`` or ``hook``.
INSIDE = "LOOP_CLOSE_INSIDE"
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None, streams: Streams | None = None) -> int:
    """Run one command.

    :param arguments: its words, without the program's name; None for those of the process.
    :param streams: what to read and write; None for those of the process.
    :returns: the exit code: that of the command (``run`` gives that of what it ran), 64 wrong usage, 70 internal
        error.
    """
    is_process = arguments is None and streams is None
    words, streams = list(sys.argv[1:] if arguments is None else arguments), streams or Streams.of_process()
    try:
        match words:
            case ["hook", "--host", name] if not name.startswith("-"):
                return _hook(name, streams, is_process=is_process)
        return _run(words, streams)
    except UsageError as error:
        streams.complain(*map(str, error.args))
        return USAGE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OutputError as error:
        streams.complain(str(error))
        streams.forget_output()
    except Exception as fault:
        streams.complain(f"internal error of loop-close: {fault_text(fault)}")
    return FAULT


def _hook(name: str, streams: Streams, *, is_process: bool) -> int:
    """Answer a host at once: it waits, and to make the parsers of all commands takes a while."""
    if is_process:
        gc.disable()  # it is over before there is anything to collect
        os.environ[INSIDE] = "hook"  # for what the hook starts
    # By its name: the hook is built on the commands, and no command is built on the hook.
    code: int = import_module("loop_close.hook").asked(name, streams)
    if is_process:
        os._exit(code)  # what is said is written, and to take down what was loaded takes a tenth of the time
    return code


def _run(arguments: Sequence[str], streams: Streams) -> int:
    from loop_close.cli.parser import command_of, parse

    try:
        options = parse(arguments)
    except SystemExit as ended:
        streams.put("")  # what argparse has written for --help and --version goes out now, not at the end
        return int(ended.code or 0)
    return command_of(options.name)(options, streams)


# --- what a command reads and writes: standard input, output and error, and its errors

_LAST = 2  # of the numbers of the standard streams


class OutputError(Exception):
    """What is printed cannot be written, such as on a full disk; the text says why."""


class Streams(Record, frozen=True, kw_only=True):
    """Where a command reads from and writes to."""

    input: BinaryIO
    output: TextIO
    errors: TextIO

    @classmethod
    def of_process(cls) -> Streams:
        """Those of the process, UTF-8 whatever the locale.

        Where one is closed, nothing is read or written instead, and no file that is opened later takes its place.
        """
        while (number := os.open(os.devnull, os.O_RDWR)) <= _LAST:
            pass
        os.close(number)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        nothing = open(os.devnull, "r+", encoding="utf-8")  # noqa: SIM115  # for as long as the process
        standard_input = sys.stdin.buffer if sys.stdin is not None else open(os.devnull, "rb")  # noqa: SIM115
        return cls(input=standard_input, output=sys.stdout or nothing, errors=sys.stderr or nothing)

    def say(self, *lines: str) -> None:
        """Print lines of the result."""
        self.put("\n".join((*lines, "")))

    def put(self, text: str) -> None:
        """Print a part of the result. A closed pipe is no error, and changes no exit code.

        :raises OutputError: when it cannot be written.
        """
        try:
            self.output.write(text)
            self.output.flush()
        except BrokenPipeError:
            self.forget_output()
        except OSError as error:
            raise OutputError(f"cannot write the output: {reason_of(error)}") from None

    def complain(self, text: str, *more: str) -> None:
        """Print a line about the command itself; controls in it are spelled out, line breaks in names, too.

        If that cannot be written, it is lost.

        :param more: further lines.
        """
        lines = ("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line) for line in (text, *more))
        # a CI system takes ## for a command anywhere in a line
        self._warn("loop-close: {}\n".format("\n".join(lines).replace("##", "# #")))

    def break_line(self) -> None:
        """End a line that the command has begun on standard error."""
        self._warn("\n")

    def _warn(self, text: str) -> None:
        try:
            self.errors.write(text)
            self.errors.flush()
        except OSError:
            _forget(self.errors)

    def forget_output(self) -> None:
        """The reader has closed the pipe: discard the output, so that Python does not complain at its end."""
        _forget(self.output)


def _forget(stream: TextIO) -> None:
    """Discard what it still holds: Python would write that at its end, and exit with 120 if it cannot."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


# --- the error of a command that cannot be: by itself, as to parse words takes longer than to answer a hook


class UsageError(Exception):
    """An invalid command; the text says what was wrong and what would be right. Further texts are lines below it."""


@contextlib.contextmanager
def as_usage_error(*kinds: type[Exception]) -> Iterator[None]:
    """Errors of these kinds say what was wrong with the command: raise them as :class:`UsageError`."""
    try:
        yield
    except kinds as error:
        raise UsageError(str(error)) from None


@contextlib.contextmanager
def opened(name: str, streams: Streams | None = None) -> Iterator[BinaryIO]:
    """A file that the user named, to read.

    :param streams: if given, ``-`` is the standard input.
    :raises UsageError: when it cannot be read.
    """
    try:
        if streams is not None and name == "-":
            yield streams.input
        else:
            with open(name, "rb") as file:
                yield file
    except OSError as error:
        raise UsageError(f"cannot read {name}: {reason_of(error)}") from None


def check_target(path: str, option: str, beginnings: tuple[str, ...] = ()) -> None:
    """Make sure that a file of the user's choice can be replaced by ours.

    :param beginnings: how documents of ours begin beside prompts and reports.
    :raises UsageError: when it cannot, or was not written by us.
    """
    from loop_close import files

    try:
        files.check_writable(Path(path), beginnings)
    except files.UnusablePathError as error:
        raise UsageError(f"{option}: {error}") from None


# --- the project that a command is about

NO_RUN = "no runs recorded in this project: run loop-close check"


def last_prompt(root: Path) -> str:
    """The last next prompt without our mark; empty for none of ours, during a run, and for settings that are wrong."""
    from loop_close import files  # late, as below

    with contextlib.suppress(OSError, UsageError):
        path = project_at(root).prompt
        if files.is_finished(path):
            text = path.read_text(encoding="utf-8", errors="replace")
            return files.without_signature(text).strip("\n")
    return ""


def project_at(root: Path | None = None) -> Targets:
    """The project of a root: its settings, its history, and the files that we write.

    :param root: None for that of the working directory.
    :raises UsageError: for settings that are wrong.
    """
    from loop_close import gate  # late: it takes a while to load
    from loop_close.checks import root_of

    with as_usage_error(gate.UnknownError):
        return gate.targets_of(root or root_of(Path.cwd()))
