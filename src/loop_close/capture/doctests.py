"""Failures of doctests: there the traceback is of doctest itself, and the example says what was wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from loop_close.capture.project import Project
from loop_close.capture.sources import source_between
from loop_close.model import Frame, Raised, Site

_AROUND = 3


def describe_doctest(
    exc: BaseException, project: Project, describe: Callable[[BaseException], Raised]
) -> Raised | None:
    """The failing example(s) of a doctest; None when ``exc`` is no doctest failure.

    :param describe: reads an ordinary exception (an example may raise one).
    """
    failures = getattr(exc, "failures", None) if type(exc).__name__ == "MultipleDoctestFailures" else [exc]
    if not failures or not all(_is_doctest_failure(f) for f in failures):
        return None
    members = tuple(_example(f, project, describe) for f in failures)
    if len(members) == 1:
        return members[0]
    return replace(members[0], type="MultipleDoctestFailures", members=members)


def _is_doctest_failure(exc: Any) -> bool:
    return type(exc).__name__ in ("DocTestFailure", "UnexpectedException") and hasattr(exc, "example")


def _example(exc: Any, project: Project, describe: Callable[[BaseException], Raised]) -> Raised:
    frame = _frame(exc, project)
    site = Site(frame=frame, statement=str(exc.example.source).strip()) if frame else None
    frames = (frame,) if frame else ()
    if type(exc).__name__ == "UnexpectedException":
        inner = describe(exc.exc_info[1])
        return inner if inner.frames else replace(inner, frames=frames, site=site)
    message = f"{exc.example.source}Expected:\n{_indent(exc.example.want)}\nGot:\n{_indent(exc.got)}"
    return Raised(type="DocTestFailure", module="doctest", message=message, frames=frames, site=site)


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in str(text).splitlines()) or "    (nothing)"


def _frame(exc: Any, project: Project) -> Frame | None:
    test, filename = exc.test, exc.test.filename
    file = project.relative(filename) if isinstance(filename, str) else None
    if file is None:
        return None
    line = (test.lineno or 0) + exc.example.lineno + 1
    source = source_between(filename, max(1, line - _AROUND), line + _AROUND, line)
    return Frame(file=file, line=line, function=str(test.name), is_test=True, source=source)
