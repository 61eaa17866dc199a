"""The end of the session: observation, extensions, report, files, CI output, and the lines for the terminal.

No exception may leave this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields, replace
from time import localtime, strftime  # by name: a test may patch the module
from typing import TYPE_CHECKING, Any

import pytest

from loop_close import files, lazy
from loop_close.files import FAULT, Targets, restore, shows_failing_tests
from loop_close.lazy import dataclass
from loop_close.provenance import GROUP, ci_system, packages, runner_of
from loop_close.pytest_plugin.command import notes_of
from loop_close.settings import AUTO, ON

if TYPE_CHECKING:
    from loop_close.app import SaveResult
    from loop_close.detectors import Detector
    from loop_close.model import Failure, Observation, Warned
    from loop_close.prompt.compose import Section
    from loop_close.pytest_plugin.session import Recorder


_TESTS_FAILED, _INTERNAL_ERROR, _USAGE_ERROR, _NO_TESTS, _TOO_MANY_WARNINGS = 1, 3, 4, 5, 6
#: The exit codes of pytest itself (``pytest.ExitCode``; 6: too many warnings).
_OWN_STATUS = range(7)
# A selection that can be remembered as it is: nothing in it has to be escaped or redacted.
_PLAIN = lazy.pattern(r"(?:(?![A-Za-z0-9]{20})[A-Za-z0-9_./ ,:'-]){0,200}")
#: What is said of a run that leaves the prompt of the last one.
UNCHANGED = "pytest was called wrongly; {} still shows the last run"
NO_MATCH = "no test matches -k or -m; {} still shows the last run"


def finish(recorder: Recorder, session: pytest.Session) -> tuple[str, ...]:
    """Write the prompt and the report; the lines for the terminal.

    An internal error costs one line: the raw evidence is written instead, and pytest's exit status stays.
    """
    try:
        return _lines(recorder, session)
    except KeyboardInterrupt as interrupt:  # the tests are over; what is left is to say so
        return _fallback(recorder, session, interrupt)
    except Exception as fault:
        return _fallback(recorder, session, fault)


def _lines(recorder: Recorder, session: pytest.Session) -> tuple[str, ...]:
    said = UNCHANGED if is_misused(int(session.exitstatus), recorder.failures) else ""
    said = said or (NO_MATCH if _matches_no_test(session) else "")
    if said and shows_failing_tests(recorder.former, recorder.targets):
        return _lines_of_unchanged(recorder, said)
    unloadable = load_packages(recorder.config)
    is_plain = not unloadable and not is_extended(recorder.config) and _is_plain(recorder, session)
    if is_plain and _keep_green(recorder, session):
        return _lines_of_green(recorder)
    return _lines_of_report(recorder, session, unloadable)


def is_misused(exit_code: int, failures: Sequence[Failure]) -> bool:
    """Whether pytest was called wrongly, such as with a file that does not exist: it says nothing of the program."""
    if exit_code != _USAGE_ERROR:
        return False
    from loop_close.facts import is_misuse  # late: a green run does without

    return all(map(is_misuse, failures))


def _matches_no_test(session: pytest.Session) -> bool:
    """Whether no test has the name or the mark that was asked for."""
    is_chosen = any(session.config.getoption(option, "") for option in ("keyword", "markexpr"))
    return is_chosen and int(session.exitstatus) == _NO_TESTS


def _lines_of_unchanged(recorder: Recorder, said: str) -> tuple[str, ...]:
    """Leave the evidence of the last run: the failing tests are still what is to be fixed."""
    restore(recorder.former)
    if recorder.memory is not None:
        recorder.memory.abandon()
    return (f"loop-close: {said.format(recorder.targets.prompt.name)}",)


def _lines_of_report(recorder: Recorder, session: pytest.Session, unloadable: list[str]) -> tuple[str, ...]:
    from loop_close.app import conclude
    from loop_close.remember import RunContext

    observation = observe(recorder, session)
    extended = extensions(recorder.config, unloadable)
    recorder.saved = conclude(
        observation,
        recorder.targets,
        recorder.memory,
        RunContext(outcomes=recorder.counts.outcomes, selection=observation.selection),
        detectors=extended.detectors,
        extra_sections=extended.sections,
        faults=extended.faults,
        passed=_passed(recorder, observation),
        today=strftime("%Y-%m-%d", localtime()),
        is_misuse=observation.exit_code == _USAGE_ERROR,
    )
    return summary(recorder.saved, recorder.targets, recorder.config)


def ci_output(targets: Targets, saved: SaveResult | None, green: str = "") -> tuple[list[str], list[str]]:
    """Write for the CI system that runs this, if it is one that we know.

    :param saved: the report; None for a plain green run, of which ``green`` has the words, or if there is none.
    :returns: lines that the CI system reads from the log, and what went wrong, in a line each.
    """
    system = ci_system(targets.settings.ci, os.environ)
    if not system or not (saved or green):
        return [], []
    from loop_close.pytest_plugin.ci import publish

    commands, found = publish(system, targets, saved, green)
    return commands, problems(tuple(found))


def _passed(recorder: Recorder, observation: Observation) -> Collection[str]:
    """The tests that passed of those that the setting ``known`` names; none for a run of some tests."""
    named = recorder.counts.named_passed
    if not named or observation.incomplete or observation.selection:
        return ()
    return named - {failure.nodeid for failure in observation.failures}


def _is_plain(recorder: Recorder, session: pytest.Session) -> bool:
    """Whether only the numbers of tests have to be reported, and only in the prompt."""
    from loop_close.pytest_plugin.command import selection

    counts = recorder.counts
    has_more = recorder.failures or recorder.warnings or recorder.crashed or recorder.targets.json is not None
    return (
        session.exitstatus == 0
        and not recorder.targets.settings.known
        and (recorder.memory is None or (recorder.memory.is_fresh and not _asks_for_edits(recorder)))
        and not has_more
        and not runner_of(os.environ)[1]  # whose other environments may be at work
        and bool(counts.passed + counts.xfailed + counts.xpassed)
        and not _incomplete(recorder, session)
        and (not (chosen := selection(recorder.config)) or _PLAIN.fullmatch(chosen) is not None)
    )


def _asks_for_edits(recorder: Recorder) -> bool:
    """Whether it is to be found out which edited functions the tests ran."""
    if recorder.memory is None or not recorder.memory.is_edited:
        return False
    from loop_close.pytest_plugin.calls import is_looking

    return is_looking(recorder.config)


def _keep_green(recorder: Recorder, session: pytest.Session) -> bool:
    """Remember the run; False if another run that went on meanwhile has left failures to compare with."""
    counts, memory = recorder.counts, recorder.memory
    if memory is None:
        return True
    from loop_close.pytest_plugin.calls import collect_calls
    from loop_close.pytest_plugin.command import selection

    collect_calls(recorder, session, "")
    return memory.keep_green(counts.passed, counts.skipped, selection(recorder.config))


def _lines_of_green(recorder: Recorder) -> tuple[str, ...]:
    """The result of :func:`_lines` for a plain green run, without loading the modules that find that out."""
    from loop_close.prompt import counts_in_words

    counts = recorder.counts
    said = counts_in_words(
        passed=counts.passed, skipped=counts.skipped, xfailed=counts.xfailed, xpassed=counts.xpassed
    )
    targets = recorder.targets
    lines = [f"{said[0].lower()}{said[1:]}"]
    recorder.green = lines[0]
    try:
        targets.write_prompt(f"# {said}\n")
        files.forget_run(targets.root, recorder.memory.source if recorder.memory is not None else "")
    except files.UnusablePathError as error:
        lines.append(f"not written: {error}")
    except OSError as error:
        lines.append(f"cannot write {targets.prompt.name}: {error.strerror or error}")
    lines += notes_of(recorder.config)
    lines += recorder.memory.notes if recorder.memory is not None else ()
    return tuple(f"loop-close: {line if line.isprintable() else ascii(line)}" for line in lines)


def observe(recorder: Recorder, session: pytest.Session) -> Observation:
    """All that the run said, as one record."""
    from loop_close.detectors.findings import is_dead_worker
    from loop_close.model import Counts, Observation
    from loop_close.provenance import installed, provenance_of
    from loop_close.pytest_plugin.calls import collect_calls
    from loop_close.pytest_plugin.command import rerun_words, root_name, selection, shard_of

    incomplete = _incomplete(recorder, session)
    calls, why_no_calls = collect_calls(recorder, session, incomplete)
    counts, config = recorder.counts, recorder.config
    uncovered = tuple(coverage_failures(config))
    words, takes_ids = rerun_words(
        config,
        is_worker_dead=any(map(is_dead_worker, recorder.failures)),
        is_uncovered=bool(uncovered) and not recorder.failures,
    )
    shown = Counts(
        passed=counts.passed,
        failed=counts.failures,
        failed_subtests=counts.failed_subtests,
        errors=counts.errors,
        skipped=counts.skipped,
        xfailed=counts.xfailed,
        xpassed=counts.xpassed,
        collected=session.testscollected,
        not_run=max(0, session.testscollected - counts.done()),
    )
    made = provenance_of(config.rootpath, os.environ, shard=shard_of(config), collected=recorder.collected)
    has_others = recorder.memory is not None and recorder.memory.has_others
    is_of_several = bool(recorder.collected[1]) or has_others or recorder.targets.json is not None
    return Observation(
        exit_code=1 if recorder.crashed else int(session.exitstatus),
        source=recorder.memory.source if recorder.memory is not None else "pytest",
        provenance=replace(made, packages=installed(sys.path)) if is_of_several else made,
        failures=(*recorder.failures, *uncovered),
        exit_reason=_exit_reason(recorder, session),
        warnings=tuple(_warnings(recorder)),
        counts=shown,
        incomplete=incomplete,
        selection=selection(config),
        rerun=words,
        failed_option="--loop-close-failed",
        takes_ids=takes_ids and recorder.takes_ids,
        root=root_name(config),
        calls=calls if recorder.failures or is_of_several else None,
        asks_for_calls=_asks_for_calls(recorder.targets.settings.suspects),
        tests=tuple(recorder.chosen or [item.nodeid for item in session.items]) if is_of_several else (),
        spared=tuple(sorted(counts.spared)) if is_of_several else (),
        why_no_calls=why_no_calls if recorder.failures else "",
    )


def _asks_for_calls(setting: str) -> bool:
    """Whether missing calls have to be reported: ``auto`` is ``on`` if Python can record them."""
    return setting == ON or (setting == AUTO and hasattr(sys, "monitoring"))


def _incomplete(recorder: Recorder, session: pytest.Session) -> str:
    # -x at the last test leaves nothing out; while files are collected it leaves out those that come after.
    left = recorder.counts.done() < session.testscollected or not session.testscollected
    stopped = recorder.interrupted or (str(session.shouldfail or session.shouldstop or "") if left else "")
    return stopped or ("an internal error ended it" if session.exitstatus == _INTERNAL_ERROR else "")


def coverage_failures(config: pytest.Config) -> Iterator[Failure]:
    """A total below the limit, by pytest-cov, which prints it only on the terminal."""
    plugin = config.pluginmanager.get_plugin("_cov")
    total, limit = (
        getattr(plugin, "cov_total", None),
        getattr(getattr(plugin, "options", None), "cov_fail_under", None),
    )
    if not isinstance(total, int | float) or not isinstance(limit, int | float) or total >= limit:
        return
    from loop_close.readers.runners import read_coverage

    report = getattr(plugin, "cov_report", None)
    table = report.getvalue() if report is not None else ""
    said = f"Required test coverage of {limit:g}% not reached. Total coverage: {total:.2f}%"
    yield from read_coverage(f"{table}\n{said}\n", str(config.rootpath)).failures


def _exit_reason(recorder: Recorder, session: pytest.Session) -> str:
    """Which plugin gave the session an exit status that its tests do not explain; empty if they do."""
    status, config = int(session.exitstatus), recorder.config
    hook = recorder.exit_hook
    if not hook and not recorder.interrupted and not (status in _OWN_STATUS and status != _TESTS_FAILED):
        is_explained = recorder.failures or [*coverage_failures(config)]
        hook = "pytest_runtestloop" if status != _TESTS_FAILED or not is_explained else ""
    if not hook or (status == _TOO_MANY_WARNINGS and config.getoption("max_warnings", None) is not None):
        return ""
    names = sorted({*_implementers(config, hook)})
    return f"{' or '.join(names[:3])} set it to {status} ({hook})" if names else ""


def _implementers(config: pytest.Config, hook: str) -> Iterator[str]:
    """The plugins that take part in a hook, but for pytest's own and ours."""
    root = str(config.rootpath) + os.sep
    for each in getattr(config.hook, hook).get_hookimpls():
        module = str(getattr(each.function, "__module__", ""))
        if module.partition(".")[0] not in ("_pytest", "loop_close"):
            name = each.plugin_name.removeprefix(root)
            yield module if name.isdecimal() else name


