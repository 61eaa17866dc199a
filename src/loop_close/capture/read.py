"""Read any exception that pytest hands out: its own wrappers are looked through."""

from __future__ import annotations

from collections.abc import Collection

from loop_close.capture.differences import Comparisons
from loop_close.capture.doctests import describe_doctest
from loop_close.capture.exceptions import describe
from loop_close.capture.project import Project
from loop_close.model import Raised


def describe_any(
    exc: BaseException,
    project: Project,
    fixtures: Collection[str] = (),
    comparisons: Comparisons | None = None,
) -> Raised:
    """The exception behind pytest's ``CollectError`` and ``ConftestImportFailure``, or of a doctest's example."""
    inner = unwrapped(exc)
    found = describe_doctest(inner, project, lambda e: describe(e, project))
    return found or describe(inner, project, fixtures, comparisons)


def unwrapped(exc: BaseException) -> BaseException:
    """The error that pytest wrapped while it imported a test module or a conftest."""
    name = type(exc).__name__
    if name == "CollectError" and exc.__cause__ is not None:
        # Two test modules of one name, or pytest.skip for a whole module: there pytest's words are the explanation.
        is_explained = type(exc.__cause__).__name__ in ("ImportPathMismatchError", "Skipped")
        return exc if is_explained else exc.__cause__
    if name == "ConftestImportFailure":
        given = getattr(exc, "cause", None)  # new in pytest 8.1
        cause = given if isinstance(given, BaseException) else exc.__cause__
        return exc if cause is None else cause
    return exc
