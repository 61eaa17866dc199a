"""Remember exceptions between the hook that sees them and the hook that knows whether they count."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from loop_close.model import Raised

_MAX_PENDING = 16


class Witness:
    """Describes the exception behind a failed report, while its frames are still alive.

    The hook that hands out the exception and the one that logs the report come one right after the other, in
    either order; an exception is kept for as long as that takes, a few at a time.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._project: Any = None
        self._comparisons: Any = None
        self.pending: dict[tuple[str, str], tuple[BaseException, frozenset[str]]] = {}

    def saw(self, nodeid: str, when: str, exc: BaseException, fixtures: frozenset[str] = frozenset()) -> None:
        """Keep an exception until :meth:`testify`."""
        self.pending[nodeid, when] = exc, fixtures
        if len(self.pending) > _MAX_PENDING:
            # Reports that were never logged, by plugins that run tests again.
            del self.pending[next(iter(self.pending))]

    def testify(self, report: Any) -> Raised | None:
        """What was raised, for a failed report; forgets it in any case."""
        exc, fixtures = self.pending.pop((report.nodeid, report.when), (None, frozenset()))
        found = self.describe(exc, fixtures) if exc is not None and report.outcome == "failed" else None
        self.forget_comparisons()
        return found

    def compared(self, left: Any, right: Any) -> None:
        """An assertion compared the two with ``==``, and fails: find now where they differ, while both are there."""
        try:
            from loop_close.capture.differences import Comparisons
            from loop_close.capture.values import Texts

            if self._comparisons is None:
                self._comparisons = Comparisons()
            self._comparisons.saw(sys._getframe(), left, right, Texts(self._files()))
        except KeyboardInterrupt:
            raise
        except BaseException:  # the program's objects may do anything when they are read
            return

    def forget_comparisons(self) -> None:
        """A phase of a test is over: what was compared in it belongs to no later exception."""
        if self._comparisons is not None:
            self._comparisons.forget()

    def describe(self, exc: BaseException, fixtures: frozenset[str] = frozenset()) -> Raised | None:
        """The exception as a record; None when our own reading of it fails (the report's text remains)."""
        try:
            from loop_close.capture.read import describe_any

            return describe_any(exc, self._files(), fixtures, self._comparisons)
        except KeyboardInterrupt:
            raise
        except BaseException:  # what the program raises while it is looked at is no end of the run
            return None

    def _files(self) -> Any:
        """The files of the project, as they are in this session."""
        if self._project is None:
            from loop_close.capture import sources
            from loop_close.capture.project import Project

            sources.forget()  # pytest.main() again in one process: the files may have changed
            self._project = Project(self._root)
        return self._project


def fixtures_of(item: pytest.Item) -> frozenset[str]:
    """The fixtures a test asked for; parameters of ``parametrize`` are values, not fixtures."""
    names = getattr(item, "fixturenames", ())
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return frozenset(names) - frozenset(parameters)