def _warnings(recorder: Recorder) -> list[Warned]:
    if not recorder.warnings:
        return []
    from loop_close.detectors.findings import is_unhandled_exception

    kept = [warned for warned in recorder.warnings if is_unhandled_exception(warned[0], warned[1])]
    return _warned(kept, str(recorder.config.rootpath)) if kept else []


def _warned(warnings: list[tuple[str, str, str, int, str]], root: str) -> list[Warned]:
    from loop_close.capture import ProjectCode
    from loop_close.model import Warned

    project = ProjectCode(root)
    found = set()
    for category, message, filename, lineno, nodeid in warnings:
        file = project.relative(filename) or ""
        line = lineno if file else 0
        found.add(Warned(category=category, message=message, nodeid=nodeid, file=file, line=line))
    return sorted(found, key=lambda w: (w.file, w.line, w.nodeid, w.message))


def summary(saved: SaveResult, targets: Targets, config: pytest.Config) -> tuple[str, ...]:
    """What is wrong, where to read on, and what went wrong with that, as the terminal shows it.

    If the prompt could not be written, a shorter one is printed.
    """
    from loop_close.app import summary_lines
    from loop_close.text import one_line

    path = os.path.relpath(targets.prompt, config.invocation_params.dir)
    lines = (one_line(f"loop-close: {line}", 240) for line in summary_lines(saved, path))
    found = (*saved.own.notes, *notes_of(config), *saved.problems)
    return (*lines, *saved.short_lines, *problems(found, in_one=bool(saved.short)))


