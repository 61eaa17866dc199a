"""The end of the session: observation, extensions, report, files, CI output, and the lines for the terminal.

No exception may leave this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from loop_close.files import FAULT, Targets, restore, shows_failing_tests
from loop_close.provenance import GROUP, ci_system, packages, source_of
from loop_close.pytest_plugin.command import notes_of, scope
from loop_close.settings import AUTO, ON

if TYPE_CHECKING:
    from loop_close.app import Begun, SaveResult
    from loop_close.model import Failure, Observation, Warned
    from loop_close.parts import Part
    from loop_close.pytest_plugin.session import Recorder


_PYTEST = ("pytest", "py.test")
_TESTS_FAILED, _INTERNAL_ERROR, _USAGE_ERROR, _NO_TESTS = 1, 3, 4, 5
#: The exit codes of pytest itself (``pytest.ExitCode``; 6: too many warnings).
_OWN_STATUS = range(7)


def unchanged(targets: Targets) -> str:
    """What is said of a run that leaves the prompt of the last one, as it says nothing of the program."""
    return f"loop-close: no test ran; {targets.prompt.name} still shows the last run"


def finish(recorder: Recorder, session: pytest.Session) -> tuple[str, ...]:
    """Write the prompt and the report; the lines for the terminal.

    An internal error costs one line: the raw evidence is written instead, and pytest's exit status stays.
    """
    try:
        if recorder.fault is not None:
            raise recorder.fault
        return _lines(recorder, session)
    except (Exception, KeyboardInterrupt) as fault:  # the tests are over; what is left is to say so
        return _fallback(recorder, session, fault)


def begin(config: pytest.Config, targets: Targets) -> Begun:
    """Give a plain run its place in the history, unless the settings turn the history off."""
    from loop_close.app import Begun

    words = ["pytest", *map(str, config.invocation_params.args)]
    return Begun(targets, words)


def _lines(recorder: Recorder, session: pytest.Session) -> tuple[str, ...]:
    if recorder.begun_file:
        from loop_close.parts import write

        write(Path(recorder.begun_file), part_of(recorder, session))
        return ()
    says_nothing = is_misused(int(session.exitstatus), recorder.failures) or _matches_no_test(session)
    if says_nothing and recorder.begun is not None:
        recorder.begun.abandon()
    if says_nothing and shows_failing_tests(recorder.former, recorder.targets):
        restore(recorder.former)
        return (unchanged(recorder.targets),)
    extended = extensions(recorder.config)
    part = part_of(recorder, session)
    begun = recorder.begun or begin(recorder.config, recorder.targets)  # the session never began
    recorder.saved = begun.conclude([part], scope=part.observation.selection, **extended)
    return summary(recorder.saved, recorder.targets, recorder.config)


def part_of(recorder: Recorder, session: pytest.Session) -> Part:
    """All that the run said, and how pytest was started."""
    from loop_close.parts import Part

    return Part(observation=observe(recorder, session), context=context_of(recorder.config))


def context_of(config: pytest.Config) -> Any:
    """How pytest was started, so that the tests as they were can be run the same way."""
    from loop_close.parts import PytestContext

    args = tuple(str(word) for word in config.invocation_params.args)
    words = tuple(sys.orig_argv[1 : len(sys.orig_argv) - len(args)])
    is_plain = (
        tuple(sys.orig_argv[1:]) == words + args and os.path.basename(words[-1] if words else "") in _PYTEST
    )
    return PytestContext(
        executable=sys.executable,
        args=args,
        words=words if is_plain else (),
        is_optimized=not __debug__,
        pythonpath=os.environ.get("PYTHONPATH", ""),
        cwd=str(config.invocation_params.dir),
        rootdir=str(config.rootpath),
    )


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


def ci_output(targets: Targets, saved: SaveResult | None) -> tuple[list[str], list[str]]:
    """Write for the CI system that runs this, if it is one that we know.

    :param saved: the report; None if there is none.
    :returns: lines that the CI system reads from the log, and what went wrong, in a line each.
    """
    system = ci_system(targets.settings.ci, os.environ)
    if not system or saved is None:
        return [], []
    from loop_close.pytest_plugin.ci import publish

    commands, found = publish(system, targets, saved)
    return commands, problems(found)


def observe(recorder: Recorder, session: pytest.Session) -> Observation:
    """All that the run said, as one record."""
    from loop_close.model import Counts, Observation
    from loop_close.provenance import provenance_of
    from loop_close.pytest_plugin.calls import collect_calls
    from loop_close.pytest_plugin.command import shard_of

    calls, why_no_calls = collect_calls(recorder)
    counts, config = recorder.counts, recorder.config
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
    made = provenance_of(config.rootpath, os.environ)
    number, digest = recorder.collected
    return Observation(
        exit_code=1 if recorder.crashed else int(session.exitstatus),
        source=source_of("pytest", os.environ),
        provenance=replace(made, shard=shard_of(config), collected=number, digest=digest),
        failures=(*recorder.failures, *coverage_failures(config)),
        exit_reason=_exit_reason(recorder, session),
        warnings=tuple(_warnings(recorder)),
        counts=shown,
        incomplete=_incomplete(recorder, session),
        selection=scope(config, recorder.deselected),
        calls=calls,
        asks_for_calls=_asks_for_calls(recorder.targets.settings.suspects),
        outcomes=counts.outcomes,
        why_no_calls=why_no_calls if recorder.failures else "",
        # In an environment of tox or nox it would be another environment that runs.
        rerun="" if made.runner in ("tox", "nox") else "pytest --loop-close-failed",
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
    total = getattr(plugin, "cov_total", None)
    limit = getattr(getattr(plugin, "options", None), "cov_fail_under", None)
    if total is None or limit is None or total >= limit:
        return
    from loop_close.readers.runners import read_coverage

    said = f"Required test coverage of {limit:g}% not reached. Total coverage: {total:.2f}%"
    yield from read_coverage(said, str(config.rootpath)).failures


def _exit_reason(recorder: Recorder, session: pytest.Session) -> str:
    """Which plugins take part in the end of a session whose exit status its tests do not explain; empty if they do."""
    status, config = int(session.exitstatus), recorder.config
    is_explained = recorder.failures or recorder.interrupted or [*coverage_failures(config)]
    if status in _OWN_STATUS and (status != _TESTS_FAILED or is_explained):
        return ""
    hooks = "pytest_sessionfinish", "pytest_terminal_summary", "pytest_runtestloop"
    names = sorted({*_implementers(config, *hooks)})
    return f"{', '.join(names[:3])} took part in the end of the session" if names else ""


def _implementers(config: pytest.Config, *hooks: str) -> Iterator[str]:
    """The plugins that take part in hooks, but for pytest's own and ours."""
    root = str(config.rootpath) + os.sep
    for each in (each for hook in hooks for each in getattr(config.hook, hook).get_hookimpls()):
        module = str(getattr(each.function, "__module__", ""))
        if module.partition(".")[0] not in ("_pytest", "loop_close", "xdist", "pytest_cov"):
            name = each.plugin_name.removeprefix(root)
            yield module if name.isdecimal() else name


