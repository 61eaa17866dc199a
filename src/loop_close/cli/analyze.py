"""``loop-close analyze`` and ``merge``: read logs and reports of any size, and write a prompt of them."""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TextIO

from loop_close import lazy
from loop_close.cli import USAGE, Streams, UsageError, columns_of, read_input
from loop_close.cli.project import root_in, targets_of
from loop_close.log_files import MAX_TEXT, Tail, chunks, to_tail
from loop_close.memory import MERGED
from loop_close.merge import Merged, joined
from loop_close.parts import Part, RejectedError, merged_document, part_of_junit, parts_of

if TYPE_CHECKING:
    from loop_close.files import Targets
    from loop_close.model import Observation, Report


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

    progress = ReadProgress(streams.errors)
    texts = [log_of(name, streams.input, progress) for name in names]
    observation = observe_texts(texts, options.exit_code, root=root_in(texts))
    if options.exit_code is None and not any(text.strip() for text in texts):
        # An empty log is not a success: the other stream may have been forgotten. No log at all is no news.
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


def _target(path: str | None, option: str = "-o") -> Path | None:
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
    is_watched = streams.errors.isatty()
    written = _written(target, streams)
    number = sum(1 for _ in _logs_in(options.files, written)) if is_watched else 0
    results = map_in_processes(
        partial(summary_of_files, root=os.getcwd()),
        _logs_in(options.files, written),
        lost=lambda file: unread_log(file[1], _DIED),
        jobs=options.jobs or usable_cpus(),
        size=_CHUNK,
    )
    with closing(results), Bar(streams.errors, number, "files") as bar:
        try:
            for result in results:
                total = combine_summaries(total, result)
                bar.show(total.files, f", {total.red:,} red, {len(total.causes):,} root causes")
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


# --- ``loop-close merge`` and ``emit``: JSON reports to one next prompt, or to the formats of CI systems

#: So many files of a folder are read.
_MOST_FILES = 10_000
_SHORT = 9  # digits of a commit
#: How reports of coverage.py begin: its XML is that of Cobertura, its JSON is also the state of its HTML pages.
_COVERAGE = lazy.pattern(
    r"(?s)(?:<\?xml[^>]{,99}\?>)?\s*(?:<!--.{,999}?-->\s*|<!DOCTYPE[^>]{,299}>\s*)*<coverage\s"
    r'|\s*\{\s*"meta":\s*\{\s*(?:"format":\s*\d+,\s*)?"version":\s*"[^"]*",\s*"timestamp":'
    r'|\{"note":"This file is an internal implementation detail to speed up HTML'
)
#: No report is larger, in bytes.
_MOST_BYTES = 200_000_000


def merge(options: argparse.Namespace, streams: Streams) -> int:
    """Read, merge, write. 0 when all is green and whole, else 1; 64 where a file cannot be written."""
    from loop_close.provenance import provenance_of

    for option, path in (("-o", options.output), ("--json", options.json)):
        _target(path, option)
    gc.disable()  # the process is over before there is anything to collect
    parts: list[Part] = []
    written = [os.path.realpath(path) for path in (options.output, options.json) if path]
    paths, rejected = _reports_in(options.paths, written)
    for path in paths:
        try:
            more, unread = _parts(path)
        except RejectedError as error:
            more, unread = [], [(str(path), str(error))]
        except OSError as error:
            more, unread = [], [(str(path), error.strerror or str(error))]
        parts += more
        rejected += unread
    here = provenance_of(Path.cwd(), os.environ)
    merged = joined(parts, rejected, here, options.expect, os.path.exists)
    for name, why in merged.rejected:
        streams.complain(f"{name} was not read: {why}")
    return _write(merged, options, streams, _of_other_commit(merged.report, here.commit))


def _of_other_commit(report: Report, here: str) -> tuple[str, ...]:
    """A line where the reports are of another commit than the files: places are shown as the files are."""
    seen = [each.observation for each in report.sources] or [report.observation]
    commits = {each.provenance.commit for each in seen} - {""}
    if not here or not commits or here in commits:
        return ()
    return (f"the reports are of commit {min(commits)[:_SHORT]}, the files here of {here[:_SHORT]}",)


def _reports_in(paths: list[str], written: list[str]) -> tuple[list[Path], list[tuple[str, str]]]:
    """The files, and of folders all JSON and XML files below them, sorted; and paths where there is none, with why.

    :param written: what this command writes: in a folder it is the result of an earlier merge.
    :raises UsageError: where none of the paths holds a report.
    """
    reports: list[Path] = []
    missing: list[tuple[str, str]] = []
    for name in paths:
        path = Path(name)
        if not path.exists():
            missing.append((name, "it does not exist"))
        if not path.is_dir():
            reports += [path] if path.exists() else []
            continue
        found = [
            Path(folder, file)
            for folder, _, files in os.walk(path)
            for file in files
            if file.endswith((".json", ".xml"))
            and not (written and os.path.realpath(Path(folder, file)) in written)
            and not _is_of_no_tests(Path(folder, file))
        ]
        if not found:
            missing.append((name, "it holds no JSON report and no JUnit XML"))
        reports += sorted(found)[:_MOST_FILES]
    if not reports:
        raise UsageError("; ".join(f"{name}: {why}" for name, why in missing))
    return reports, missing


