"""``loop-close demo``: the example with nine faults, in a folder that is gone afterwards."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import loop_close
from loop_close.cli.streams import Streams

_PACKAGE = Path(loop_close.__file__).parent
#: In an installed package, and in a clone.
_PLACES = (_PACKAGE / "examples" / "shop", _PACKAGE.parents[1] / "examples" / "shop")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "nextprompt.md")


def demo(options: argparse.Namespace, streams: Streams) -> int:
    """Run ``pytest --loop-close`` on the example, and print the prompt that it writes."""
    source = next((place for place in _PLACES if place.is_dir()), None)
    if source is None:
        streams.complain("the example project is not part of this installation")
        return 70
    with tempfile.TemporaryDirectory(prefix="loop-close-demo-") as folder:
        shop = Path(folder) / "shop"
        shutil.copytree(source, shop, ignore=_LEFT_OUT)
        command = [sys.executable, "-m", "pytest", "--loop-close", "-q", "--tb=no"]
        streams.say(f"$ cd {source.name} && pytest --loop-close -q --tb=no")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        done = subprocess.run(command, cwd=shop, env=kept, stdout=subprocess.PIPE, text=True, check=False)
        streams.say(done.stdout)
        streams.say((shop / "nextprompt.md").read_text(encoding="utf-8"))
    return 0
