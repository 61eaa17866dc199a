"""``loop-close analyze``: read logs of any size, and print a prompt of them."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from loop_close.cli import Streams, UsageError
from loop_close.cli.project import root_in
from loop_close.log_files import MAX_TEXT, Tail, chunks, to_tail

if TYPE_CHECKING:
    from loop_close.model import Observation, Report


def analyze(options: argparse.Namespace, streams: Streams) -> int:
    """Read, judge, print. 0 when nothing is wrong, else 1."""
    if is_asked_for(options):
        target = target_of(options.output)
        text, is_good = summarized(options, streams, target)
    else:
        names = _names(options, streams)
        target = target_of(options.output)
        text, is_good = _analyzed(names, options, streams)
    if target is None:
        _show(text, options, streams)
    else:
        _save(text, target, is_json=options.json)
    return 0 if is_good else 1


def _analyzed(names: Sequence[str], options: argparse.Namespace, streams: Streams) -> tuple[str, bool]:
    """The report of the logs of one run, and whether it is green."""
    from loop_close.judge import report_of

    observation, problems = _observed(names, options, streams)
    for problem in problems:
        streams.complain(problem)
    report = report_of(observation)
    return "".join(_document(report, options)), report.verdict == "green"


def _names(options: argparse.Namespace, streams: Streams) -> list[str]:
    names: list[str] = options.files
    if names or options.junit:
        if [*names, *options.junit].count("-") > 1:
            raise UsageError("standard input can be read only once: give - once")
        return names
    if streams.input.isatty():
        raise UsageError("nothing to read: name a log file, pipe a log in, or use --junit XML")
    return ["-"]


def _observed(
    names: Sequence[str], options: argparse.Namespace, streams: Streams
) -> tuple[Observation, tuple[str, ...]]:
    from loop_close.readers.streams import observe_texts, with_junit

    texts = [log_of(name, streams.input) for name in names]
    observation = observe_texts(texts, options.exit_code, root=root_in(texts))
    if options.exit_code is None and not any(text.strip() for text in texts):
        # An empty log is not a success: the other stream may have been forgotten. No log at all is no news.
        observation = replace(observation, exit_code=None, is_good_news=not names)
    if not options.junit:
        return observation, ()
    from loop_close.readers.junit_xml import merge_junit, read_junit

    junit = merge_junit(
        read_junit(name, file_chunks(name, streams.input), os.getcwd()) for name in options.junit
    )
    return with_junit(observation, junit), junit.problems


def _document(report: Report, options: argparse.Namespace) -> Iterator[str]:
    from loop_close.prompt.compose import compose
    from loop_close.prompt.sections import DEFAULT_SECTIONS
    from loop_close.settings import DEFAULT_BUDGET

    prompt = compose(report, DEFAULT_SECTIONS, budget=options.budget or DEFAULT_BUDGET)
    if not options.json:
        yield prompt
        return
    from loop_close.prompt.report_json import dump, report_document

    yield from dump(report_document(report, prompt))


def target_of(path: str | None, option: str = "-o") -> Path | None:
    """Where to write, checked before anything is read; None for the standard output."""
    if path is None or path == "-":
        return None
    from loop_close import files

    try:
        files.check_writable(Path(path), lambda each: files.is_prompt(each) or files.is_report(each))
    except files.UnusablePathError as error:
        raise UsageError(f"{option}: {error}") from None
    return Path(path)


def _save(text: str, target: Path, *, is_json: bool) -> None:
    from loop_close import files

    try:
        if is_json:
            files.write(target, [text])
        else:
            files.write_prompt(target, text)
    except OSError as error:
        raise UsageError(f"-o: cannot write {target}: {error.strerror or error}") from None


def _show(text: str, options: argparse.Namespace, streams: Streams) -> None:
    if options.json and isinstance(streams.output, io.TextIOWrapper):
        streams.output.reconfigure(encoding="utf-8")  # JSON is, whatever the locale
    try:
        streams.put(text)
    except BrokenPipeError:  # who reads only the beginning still wants to know by the exit code
        streams.forget_output()


# --- ``loop-close analyze DIRECTORY``: many logs, each a run of its own, to one summary of their root causes

#: Files that a process reads before it hands on what it found: a few milliseconds of work.
_CHUNK = 8
_DIED = "the process that read it died, perhaps for want of memory"


def is_asked_for(options: argparse.Namespace) -> bool:
    """Whether the options ask for a summary.

    :raises UsageError: when they do, and other options are only for logs of one run.
    """
    if not options.by and not any(map(os.path.isdir, options.files)):
        if options.jobs is not None:
            raise UsageError("--jobs is for a directory, or for --by cause")
        return False
    if not options.files or "-" in options.files:
        raise UsageError("a summary is of files and directories: name them")
    for name in ("junit", "exit_code", "budget"):
        if getattr(options, name) not in (None, []):
            option = f"--{name.replace('_', '-')}"
            why = "name XML files as logs" if name == "junit" else "each log is a run of its own"
            raise UsageError(f"{option} cannot be used for a summary: {why}")
    missing = next((name for name in options.files if not os.path.exists(name)), None)
    if missing is not None:
        raise UsageError(f"cannot read {missing}: No such file or directory")
    return True


def summarized(options: argparse.Namespace, streams: Streams, target: Path | None) -> tuple[str, bool]:
    """The text of the summary, and whether all logs are green.

    :param target: the file to be written, which is not read.
    """
    from loop_close.library import LogSummary, combine_summaries, summary_json, summary_text, unread_log
    from loop_close.log_files import summary_of_files
    from loop_close.parallel import map_in_processes, usable_cpus

    total = LogSummary()
    results = map_in_processes(
        partial(summary_of_files, root=os.getcwd()),
        _logs_in(options.files, _written(target, streams)),
        lost=lambda file: unread_log(file[1], _DIED),
        jobs=options.jobs or usable_cpus(),
        size=_CHUNK,
    )
    with closing(results):
        try:
            for result in results:
                total = combine_summaries(total, result)
        except KeyboardInterrupt:
            streams.complain(f"interrupted after {total.files:,} files")
            raise
    return (summary_json if options.json else summary_text)(total), total.is_green


def _written(target: Path | None, streams: Streams) -> os.stat_result | None:
    """The file to which the summary goes, as it is before; None if it is none so far."""
    with contextlib.suppress(OSError):
        return os.stat(streams.output.fileno() if target is None else target)
    return None


def _is_written(path: str, written: os.stat_result | None) -> bool:
    with contextlib.suppress(OSError):
        return written is not None and os.path.samestat(os.stat(path), written)
    return False


def _logs_in(given: list[str], written: os.stat_result | None) -> Iterator[tuple[str, str]]:
    """Path and name of each file: a single directory's by their names in it, others by what was given."""
    from loop_close.log_files import log_names

    for argument in dict.fromkeys(given):
        if not os.path.isdir(argument):
            yield os.path.realpath(argument), argument
            continue
        prefix = "" if len(given) == 1 else f"{argument.rstrip('/')}/"
        for name in log_names(argument):
            path = os.path.join(argument, name)
            if not _is_written(path, written):
                yield path, f"{prefix}{name}"


# --- logs as they are read: their chunks, and their end


def log_of(name: str, standard_input: BinaryIO) -> str:
    """The end of a log.

    :param name: path of a file, ``-`` for the standard input.
    :raises UsageError: for a file that cannot be read.
    """
    try:
        if name == "-":
            return _read_log(standard_input, Tail())
        with open(name, "rb") as file:
            return _read_log(file, Tail(mark=to_tail(file)))
    except OSError as error:
        raise UsageError(
            f"cannot read {name}: {error.strerror or error}; give the path of a log, or -"
        ) from None


def _read_log(stream: BinaryIO, tail: Tail) -> str:
    for chunk in chunks(stream):
        tail.add(chunk)
    return tail.text()[-MAX_TEXT:]


def file_chunks(name: str, standard_input: BinaryIO) -> Iterator[bytes]:
    """The bytes of a whole file in pieces.

    :raises UsageError: for one that cannot be read.
    """
    try:
        if name == "-":
            yield from chunks(standard_input)
            return
        with Path(name).open("rb") as file:
            yield from chunks(file)
    except OSError as error:
        raise UsageError(
            f"cannot read {name}: {error.strerror or error}; give the path of a JUnit XML file"
        ) from None
