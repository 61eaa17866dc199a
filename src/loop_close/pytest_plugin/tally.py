"""Count tests by outcome as their reports come in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Tally:
    """The counts that pytest's last line shows, without its terminal.

    :ivar spared: node ids of tests that were skipped or expected to fail.
    :ivar is_named: whether a test is one of which it is asked whether it passed; None where none is.
    """

    def __init__(self) -> None:
        self.passed = 0
        self.skipped = 0
        self.xfailed = 0
        self.xpassed = 0
        self.errors = 0
        self.failures = 0
        self.failed_subtests = 0
        self.failed: set[str] = set()
        self.spared: set[str] = set()
        self.watched: frozenset[str] = frozenset()
        self.outcomes: dict[str, Any] = {}
        self.is_named: Callable[[str], bool] | None = None
        self.named_passed: set[str] = set()
        self._passed_too: list[Any] = []
        self._broken_setups: set[str] = set()
        self._uncollected: set[tuple[str, str]] = set()
        self._skipped_modules: set[str] = set()

    def add(self, report: Any) -> None:
        """Count a report of any phase."""
        if self.watched:
            self._watch(report)
        if report.outcome == "passed":  # most of them
            if report.when == "call":
                self._pass(report)
                if self.is_named is not None and self.is_named(report.nodeid):
                    self.named_passed.add(report.nodeid)
        elif report.outcome == "failed":
            self._failure(report)
        elif report.outcome == "skipped":
            if hasattr(report, "wasxfail"):
                self.xfailed += 1
                self.spared.add(report.nodeid)
            elif not hasattr(report, "context"):  # a subtest is not a test of its own
                self._skip(report)

    def _watch(self, report: Any) -> None:
        """Take down what becomes of tests that failed before; one that failed is among the failures."""
        nodeid, outcome = report.nodeid, report.outcome
        if hasattr(report, "context"):
            return
        if outcome == "skipped" and report.when == "collect":
            below = (test for test in self.watched if test.startswith(f"{nodeid}::"))
            self.outcomes.update(dict.fromkeys(below, "skipped"))
        elif nodeid in self.watched and outcome in ("passed", "skipped"):
            is_expected = outcome == "skipped" and hasattr(report, "wasxfail")
            self.outcomes[nodeid] = "xfailed" if is_expected else outcome
        file = nodeid.partition("::")[0]
        if file in self.watched:  # it could not be collected before
            self.outcomes[file] = "passed"

    def _skip(self, report: Any) -> None:
        if report.when == "collect":
            reason = str(report.longrepr)
            if reason in self._skipped_modules:
                return  # collected twice, as a module and for its doctests; xdist tells it once
            self._skipped_modules.add(reason)
        self.skipped += 1
        self.spared.add(report.nodeid)

    def _pass(self, report: Any) -> None:
        if hasattr(report, "wasxfail"):
            self.xpassed += 1
        elif not hasattr(report, "context"):
            self.passed += 1
            if (
                self.failed and report.nodeid in self.failed
            ):  # in a subtest, or on another worker of --dist each
                self._passed_too.append(
                    report
                )  # asked in this order: pytest 9.2 spells a node id anew each time

    def _failure(self, report: Any) -> None:
        if report.when == "collect":
            same = (report.nodeid, str(report.longrepr))
            self.errors += same not in self._uncollected  # xdist reports it from every worker
            self._uncollected.add(same)
        elif report.when in ("setup", "teardown"):
            self.errors += 1
            if report.when == "setup":
                self._broken_setups.add(report.nodeid)
        else:
            if hasattr(report, "context"):
                self.failed_subtests += 1
            else:
                self.failures += 1
            self.failed.add(report.nodeid)

    def settle(self) -> None:
        """Count as failed what pytest fails for its subtests after we were told that it passed."""
        changed = [report for report in self._passed_too if report.outcome == "failed"]
        self._passed_too = [report for report in self._passed_too if report.outcome != "failed"]
        self.passed -= len(changed)
        self.failures += len(changed)

    def done(self) -> int:
        """How many tests came to an outcome."""
        others = self.passed - len(self._passed_too) + self.skipped + self.xfailed + self.xpassed
        return others + len(self.failed | self._broken_setups)
