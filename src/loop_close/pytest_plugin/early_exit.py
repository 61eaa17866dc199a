"""Errors before the session: a conftest that cannot be imported, an unknown option, a broken plugin."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from loop_close.model import Failure, Phase


_INTERRUPTED, _INTERNAL_ERROR, _USAGE_ERROR = 2, 3, 4


class EarlyExitReporter:
    """Writes the prompt when pytest ends before :class:`~loop_close.pytest_plugin.session.Recorder` is registered."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._error: BaseException | None = None
        config.add_cleanup(self._report_early_exit)

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._error = excinfo.value

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._error = excinfo.value

    def _report_early_exit(self) -> None:
        # A usage error reaches no hook; pytest cleans up while it is being raised.
        error = self._error or sys.exc_info()[1]
        is_worker = hasattr(self._config, "workerinput")
        if is_worker or self._config.pluginmanager.has_plugin("loop-close-recorder"):
            return
        if isinstance(error, Exception) and not str(error).startswith("loop-close: "):
            report(self._config, error)


def report(config: pytest.Config, error: Exception) -> None:
    """Write the prompt for an error that pytest is about to end with; never raises."""
    try:
        _report(config, error)
    except Exception as fault:
        with contextlib.suppress(Exception):
            from loop_close.text import fault_text, one_line

            sys.stderr.write(f"loop-close: cannot write the prompt: {one_line(fault_text(fault))}\n")


def _report(config: pytest.Config, error: Exception) -> None:
    from loop_close.files import shows_failing_tests
    from loop_close.model import Counts, Observation
    from loop_close.parts import Part, write
    from loop_close.provenance import source_of
    from loop_close.pytest_plugin import BEGUN
    from loop_close.pytest_plugin.command import targets_of
    from loop_close.pytest_plugin.finish import (
        begin,
        ci_output,
        context_of,
        summary,
        unchanged,
    )

    config.option = config.known_args_namespace
    is_exit = isinstance(error, pytest.exit.Exception)
    observation = Observation(
        exit_code=_exit_code(error),
        source=source_of("pytest", os.environ),
        failures=() if is_exit else (_failure(config, error),),
        counts=Counts(errors=0 if is_exit else 1),
        incomplete=f"pytest.exit: {error}" if is_exit else "pytest ended before it collected any test",
    )
    part = Part(observation=observation, context=context_of(config))
    if stem := config.stash.get(BEGUN, ""):
        write(Path(stem), part)
        return
    targets = targets_of(config)
    is_misuse = isinstance(error, pytest.UsageError)
    if is_misuse and shows_failing_tests(targets.contents(), targets):
        _say([unchanged(targets)])
        return
    begun = begin(config, targets)
    if is_misuse or is_exit:
        begun.abandon()
    saved = begun.conclude([part])
    commands, found = ci_output(targets, saved)
    _say((*summary(saved, targets, config), *found, *commands))


def _say(lines: Iterable[str]) -> None:
    sys.stderr.write("".join(f"{line}\n" for line in lines))


def _failure(config: pytest.Config, error: Exception) -> Failure:
    from loop_close.capture import ProjectCode
    from loop_close.capture.exceptions import describe
    from loop_close.model import Failure

    raised = describe(error, ProjectCode(str(config.rootpath)))
    phase: Phase = "session" if _exit_code(error) == _INTERNAL_ERROR else "collect"
    return Failure(nodeid="", phase=phase, message=raised.message, raised=raised)


def _exit_code(error: Exception) -> int:
    """What pytest is going to exit with, by the kind of error (``_pytest.config.main``, ``wrap_session``)."""
    if isinstance(error, pytest.exit.Exception):
        return _INTERRUPTED if error.returncode is None else int(error.returncode)
    is_usage = isinstance(error, pytest.UsageError) or type(error).__name__ == "ConftestImportFailure"
    return _USAGE_ERROR if is_usage else _INTERNAL_ERROR
