"""Run commands by turns and compare their CPU time pair by pair."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loop_close.provenance import AGENT_VARIABLES


@dataclass(frozen=True, slots=True)
class Sample:
    """What one process cost.

    :ivar cpu: seconds of user and system time, by the kernel's count.
    :ivar rss: the most memory it had at one time, in MiB.
    """

    cpu: float
    rss: float
    code: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median of a ratio over all pairs, and how far single pairs strayed."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"x {self.median:.3f}  ({self.low:.3f} to {self.high:.3f})"


def surroundings() -> dict[str, str]:
    """The environment of what is measured: a person's, who has bytecode cached and no variables that change pytest."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("PYTHON", "PYTEST", "PY_COLORS", "TOX_", "NOX_", "HATCH_", "GITHUB_", "CI_"))
        and k not in ("CI", *AGENT_VARIABLES)
    }
    return {**kept, "PYTHONHASHSEED": "0", "COLUMNS": "100"}


def run(command: Sequence[str], folder: Path, output: Path, more: Mapping[str, str] | None = None) -> Sample:
    """Run a command in ``folder`` with its output going to a file."""
    environment = {**surroundings(), **(more or {})}
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return Sample(used.ru_utime + used.ru_stime, used.ru_maxrss / unit, process.returncode)


def by_turns(
    commands: Mapping[str, Sequence[str]], folder: Path, output: Path, *, rounds: int, code: int
) -> dict[str, list[Sample]]:
    """Run all commands once a round, A B C A B C …, after collecting once, which fills the caches.

    :param code: the exit code each has to end with: what did not run as meant must not be measured.
    :raises RuntimeError: for another one.
    """
    found: dict[str, list[Sample]] = {name: [] for name in commands}
    for command in commands.values():
        run([*command, "--collect-only"], folder, output)
    for turn in range(1, rounds + 1):
        for name, command in commands.items():
            sample = run(command, folder, output)
            if sample.code != code:
                raise RuntimeError(
                    f"{' '.join(command)} ended with {sample.code}:\n{output.read_text()[-2000:]}"
                )
            found[name].append(sample)
            said = f"  {name}: {sample.cpu:.2f} s CPU, {sample.rss:.0f} MiB (round {turn} of {rounds})"
            print(said, file=sys.stderr, flush=True)
    return found


def ratio(samples: Sequence[Sample], base: Sequence[Sample]) -> Ratio:
    """CPU of each sample over that of the base in the same round."""
    pairs = [s.cpu / b.cpu for s, b in zip(samples, base, strict=True)]
    return Ratio(statistics.median(pairs), min(pairs), max(pairs))


def fastest(samples: Sequence[Sample]) -> float:
    """The fewest CPU seconds: on a shared machine noise only adds."""
    return min(s.cpu for s in samples)


def cpu(samples: Sequence[Sample]) -> float:
    """The median CPU seconds: for scale, not to compare between runs."""
    return statistics.median(s.cpu for s in samples)


def rss(samples: Sequence[Sample]) -> float:
    """The median peak memory in MiB."""
    return statistics.median(s.rss for s in samples)
