"""A pytest plugin that sees what a fault does: the functions on tracebacks, the tests that fail, the lines that run.

It stands between no tool and the tests: only the choice of faults uses it. ``LOCALIZE_WITNESS`` names the file to
write; with ``LOCALIZE_LINES`` set it notes every line of the current folder's files that runs (Python 3.12), and which
of them before the first test. ``sorts`` are those of what was raised; see :func:`_sort`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

_ROOT = os.getcwd() + os.sep
_TOOL = 3
_ARGUMENTS = re.compile(r"\(\) (got (an unexpected keyword|multiple values)|takes |missing \d)")
_monitoring: Any = vars(sys).get("monitoring")
_lines: dict[str, set[int]] = defaultdict(set)
_at_import: dict[str, list[int]] = {}
_failed: dict[str, set[str]] = defaultdict(set)
_shown: set[tuple[str, int, str]] = set()


def pytest_configure() -> None:
    """Note lines, where that is asked for."""
    if os.environ.get("LOCALIZE_LINES"):
        _monitoring.use_tool_id(_TOOL, "localize")
        _monitoring.register_callback(_TOOL, _monitoring.events.LINE, _line)
        _monitoring.set_events(_TOOL, _monitoring.events.LINE)


def _line(code: CodeType, line: int) -> Any:
    if code.co_filename.startswith(_ROOT):
        _lines[code.co_filename[len(_ROOT) :]].add(line)
    return _monitoring.DISABLE


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """What ran until now ran while modules were imported."""
    _at_import.update((file, sorted(lines)) for file, lines in _lines.items())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """Tests, their setup and teardown."""
    report = yield
    if report.failed and call.excinfo is not None:
        _note(report.nodeid, call.excinfo.value)
    return report


def pytest_exception_interact(call: pytest.CallInfo[Any], report: Any) -> None:
    """Modules that cannot be collected, and subtests."""
    if report.failed and call.excinfo is not None:
        _note(report.nodeid, call.excinfo.value)


def _note(nodeid: str, error: BaseException) -> None:
    _failed[nodeid].add(_sort(error))
    for link in _chain(error):
        step = link.__traceback__
        while step is not None:
            code = step.tb_frame.f_code
            if code.co_filename.startswith(_ROOT):
                _shown.add((code.co_filename[len(_ROOT) :], code.co_firstlineno, code.co_name))
            step = step.tb_next


def _sort(error: BaseException) -> str:
    """``name`` or ``arguments`` for what is raised where code and the code that it uses do not fit; else empty."""
    if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        error = error.__cause__
    if type(error) is NameError or isinstance(error, ImportError):
        return "name"
    return "arguments" if isinstance(error, TypeError) and _ARGUMENTS.search(str(error)) else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, what it was raised from or in the handling of, and the members of groups; each once."""
    waiting, seen = [error], set()
    while waiting:
        link = waiting.pop()
        if id(link) not in seen:
            seen.add(id(link))
            yield link
            before = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
            waiting += [before] if before is not None else []
            waiting += link.exceptions if isinstance(link, BaseExceptionGroup) else []


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Write what was seen."""
    found = {
        "failed": sorted(_failed),
        "sorts": sorted(set().union(*_failed.values())),
        "shown": sorted(_shown),
        "lines": {file: sorted(lines) for file, lines in _lines.items()},
        "at_import": _at_import,
    }
    Path(os.environ["LOCALIZE_WITNESS"]).write_text(json.dumps(found), encoding="utf-8")
