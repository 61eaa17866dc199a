"""``loop-close analyze``, ``merge`` and ``emit``: what was written elsewhere: logs of any size, JUnit XML, reports."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from loop_close.cli import USAGE, Streams, UsageError, as_usage_error, check_target, opened, project_at
from loop_close.log_files import chunks, end_of

if TYPE_CHECKING:
    from loop_close.model import Observation, Report
    from loop_close.readers.junit_xml import JunitReading


def analyze(options: argparse.Namespace, streams: Streams) -> int:
    """Read, judge, print. 0 when nothing is wrong, else 1."""
    if any(map(os.path.isdir, options.files)):
        text, is_good = _summarized(options)
    else:
        text, is_good = _analyzed(options, streams)
    streams.put(text)
    return 0 if is_good else 1


def _analyzed(options: argparse.Namespace, streams: Streams) -> tuple[str, bool]:
    """The report of the logs of one run, and whether it is green."""
    from loop_close.judge import report_of

    names: list[str] = options.files
    if not names and not options.junit:
        if streams.input.isatty():
            raise UsageError("nothing to read: name a log file, pipe a log in, or use --junit XML")
        names = ["-"]
    observation, problems = _observed(names, options, streams)
    for problem in problems:
        streams.complain(problem)
    report = report_of(observation)
    return _document(report, options), report.verdict == "green"


def _observed(
    names: Sequence[str], options: argparse.Namespace, streams: Streams
) -> tuple[Observation, tuple[str, ...]]:
    from loop_close.readers.streams import observe_texts, with_junit

    texts = [log_of(name, streams) for name in names]
    observation = observe_texts(texts, options.exit_code, root=root_in(texts))
    if options.exit_code is None and not any(text.strip() for text in texts):
        # An empty log is not a success: the other stream may have been forgotten. No log at all is no news.
        observation = replace(observation, exit_code=None, is_good_news=not names)
    if not options.junit:
        return observation, ()
    from loop_close.readers.junit_xml import merge_junit

    junit = merge_junit(_junit_of(name, streams) for name in options.junit)
    return with_junit(observation, junit), junit.problems


def root_in(texts: Iterable[str]) -> str:
    """The working directory, if the logs name files in it; empty for logs from elsewhere, which have their own root."""
    here = os.getcwd()
    return here if any(here + os.sep in text for text in texts) else ""


def log_of(name: str, streams: Streams) -> str:
    """The end of a log.

    :raises UsageError: for a file that cannot be read.
    """
    with opened(name, streams) as file:
        return end_of(file)


def _junit_of(name: str, streams: Streams) -> JunitReading:
    from loop_close.readers.junit_xml import read_junit

    with opened(name, streams) as file:
        return read_junit(name, chunks(file), os.getcwd())


def _document(report: Report, options: argparse.Namespace) -> str:
    from loop_close.prompt.compose import compose
    from loop_close.prompt.sections import DEFAULT_SECTIONS
    from loop_close.settings import DEFAULT_BUDGET

    prompt = compose(report, DEFAULT_SECTIONS, budget=options.budget or DEFAULT_BUDGET)
    if not options.json:
        return prompt
    from loop_close.prompt.report_json import dump, report_document

    return "".join(dump(report_document(report, prompt)))


# --- ``loop-close analyze DIRECTORY``: many logs, each a run of its own, to one summary of their root causes


def _summarized(options: argparse.Namespace) -> tuple[str, bool]:
    """The text of the summary, and whether all logs are green.

    :raises UsageError: for options that are only for logs of one run.
    """
    from loop_close.library import LogSummary, combine_summaries, summary_json, summary_text
    from loop_close.log_files import summary_of_file

    of_one_run = {"--junit": options.junit, "--exit-code": options.exit_code, "--budget": options.budget}
    if given := [option for option, value in of_one_run.items() if value not in (None, [])]:
        raise UsageError(f"{given[0]} is for logs of one run: in a directory each log is a run of its own")
    summaries = (summary_of_file(path, name, os.getcwd()) for path, name in _logs_in(options.files))
    total = reduce(combine_summaries, summaries, LogSummary())
    return (summary_json if options.json else summary_text)(total), total.is_green


def _logs_in(given: list[str]) -> Iterator[tuple[str, str]]:
    """Path and name of each file: a single directory's by their names in it, others by what was given."""
    from loop_close.log_files import log_names

    for argument in dict.fromkeys(given):
        if os.path.isdir(argument):
            prefix = "" if len(given) == 1 else f"{argument.rstrip('/')}/"
            for name in log_names(argument):
                yield os.path.join(argument, name), f"{prefix}{name}"
        else:
            yield os.path.realpath(argument), argument


# --- reports of shards and jobs: as one prompt, or in the formats of CI systems


def merge(options: argparse.Namespace, streams: Streams) -> int:
    """Read, merge, write. 0 when all is green and whole, else 1; 64 where a file cannot be written.

    The result is not a run of the loop: nothing is remembered.
    """
    from loop_close import app, files
    from loop_close.merge import join
    from loop_close.parts import RejectedError, in_report, read_paths
    from loop_close.prompt.sections import in_short

    wanted = (("prompt", "-o", options.output), ("json", "--json", options.json))
    given = {name: Path(os.path.abspath(path)) for name, _, path in wanted if path}
    for _, option, path in wanted:
        if path:
            check_target(path, option)
    with as_usage_error(RejectedError):
        parts = read_paths(options.paths, [*map(os.path.realpath, given.values())])
    report = join(parts, expected=options.expect)
    targets = project_at()
    prompt, json = given.get("prompt", targets.prompt), given.get("json", targets.json)
    targets = targets._replace(prompt=prompt, json=json)
    with as_usage_error(files.UnusablePathError):
        saved = app.write_report(report, targets, inputs=in_report(parts))
    lacks = report.observation.incomplete
    for line in filter(None, (in_short(saved.report), lacks, *saved.report.notes, *saved.problems)):
        streams.complain(line)
    if saved.problems:
        return USAGE
    return 0 if saved.report.verdict == "green" else 1


def emit(options: argparse.Namespace, streams: Streams) -> int:
    """Read a report, write it in another format. 0 when that is done, whatever the report says."""
    from loop_close.emit import FORMATS, ReportError, document_of, parsed, summary

    with opened(options.report, streams) as file:
        content = file.read().decode("utf-8-sig", "replace")
    try:
        document = document_of(parsed(content), options.prefix)
    except ReportError as error:
        raise UsageError(f"cannot read {options.report}: {error}") from None
    if options.format == "github-summary":
        text = summary(document, _held())
        if not text:
            streams.complain(f"nothing was added: the step summary is full, with {_held():,} bytes")
    else:
        text = FORMATS[options.format](document)
    streams.put(text)
    return 0


def _held() -> int:
    """The bytes of the step summary, to which a shell may append what is printed."""
    try:
        return os.stat(os.environ.get("GITHUB_STEP_SUMMARY", "")).st_size
    except OSError:
        return 0