def _is_of_no_tests(path: Path) -> bool:
    """Whether ``emit`` wrote it, which says in another format what a report says, or it is of coverage.py."""
    from loop_close import files
    from loop_close.emit import BEGINNINGS

    with contextlib.suppress(OSError):
        if not path.is_file() or path.stat().st_size == 0:
            return False
        begin = files.beginning(path)
        return begin.startswith(BEGINNINGS) or not begin.strip() or _COVERAGE.match(begin) is not None
    return False


def _parts(path: Path) -> tuple[list[Part], list[tuple[str, str]]]:
    size = path.stat().st_size
    if not path.is_file():  # a pipe would wait for a writer
        raise RejectedError("it is not a regular file")
    if size > _MOST_BYTES:
        raise RejectedError(f"it is larger than {_MOST_BYTES:,} bytes")
    if path.suffix == ".xml":
        return [_junit(path)], []
    parts, rejected = parts_of(str(path), path.read_text(encoding="utf-8-sig", errors="replace"))
    written = path.stat().st_mtime
    return [part._replace(written=written) for part in parts], rejected


def _junit(path: Path) -> Part:
    from loop_close.readers.junit_xml import merge_junit, read_junit
    from loop_close.readers.streams import observe_texts, with_junit

    with path.open("rb") as file:
        junit = merge_junit([read_junit(str(path), chunks(file), os.getcwd())])
    if junit.problems:
        raise RejectedError("; ".join(junit.problems))
    nothing = replace(
        observe_texts([], None, root=os.getcwd()), is_good_news=True
    )  # a report says itself how it ended
    part = part_of_junit(str(path), with_junit(nothing, junit), junit, os.getcwd())
    return part._replace(written=path.stat().st_mtime)


# In the name of a report, what is another one in each run of a CI system.
_OF_RUN = lazy.pattern(r"(?i)\W?(?:run|build|job|attempt)\W?\d+|\d{5,}|\b[0-9a-f]{7,40}\b")


def _write(merged: Merged, options: argparse.Namespace, streams: Streams, notes: tuple[str, ...] = ()) -> int:
    from loop_close import app, files
    from loop_close.prompt.sections import in_short
    from loop_close.remember import RunContext, begin

    targets = targets_of(Path.cwd())
    if options.output:
        targets = targets._replace(prompt=Path(os.path.abspath(options.output)))
    if options.json:
        targets = targets._replace(json=Path(os.path.abspath(options.json)))
    report = _as_recorded(merged, targets)
    if report is None:
        memory = begin(targets, MERGED, sees_files=False)  # the reports' files may be others
        names = {each.source for each in merged.report.sources} or {merged.report.observation.source}
        parts = sorted({_OF_RUN.sub("", name).replace(" ", "") for name in names})
        context = RunContext(tells_outcomes=False, selection=" ".join([MERGED, *parts]), code=merged.digest)
        report = memory.record_run(merged.report, targets.settings, context)
    report = replace(report, notes=(*report.notes, *notes))
    try:
        saved = app.save(report, targets, inputs=merged_document(merged.parts, merged.unread))
    except files.UnusablePathError as error:
        raise UsageError(str(error)) from None
    for line in (in_short(saved.report), *report.notes, *saved.problems):
        streams.complain(line)
    if saved.problems:
        return USAGE
    return 0 if saved.report.verdict == "green" else 1


def _as_recorded(merged: Merged, targets: Targets) -> Report | None:
    """The report, where the last merged run was of the same inputs: it is that run, and no attempt. Else None."""
    from loop_close.cli.history import recorded_in
    from loop_close.memory import Episode
    from loop_close.progress.advance import report_with_progress
    from loop_close.remember import limits_of

    if targets.history is None:
        return None
    try:
        runs = [each.run for each in recorded_in(targets.history, MERGED)]
    except (
        UsageError
    ):  # there is no such run, or the history cannot be read, which is said when it is written
        return None
    if not runs or runs[-1].code != merged.digest:
        return None
    return report_with_progress(merged.report, Episode(), runs, limits_of(targets.settings))[0]


