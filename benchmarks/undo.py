"""How often ``loop-close check --undo`` is right, on neighbouring releases: ``python -m benchmarks.undo``.

Of each project of ``benchmarks/localize`` whose tests need only pytest, the first real fault in a function is taken.
The newer release with that function put back to the older one is where a loop starts, and is red. The edit is the newer
function: it is known that tests fail without it.

The other side is a function that differs between the two releases and that no test was seen to run: the newer release
with it put back is green, and the edit is the newer function. Then all tests have to pass without it.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from platform import python_version

import pytest

from benchmarks.environment import machine
from benchmarks.localize import revert, run
from benchmarks.localize.fetch import copied, default_cache, tree
from benchmarks.localize.projects import Project
from benchmarks.localize.releases import RELEASES
from loop_close.baseline.undo import Undo, kept
from loop_close.gate import tree_digest
from loop_close.store import Store

_FAULTS = Path(__file__).with_name("localize") / "real_faults.json"
_CHECK = (sys.executable, "-P", "-m", "loop_close", "check")
_TRIED = 6


def chosen(most: int) -> Iterator[tuple[Project, Project, str, str]]:
    """The older and the newer release, a file of it, and the function that is the fault; a project each, by name."""
    faults = [each for each in json.loads(_FAULTS.read_text()) if each["kind"] == "function"]
    first = {each["project"]: each for each in reversed(faults)}
    known = [name for name in sorted(first) if not RELEASES[name].plan.requires]
    for fault in (first[name] for name in known[:most]):
        of = RELEASES[fault["project"]].of
        yield of[fault["older"]], of[fault["version"]], fault["file"], fault["function"]


def check(project: Project, root: Path, *options: str) -> tuple[int, float]:
    """Its exit status and seconds, in the surroundings of the other benchmarks."""
    environ = run.surroundings(project, root, {"XDG_STATE_HOME": str(root.parent / "state")})
    began = time.monotonic()
    done = subprocess.run([*_CHECK, *options], cwd=root, env=environ, capture_output=True, check=False)
    return done.returncode, time.monotonic() - began


def said(found: Undo | None) -> str:
    """``fail`` or ``pass`` with the number of tests that ran, or why there is no answer."""
    if found is None or not found.found or found.found[0].reason:
        return f"not answered: {found and (found.reason or found.found[0].reason)}"
    first = found.found[0]
    return f"fail: {first.failing} of {first.ran}" if first.is_noticed else f"pass: {first.ran}"


def measure(project: Project, root: Path, file: str, before: str, expected: str) -> Sequence[str]:
    """What is said without an edit, and the seconds for it.

    :param before: what the file held when the loop began.
    """
    now = (root / file).read_bytes()
    for folder in (root / ".loop-close", root.parent / "state"):
        shutil.rmtree(folder, ignore_errors=True)
    (root / file).write_bytes(before.encode())
    codes = [check(project, root)[0]]
    (root / file).write_bytes(now)
    codes.append(check(project, root)[0])
    if codes != [int(expected == "fail"), 0]:
        return expected, f"not measured: the checks ended with {codes}", ""
    _, seconds = check(project, root, "--undo")
    return expected, said(kept(root, tree_digest(root))), f"{seconds:.1f}"


def unrun(root: Path, older: Path, project: Project) -> Iterator[tuple[str, str, str]]:
    """Functions that differ and that no test of the last check was seen to run: file, name, file with it put back."""
    with Store(root / ".loop-close" / "history.sqlite3", readonly=True) as store:
        calls = [store.calls(source) for each in store.runs(1) for source in each.outcomes]
    ran = {(each.file, each.function) for known in calls if known for each in known.calls.functions}
    for file in sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py") if ran):
        if project.is_source(file) and (older / file).is_file():
            texts = [(folder / file).read_bytes().decode() for folder in (root, older)]
            for key in revert.differing(*texts):
                if key.kind == "function" and (file, key.name) not in ran:
                    yield file, key.name, revert.reverted(*texts, key)[0]


def rows(older: Project, newer: Project, file: str, name: str) -> Iterator[Sequence[str]]:
    """The function that tests run, then some that none was seen to run; not measured if the tests are red with one."""
    with tempfile.TemporaryDirectory(prefix="undo-") as folder:
        root, before = copied(newer, default_cache(), Path(folder)), tree(older, default_cache())
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        command = json.dumps(shlex.join([*run.command(newer), "-p", "loop_close"]))
        with (root / "pyproject.toml").open("a") as settings:
            settings.write(f"\n[tool.loop-close.checks]\ntests = {command}\n")
        texts = [(folder / file).read_bytes().decode() for folder in (root, before)]
        text = revert.reverted(*texts, revert.Key("function", name))[0]
        yield newer.folder, f"{file}:{name}", *measure(newer, root, file, text, "fail")
        for other, name, text in [*unrun(root, before, newer)][:_TRIED]:
            yield newer.folder, f"{other}:{name}", *measure(newer, root, other, text, "pass")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=15, help="pairs (default: 15)")
    print(f"{machine()}, Python {python_version()}, pytest {pytest.__version__}", flush=True)
    print("release | function | expected | said | seconds", flush=True)
    for pair in chosen(parser.parse_args().n):
        for row in rows(*pair):
            print(" | ".join(row), flush=True)
