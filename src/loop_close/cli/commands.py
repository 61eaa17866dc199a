"""The commands that read no run: ``demo``, ``detectors`` and ``mcp``."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import loop_close
from loop_close.cli import FAULT, Streams, UsageError

_PACKAGE = Path(loop_close.__file__).parent
#: In an installed package, and in a clone.
_PLACES = (_PACKAGE / "examples" / "shop", _PACKAGE.parents[1] / "examples" / "shop")
#: How the lines of the plugin begin.
_OURS = "loop-close: "
_OLDER = "on Python 3.11 lines are known only of tests that ran once more; from 3.12 on they are recorded as tests run."
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "nextprompt.md")


def demo(options: argparse.Namespace, streams: Streams) -> int:
    """Run ``pytest --loop-close`` on the example, and print the prompt that it writes."""
    source = next((place for place in _PLACES if place.is_dir()), None)
    if source is None:
        streams.complain("the example project is not part of this installation")
        return FAULT
    with tempfile.TemporaryDirectory(prefix="loop-close-demo-") as folder:
        shop = Path(folder) / "shop"
        shutil.copytree(source, shop, ignore=_LEFT_OUT)
        streams.say(f"$ cd {source.name} && pytest --loop-close -q --tb=no")
        streams.say(_tested(shop))
        prompt = shop / "nextprompt.md"
        if not prompt.is_file():
            streams.complain("pytest gave no result; see above")
            return FAULT
        streams.say(prompt.read_text(encoding="utf-8"))
    if sys.version_info < (3, 12):
        streams.complain(_OLDER)
    return 0


def _tested(shop: Path) -> str:
    """What the tests of the example print; with what pytest complains of only where there is no result.

    Nothing of them reaches the CI system or the shared history of the user.
    """
    words = ["--loop-close", "--loop-close-ci=off", "-q", "--tb=no"]
    kept = {k: value for k, value in os.environ.items() if not k.startswith(("PYTEST_", "LOOP_CLOSE"))}
    command = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(command, cwd=shop, env=kept, capture_output=True, text=True, check=False)
    return done.stdout if _OURS in done.stdout else f"{done.stdout}{done.stderr}"


# --- ``loop-close detectors``: what can be found, most blocking first


def detectors(options: argparse.Namespace, streams: Streams) -> int:
    """Print a line for each detector: its place in the order, id, description."""
    from loop_close.detectors import DEFAULT_DETECTORS

    width = max(len(d.id) for d in DEFAULT_DETECTORS)
    for number, detector in enumerate(DEFAULT_DETECTORS, 1):
        streams.say(f"{number:2}  {detector.id:{width}}  {detector.description}")
    return 0


# --- ``loop-close mcp``: the server that hosts of agents speak to, on standard input and output

_INSTALL = "pip install 'pytest-loop-close[mcp]'"


def mcp(options: argparse.Namespace, streams: Streams) -> int:
    """Serve until the input ends.

    :raises UsageError: where the packages of the extra are not there.
    """
    try:
        # By its name: the server is built on the commands, and no command is built on the server.
        server = import_module("loop_close.mcp")
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "loop_close":
            raise
        raise UsageError(f"mcp is not installed: {_INSTALL} ({error})") from None
    if streams.input.isatty():
        streams.complain("waiting for an MCP client on standard input; press Ctrl-C to stop")
    code: int = server.serve(streams)
    if code:
        # A thread still waits for input, and Python would wait for the thread.
        os._exit(code)
    return code
