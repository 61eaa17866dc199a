"""``loop-close analyze``: logs and JUnit XML to the next prompt, without any state."""

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
from typing import TYPE_CHECKING

from loop_close.cli.logs import Bar, ReadProgress, file_chunks, log_of
from loop_close.cli.streams import Streams, UsageError

if TYPE_CHECKING:
    from loop_close.model import Observation, Report
    from loop_close.summary import LogSummary


def analyze(options: argparse.Namespace, streams: Streams) -> int:
    """Read, judge, print. 0 when nothing is wrong, else 1."""
    if is_asked_for(options):
        target = _target(options.output)
        text, is_good = summarized(options, streams, target)
    else:
        names = _names(options, streams)
        target = _target(options.output)
        text, is_good = _analyzed(names, options, streams)
    if target is None:
        _show(text, options, streams)
    else:
        _save(text, target, is_json=options.json)
    return 0 if is_good else 1


def _analyzed(names: Sequence[str], options: argparse.Namespace, streams: Streams) -> tuple[str, bool]:
    """What the logs of one run come to, and whether nothing is wrong."""
    from loop_close.judge import close

    observation, problems = _observed(names, options, streams)
    for problem in problems:
        streams.complain(problem)
    report = close(observation)
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

    progress = ReadProgress(streams.errors)
    texts = [log_of(name, streams.input, progress) for name in names]
    observation = observe_texts(texts, options.exit_code, root=_root(texts))
    if options.exit_code is None and not any(text.strip() for text in texts):
        # An empty log is no good news: the other stream may have been forgotten. No log at all is no news.
        observation = replace(observation, exit_code=None, is_good_news=not names)
    if not options.junit:
        return observation, ()
    from loop_close.readers.junit_xml import merge_junit, read_junit

    files = (
        read_junit(name, progress.of(file_chunks(name, streams.input), f"{name}:"), os.getcwd())
        for name in options.junit
    )
    junit = merge_junit(files)
    return with_junit(observation, junit), junit.problems


def _root(texts: Sequence[str]) -> str:
    """The working directory where the log speaks of files in it; a log from elsewhere has a root of its own."""
    here = os.getcwd()
    return here if any(here + os.sep in text for text in texts) else ""


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


def _target(path: str | None) -> Path | None:
    """Where to write, checked before anything is read; None for the standard output."""
    if path is None or path == "-":
        return None
    from loop_close import files

    try:
        files.check_writable(Path(path), lambda each: files.is_prompt(each) or files.is_report(each))
    except files.UnusablePathError as error:
        raise UsageError(f"-o: {error}") from None
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


# ``loop-close analyze DIRECTORY``: many logs, each a run of its own, to one summary of their root causes.

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
    from loop_close.log_files import summary_of_files
    from loop_close.parallel import map_in_processes, usable_cpus
    from loop_close.summary import LogSummary, combine_summaries, summary_json, summary_text

    total = LogSummary()
    is_watched = streams.errors.isatty()
    written = _written(target, streams)
    number = sum(1 for _ in _logs_in(options.files, written)) if is_watched else 0
    results = map_in_processes(
        partial(summary_of_files, root=os.getcwd()),
        _logs_in(options.files, written),
        lost=_lost,
        jobs=options.jobs or usable_cpus(),
        size=_CHUNK,
    )
    with closing(results), Bar(streams.errors, number, "files") as bar:
        for result in results:
            total = combine_summaries(total, result)
            bar.show(total.files, f", {total.red:,} red, {len(total.causes):,} root causes")
    return (summary_json if options.json else summary_text)(total), total.is_green


def _written(target: Path | None, streams: Streams) -> os.stat_result | None:
    """The file to which the summary goes, as it is before; None where it is none so far."""
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


def _lost(file: tuple[str, str]) -> LogSummary:
    from loop_close.summary import unread_log

    return unread_log(file[1], _DIED)