def problems(found: tuple[str, ...], *, in_one: bool = False) -> list[str]:
    """What went wrong, in a line each, or all in one."""
    from loop_close.text import one_line

    if in_one and found:
        return [one_line(f"loop-close: {'; '.join(found)}", 500)]
    return [one_line(f"loop-close: {problem}") for problem in found]


def _fallback(recorder: Recorder, session: pytest.Session, fault: BaseException) -> tuple[str, ...]:
    """Our own fault: the failures as they came, by the simplest means there are."""
    line = _escaped(f"{type(fault).__name__}: {fault}")[1:-1][:300]
    try:
        rows = raw_evidence(recorder.failures, int(session.exitstatus), line)
        recorder.targets.write_prompt("".join(rows))
    except Exception as second:
        line += f"; the raw evidence could not be written either ({type(second).__name__})"
    return (f"loop-close: internal error of loop-close: {line}; pytest's result is not affected",)


def raw_evidence(failures: list[Any], exit_code: int, fault: str) -> list[str]:
    """The failures as plain indented text, escaped so that nothing in them is markdown or a control."""
    rows = [f"{FAULT} (exit {exit_code})\n\nThe fault: {fault}\n\n{len(failures)} failures, as they came:\n"]
    for failure in failures[:500]:
        words = _escaped(failure.message)[:2000]
        rows.append(f"\n    {_escaped(failure.nodeid)} ({failure.phase})\n    {words}\n")
    return rows


