"""The settings and results of a benchmark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import probe
from benchmarks.environment import Environment
from benchmarks.measure import Sample, run

#: The peers that can be compared with: entry point and arguments.
PEERS = {"receptor": ("receptor", ("--receptor=llm",))}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    scenario: str
    measured: str
    figure: str
    goal: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another plugin, perhaps in another interpreter, to do the same with."""

    env: Environment
    entry: str
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """The distribution with its version."""
        return self.env.plugins[self.entry]

    def command(self, *arguments: str) -> list[str]:
        """Pytest with the peer asked for."""
        return self.env.command(*arguments, *self.arguments, only=[self.entry])


@dataclass(frozen=True, slots=True)
class Bench:
    """How much to run, where, and with what.

    :ivar scale: 1 for all, less for a quick look.
    """

    env: Environment
    folder: Path
    rounds: int
    starts: int
    scale: float = 1.0
    peer: Peer | None = None

    @property
    def output(self) -> Path:
        """Where the output of the last run is."""
        return self.folder / "output.txt"

    def tests(self, number: int) -> int:
        """A number of tests or files, scaled."""
        return max(1, int(number * self.scale))

    def asked(self, *arguments: str) -> list[str]:
        """Pytest with loop-close asked for."""
        return self.env.command(*arguments, "--loop-close", only=["loop_close"])

    def probed(self, command: Sequence[str], folder: Path) -> tuple[Sample, dict[str, Any]]:
        """Run a command with the probe in it; what the probe found."""
        inside = self.folder / "inside"
        inside.mkdir(exist_ok=True)
        shutil.copy(probe.__file__, inside / "bench_probe.py")
        found = inside / "found.json"
        found.unlink(missing_ok=True)
        more = {"PYTHONPATH": str(inside), "BENCH_PROBE": str(found)}
        sample = run([*command, "-p", "bench_probe"], folder, self.output, more)
        return sample, json.loads(found.read_text(encoding="utf-8"))