def _warnings(recorder: Recorder) -> list[Warned]:
    """The warnings of exceptions that nobody handled."""
    if not recorder.warnings:
        return []
    from loop_close.capture import ProjectCode
    from loop_close.detectors import is_unhandled_exception
    from loop_close.model import Warned

    project = ProjectCode(str(recorder.config.rootpath))
    found = set()
    for category, message, filename, lineno in recorder.warnings:
        if is_unhandled_exception(category, message):
            file = project.relative(filename) or ""
            line = lineno if file else 0
            found.add(Warned(category=category, message=message, file=file, line=line))
    return sorted(found, key=lambda w: (w.file, w.line, w.message))


def summary(saved: SaveResult, targets: Targets, config: pytest.Config) -> tuple[str, ...]:
    """What is wrong, where to read on, and what went wrong with that, as the terminal shows it.

    If the prompt could not be written, a shorter one is printed.
    """
    from loop_close.app import summary_lines
    from loop_close.text import one_line

    path = os.path.relpath(targets.prompt, config.invocation_params.dir)
    lines = (one_line(f"loop-close: {line}", 240) for line in summary_lines(saved, path))
    found = (*saved.report.notes, *notes_of(config), *saved.problems)
    return (*lines, *saved.shown.splitlines(), *problems(found))


def problems(found: Iterable[str]) -> list[str]:
    """What went wrong, in a line each."""
    from loop_close.text import one_line

    return [one_line(f"loop-close: {problem}") for problem in found]


def _fallback(recorder: Recorder, session: pytest.Session, fault: BaseException) -> tuple[str, ...]:
    """Our own fault: the failures as they came, by the simplest means there are."""
    line = _escaped(f"{type(fault).__name__}: {fault}")[1:-1][:300]
    try:
        if not recorder.begun_file:  # a check misses the report, and says so
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


def extensions(config: pytest.Config) -> dict[str, Any]:
    """Detectors and faults for :func:`loop_close.app.conclude`: every plugin is asked once.

    One that fails is named and left out; the others count.
    """
    from loop_close.detectors import DEFAULT_DETECTORS, Detector

    faults = load_packages(config)
    root = str(config.rootpath) + os.sep  # a conftest goes by its path
    known = {detector.id: detector for detector in DEFAULT_DETECTORS}
    for detector in _asked(config.hook.pytest_loop_close_detectors, Detector, root, faults):
        if known.setdefault(detector.id, detector) is not detector:
            faults.append(f"the detector id {detector.id!r} is taken; this one was left out")
    return {"detectors": (*known.values(),), "faults": (*faults,)}


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
    for name, kind in type(item).__annotations__.items():
        if not isinstance(getattr(item, name), _PLAIN_TYPES.get(str(kind), object)):
            raise TypeError(f"{type(item).__name__}.{name} takes {kind}")


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
