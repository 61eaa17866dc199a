"""What a host of agents waits for: its hook, over a Python that does nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks import suites
from benchmarks.measure import by_turns, cpu, ratio, run
from benchmarks.rows import Bench, Row

# Each process is a session of its own, so that none is sent back too often.
_CODE = """
import io, json, os, sys
words = {"session_id": str(os.getpid()), "cwd": os.getcwd(), "hook_event_name": "Stop", "last_assistant_message": SAID}
sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps(words).encode()))
sys.argv[1:] = ["hook", "--host", "claude"]
from loop_close.cli import main
sys.exit(main())
"""
_SAID = "I changed the parser, but it still fails.\n\nAssertionError: assert 2 == 3\n"
_OLD = 1_000_000_000


def hook(bench: Bench) -> Iterator[Row]:
    """Two files and 5,000; green, red, and after a checkout of another branch."""
    few, many = bench.folder / "hook-few", bench.folder / "hook-many"
    files = bench.tests(5_000)
    for folder, number, name in ((few, 0, "few files"), (many, files, f"{files:,} files")):
        suites.trivial(folder, tests=1, files=1)
        _add_files(folder, number)
        yield _asked(bench, folder, f"hook, {name}", "green", code=0, shown=b"")
    for folder, name in ((few, "few files"), (many, f"{files:,} files")):
        (folder / "tests" / "test_trivial_000.py").write_text("def test_0():\n    assert False\n")
        yield _asked(
            bench, folder, f"hook, {name}", "red, asking the exit strategy", code=1, shown=b"# 1 test fails"
        )
    for path in (many / "more").glob("*.py"):
        path.write_text(f"{path.read_text()}\nMORE = 1\n")
    yield _row(bench, many, f"hook, {files:,} files", "all of them changed", shown=b"have not run since")


def _add_files(folder: Path, files: int) -> None:
    """Files that nothing imports, under git, all of them older than a moment."""
    (folder / "more").mkdir()
    for number in range(files):
        (folder / "more" / f"part_{number:04}.py").write_text(f"def part(x):\n    return x + {number}\n" * 5)
    for path in folder.rglob("*.py"):
        os.utime(path, (_OLD, _OLD))
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)


def _asked(bench: Bench, folder: Path, scenario: str, measured: str, *, code: int, shown: bytes) -> Row:
    """The hook after a run of the tests."""
    done = run(bench.asked("-q", "tests"), folder, bench.output)
    if done.code != code:
        raise RuntimeError(f"the tests ended with {done.code}:\n{bench.output.read_text()[-2000:]}")
    return _row(bench, folder, scenario, measured, shown=shown)


def _row(bench: Bench, folder: Path, scenario: str, measured: str, *, shown: bytes) -> Row:
    commands = {
        "nothing": [bench.env.executable, "-c", "pass"],
        "hook": [bench.env.executable, "-c", f"SAID = {_SAID!r}{_CODE}"],
    }
    run(commands["hook"], folder, bench.output)
    said = bench.output.read_bytes()
    if bool(said) != bool(shown) or shown not in said:
        raise RuntimeError(f"the hook answered {said[:2000]!r}")
    base, asked = by_turns(commands, folder, bench.output, rounds=2 * bench.rounds, code=0).values()
    note = f"{cpu(asked) * 1000:.0f} ms of CPU, git's with it; {len(base)} pairs"
    return Row(scenario, f"{measured}, over `python -c pass`", str(ratio(asked, base)), "", note)