def emit(options: argparse.Namespace, streams: Streams) -> int:
    """Read a report, write it in another format. 0 when that is done, whatever the report says."""
    from loop_close import files
    from loop_close.emit import BEGINNINGS, emitted
    from loop_close.emit.report import ReportError, checked, parsed

    text = read_input(options.report, _MOST_BYTES, streams).decode("utf-8-sig", "replace")
    try:
        plain = parsed(text)
        document = checked(plain, options.prefix)
    except ReportError as error:
        raise UsageError(f"cannot read {options.report}: {error}") from None
    history = _runs_before(plain, document) if options.format == "github-summary" else []
    if options.output is None or options.output == "-":
        text = emitted(options.format, document, _held(), history)
        if isinstance(streams.output, io.TextIOWrapper):
            streams.output.reconfigure(encoding="utf-8")  # as each of the formats is, whatever the locale
        if not text and options.format == "github-summary":
            streams.complain(f"nothing was added: the step summary is full, with {_held():,} bytes")
        streams.put(text)
        return 0
    target = Path(options.output)
    try:
        files.check_writable(target, lambda path: files.begins_with(path, BEGINNINGS))
        files.write(target, [emitted(options.format, document, history=history)])
    except files.UnusablePathError as error:
        raise UsageError(f"-o: {error}") from None
    except OSError as error:
        raise UsageError(f"-o: cannot write {target}: {error.strerror or error}") from None
    return 0


def _runs_before(plain: Mapping[str, Any], document: Mapping[str, Any]) -> list[str]:
    """Lines on the runs before, if the last run of the project here is that of the report."""
    from loop_close.cli.project import project_at
    from loop_close.cli.recorded import read
    from loop_close.page import lines_of_runs

    progress = plain.get("progress")
    number = progress.get("run") if isinstance(progress, Mapping) else None
    failed = [test for cause in document["root_causes"] for test in cause["tests"]]
    if type(number) is not int:
        return []
    try:
        project = project_at(Path.cwd())
        return lines_of_runs(project.history, project.root, document["source"], (number, failed), read)
    except UsageError:  # no history is here, or none that can be read
        return []


def _held() -> int:
    """The bytes of the step summary, to which a shell may append what is printed."""
    try:
        return os.stat(os.environ.get("GITHUB_STEP_SUMMARY", "")).st_size
    except OSError:
        return 0


# --- logs as they are read: their chunks, their end, and a bar that shows how far it is


def log_of(name: str, standard_input: BinaryIO, progress: ReadProgress) -> str:
    """The end of a log.

    :param name: path of a file, ``-`` for the standard input.
    :raises UsageError: for a file that cannot be read.
    """
    try:
        if name == "-":
            return _read_log(standard_input, Tail(), progress)
        with open(name, "rb") as file:
            return _read_log(file, Tail(mark=to_tail(file)), progress)
    except OSError as error:
        raise UsageError(
            f"cannot read {name}: {error.strerror or error}; give the path of a log, or -"
        ) from None


def _read_log(stream: BinaryIO, tail: Tail, progress: ReadProgress) -> str:
    for chunk in progress.of(chunks(stream), "read"):
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


# --- tell how far long work has come, on standard error if that is a terminal

_FIRST = 1.0
_NEXT = 0.2
_WIDTH = 24
_COLUMNS = 80


class ReadProgress:
    """A line that shows how many bytes were read, and is removed afterwards.

    :param stream: standard error; nothing is shown where that is not a terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream if stream.isatty() else None

    def of(self, chunks: Iterable[bytes], what: str) -> Iterator[bytes]:
        """The chunks, with the number of their bytes shown."""
        if self._stream is None:
            yield from chunks
            return
        size, due, shown = 0, time.monotonic() + _FIRST, False
        try:
            for chunk in chunks:
                size += len(chunk)
                if time.monotonic() >= due:
                    self._stream.write(f"\r\x1b[Kloop-close: {what} {size / 1e6:,.0f} MB")
                    self._stream.flush()
                    due, shown = time.monotonic() + _NEXT, True
                yield chunk
        finally:
            if shown:
                self._stream.write("\r\x1b[K")
                self._stream.flush()


class Bar:
    """A progress bar in one line that is written over itself; shown at once, and gone at the end of the ``with``.

    :param stream: standard error; nothing is shown where that is not a terminal.
    :param total: how much there is to do, as far as is known.
    :param what: what is counted, such as ``files``.
    """

    def __init__(self, stream: TextIO, total: int, what: str) -> None:
        self._stream = stream if stream.isatty() else None
        self._total, self._what = total, what
        self._begun = self._due = time.monotonic()

    def __enter__(self) -> Self:
        self.show(0)
        return self

    def __exit__(self, *raised: object) -> None:
        self._write("")

    def show(self, done: int, note: str = "") -> None:
        """Show how much is done, and a few words on it."""
        now = time.monotonic()
        if self._stream is None or now < self._due:
            return
        self._due = now + _NEXT
        total = max(done, self._total)
        share = done / total if total else 0.0
        bar = f"[{'#' * int(_WIDTH * share):{_WIDTH}}]"
        rest = (now - self._begun) / share * (1 - share) if share else 0.0
        left = f", {_duration(rest)} left" if done and now - self._begun >= _FIRST else ""
        self._write(f"loop-close: {bar} {done:,} of {total:,} {self._what}{note}{left}")

    def _write(self, text: str) -> None:
        if self._stream is not None:
            with contextlib.suppress(OSError):  # a closed terminal must not end the work
                self._stream.write(f"\r\x1b[K{text[: (columns_of(self._stream) or _COLUMNS) - 1]}")
                self._stream.flush()


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if seconds >= 90 else f"{seconds:.0f} s"