def _escaped(text: str) -> str:
    """A Python literal of the text without credentials; without the text if that fails."""
    try:
        from loop_close.text.redact import redact

        return ascii(redact(text))
    except Exception as fault:
        return f"'({len(text)} characters, held back: {type(fault).__name__} while looking for credentials)'"


# --- what conftests and installed packages add: detectors and sections

_PLAIN_TYPES: dict[str, type] = {"str": str, "int": int, "bool": bool}


@dataclass(frozen=True, slots=True)
class Extensions:
    """Everything to run with, and what went wrong while asking for it."""

    detectors: tuple[Detector, ...]
    sections: tuple[Section, ...]
    faults: tuple[str, ...]


def extensions(config: pytest.Config, unloadable: Sequence[str] = ()) -> Extensions:
    """Ask every plugin once. One that fails is named and left out; the others count.

    :param unloadable: what went wrong with packages that could not be loaded, a line each.
    """
    from loop_close.detectors import DEFAULT_DETECTORS, Detector
    from loop_close.prompt.compose import Section

    faults = list(unloadable)
    hook = config.hook
    root = str(config.rootpath) + os.sep  # a conftest goes by its path
    detectors = _asked(hook.pytest_loop_close_detectors, Detector, root, faults)
    sections = _asked(hook.pytest_loop_close_sections, Section, root, faults)
    own = _unique(detectors, {detector.id for detector in DEFAULT_DETECTORS}, faults)
    return Extensions((*DEFAULT_DETECTORS, *own), tuple(sections), tuple(faults))


