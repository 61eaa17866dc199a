"""``loop-close analyze``: logs and JUnit XML to the next prompt, without any state."""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close.cli.parser import UsageError
from loop_close.cli.streams import Streams

if TYPE_CHECKING:
    from loop_close.model import Observation, Report


def analyze(options: argparse.Namespace, streams: Streams) -> int:
    """Read, judge, print. 0 when nothing is wrong, else 1."""
    from loop_close.cli.directory import is_asked_for, summarized

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
    from loop_close.cli.logs import log_of
    from loop_close.cli.progress import Progress
    from loop_close.readers.streams import observe_texts, with_junit

    progress = Progress(streams.errors)
    texts = [log_of(name, streams.input, progress) for name in names]
    observation = observe_texts(texts, options.exit_code, root=_root(texts))
    if options.exit_code is None and not any(text.strip() for text in texts):
        # An empty log is no good news: the other stream may have been forgotten. No log at all is no news.
        observation = replace(observation, exit_code=None, is_good_news=not names)
    if not options.junit:
        return observation, ()
    from loop_close.cli.logs import file_chunks
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
