"""The history of test runs; here the values that go into and out of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

from loop_close.lazy import NamedTuple, dataclass

if TYPE_CHECKING:
    from loop_close.calls import Calls


# --- the values that go into and out of the history of test runs

#: The project's files by path: size, time of the last change in ns, digest of the content.
Entries = Mapping[str, tuple[int, int, str]]
#: Files that differ: path, digest before (None: it was not there), digest after (None: it is gone).
Changes = tuple[tuple[str, str | None, str | None], ...]
State = Literal["running", "done", "killed"]


class HistoryError(Exception):
    """The history cannot be used; the text says why, in one line for a user."""


class RunHandle(NamedTuple):
    """A run that is under way.

    :ivar id: its row, for the store alone; ``started`` distinguishes it from another run with the same row id.
    :ivar number: its number among the runs of its source, from 1.
    :ivar watched: the tests that the source's episode knows.
    :ivar merged: the tests that failed in the last merge.
    :ivar killed: numbers of earlier runs of the source that will never finish and are not in the episode yet;
        the last 100.
    :ivar running: numbers of the runs of any source that other processes have under way.
    :ivar has_others: the history knows other sources.
    :ivar is_edited: code under test differs from that of the source's last green run of all tests; without one, from
        that of its previous run. So it is where no test of that green run ran some of what had been edited then. Not
        asked where tests are watched.
    :ivar is_as_green: no file differs from the last green run of these tests, or of all: they probably pass again.
    :ivar tests: files of tests that differ from the source's baseline: path, digest of what it held (None: it was not
        there), digest now; None if there is no baseline.
    """

    id: int
    number: int
    source: str
    started: float = 0.0
    watched: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    killed: tuple[int, ...] = ()
    running: tuple[int, ...] = ()
    has_others: bool = False
    is_edited: bool = False
    is_as_green: bool = False
    tests: Changes | None = None


class LastRun(NamedTuple):
    """The last run of a source that has ended.

    :ivar changes: how the files differ between that run and the one that asks; None if that is unknown.
    :ivar windows: when runs went on since that one began, as (begin, end) in seconds since 1970.
    """

    source: str
    number: int
    verdict: str
    changes: Changes | None
    windows: tuple[tuple[float, float], ...] = ()


class SinceGreen(NamedTuple):
    """How the files of a run differ from those of an earlier green run.

    :ivar run: the number of the green run.
    :ivar changes: None if the states between are not kept.
    :ivar windows: when runs went on, the green one and those since, of whichever source, as (begin, end) in seconds
        since 1970.
    :ivar not_run_since: the green run that the green run was compared with, where no test ran some of what was edited
        since then; else 0.
    """

    run: int
    changes: Changes | None
    windows: tuple[tuple[float, float], ...] = ()
    not_run_since: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """What is shown of a run.

    :ivar failures: how many there were, with those that were not kept.
    :ivar summary: as it was given to :meth:`~loop_close.store.sqlite.RunTransaction.save`.
    """

    number: int
    source: str
    state: State
    started: float
    ended: float | None = None
    exit_code: int | None = None
    passed: int = 0
    skipped: int = 0
    failures: int = 0
    summary: dict[str, Any] = field(default_factory=dict)


class NewCalls(NamedTuple):
    """What the tests of a run called, to be kept for later runs of the source.

    :ivar most: it takes the place of what counts no more passing tests than these; None: of any.
    :ivar tests: node ids of all its tests; empty if they are not known.
    """

    calls: Calls
    most: int | None = None
    tests: Collection[str] = ()


class NewBaseline(NamedTuple):
    """The tests of a project, to be kept as what later runs of the source are compared with.

    :ivar files: digest of the file, and of what is kept of it, by path.
    :ivar contents: by digest; those that are kept already may be missing.
    """

    files: Mapping[str, tuple[str, str]]
    contents: Mapping[str, bytes]


class KeptCalls(NamedTuple):
    """What the tests of an earlier run called.

    :ivar calls: without failing tests; every function begins in line 0.
    :ivar failed: the tests that failed in it.
    :ivar tests: checksums of the node ids of all its tests, see :func:`checksum`; empty if they are not known.
    """

    calls: Calls
    failed: frozenset[str] = frozenset()
    tests: frozenset[int] = frozenset()

    def has_passed(self, nodeid: str) -> bool:
        """Whether the test passed in it, as far as that is known: one that was skipped is taken for passed."""
        return nodeid not in self.failed and (not self.tests or checksum(nodeid) in self.tests)


def checksum(nodeid: str) -> int:
    """A checksum that distinguishes a test from others in a few bytes."""
    return crc32(nodeid.encode("utf-8", "surrogatepass"))