def _asked(hook: Any, kind: type, root: str, faults: list[str]) -> list[Any]:
    """What every implementation of a hook gives, one after the other, so that one fault costs only itself."""
    found: list[Any] = []
    for implementation in hook.get_hookimpls():
        try:
            for item in implementation.function() or ():
                if not isinstance(item, kind):
                    raise TypeError(f"gave {type(item).__name__}, not loop_close.{kind.__name__}")
                _check_fields(item)
                found.append(item)
        except (Exception, SystemExit) as fault:
            plugin = implementation.plugin_name.removeprefix(root)
            faults.append(f"{hook.name} of {plugin}: {type(fault).__name__}: {fault}")
    return found


def _check_fields(item: Any) -> None:
    """Refuse a record whose fields are not of the types they say: it would fail later, at another place."""
    for field in fields(item):
        if not isinstance(getattr(item, field.name), _PLAIN_TYPES.get(str(field.type), object)):
            raise TypeError(f"{type(item).__name__}.{field.name} takes {field.type}")


def _unique(detectors: list[Detector], taken: set[str], faults: list[str]) -> list[Detector]:
    """Refuse an id that is taken: two detectors of one name could not be distinguished."""
    kept = []
    for detector in detectors:
        if detector.id in taken:
            faults.append(f"the detector id {detector.id!r} is taken; this one was left out")
        else:
            kept.append(detector)
        taken.add(detector.id)
    return kept


# --- which installed packages and conftests add to loop-close, as pytest's plugins


def load_packages(config: pytest.Config) -> list[str]:
    """Register the entry points of the group ``loop_close``, as pytest does for its own; each for itself.

    :returns: what could not be loaded, in a line each.
    """
    manager = config.pluginmanager
    faults = []
    for package in packages(lambda name: manager.has_plugin(name) or manager.is_blocked(name)):
        try:
            manager.register(package.load(), package.name)
        except (Exception, SystemExit) as fault:
            faults.append(f"{GROUP} entry point {package.name!r}: {type(fault).__name__}: {fault}")
    return faults


def is_extended(config: pytest.Config) -> bool:
    """Whether any plugin has detectors or sections to give."""
    hook = config.hook
    hooks = (hook.pytest_loop_close_detectors, hook.pytest_loop_close_sections)
    return any(caller.get_hookimpls() for caller in hooks)
