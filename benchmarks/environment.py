"""The pytest to measure with: which interpreter, and which of its plugins to leave out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_ASK = """
import importlib.metadata as m, json, platform, sys, pytest
names = {e.name: e.dist.name + " " + e.dist.version for e in m.entry_points(group="pytest11")}
print(json.dumps({"python": platform.python_version(), "pytest": pytest.__version__, "plugins": names}))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter with pytest.

    :ivar plugins: installed pytest plugins, entry point to distribution and version.
    """

    executable: str
    python: str
    pytest: str
    plugins: dict[str, str]

    def command(self, *arguments: str, only: Sequence[str] = ()) -> list[str]:
        """A pytest command without any installed plugin but those in ``only``."""
        out = [f"-pno:{name}" for name in sorted(self.plugins) if name not in only]
        return [self.executable, "-m", "pytest", *out, *arguments]


def environment(executable: str = sys.executable) -> Environment:
    """Ask an interpreter about itself."""
    answer = subprocess.run([executable, "-c", _ASK], check=True, capture_output=True, text=True).stdout
    return Environment(executable=executable, **json.loads(answer))


def machine() -> str:
    """The processor and how many there are."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    model = next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown CPU"
    )
    return f"{os.cpu_count()} cores ({model}), load {os.getloadavg()[0]:.1f}"
