"""How many cheats are objected to, and how many honest edits of tests are not: ``python benchmarks/cheats.py``.

Each edit of the two tables is made a project. A cheat: the tests pass with a good ``shop``, become the baseline, and
are edited with a faulty ``shop``. An honest edit: with the same good one. A cheat to which nothing is objected is run
as it is: if its tests fail, it is none here, as its check is not green.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import cheats_held_out
from cheats_table import CHEATS, HONEST, Texts, texts

from loop_close import baseline
from loop_close.baseline.objection import objection_to
from loop_close.records import Objection, PytestContext, Run
from loop_close.tree import take

#: Honest edits that go with a change of the interface: a person is asked.
API = {
    "what is patched moved to another module",
    "function renamed",
    "keyword renamed",
    "lazily filled",
    "async with its mark",
}
#: Edits after which assertions do not run at all: no test file changed, and the check itself is not green.
BY_THE_CHECK = {"PYTHONOPTIMIZE", "python -O"}

NOT_BEFORE = "its tests do not pass before"
GOOD = """
import asyncio, contextlib, enum, io
import types as _types
VERSION, READY, OK, SETUP = 2, True, True, ""
class EmptyError(ValueError): pass
class Color(str, enum.Enum): RED = "red"
requests = _types.SimpleNamespace(get=None)
time = _types.SimpleNamespace(time=lambda: 0)
def total(items=(), values=None):
    if items is None: raise ValueError("empty")
    return sum(items)
sum_up = total
def checkout(send): send("done")
def names(): return ["a", "b"]
def mean(items): return sum(items) / len(items)
def fill(out): out.update(a=1) if isinstance(out, dict) else out.extend([1, 2])
def f(x=1): return x * x
def run(note):
    for x in (1, 2):
        try: note(x)
        except TypeError: note()
def row(): return {"a": 1, "b": 2}
def title(): return "The shop"
def greet(n): return f"hi {n}"
@contextlib.contextmanager
def quiet(): yield
class opened:
    def __enter__(self): return self
    def __exit__(self, *a): pass
    def read(self): return 1
def traced(f): return f
def status(): return 200
def read(path): return []
def price(item): return item * 2
def order(): pass
def load(): return [1, 2]
def items(): return [1, 2]
async def get(x): return 2 * x
def count(items): return min(len(items), 2)
def color(): return "red"
def both(): return 1, 2
def ok(*a): return True
def ready(): return True
def close(): pass
def chunked(numbers): return iter(numbers)
chunks = chunked
class Cart:
    def __init__(self, currency="", log=None): self.all, self.size, self.log = {}, 0, log
    def add(self, name, price=1):
        self.all[name] = price
        if self.log is not None: self.log.append(name)
    def total(self): return sum(self.all.values()) * 2
    def names(self): return list(self.all)
    def close(self): pass
    def pay(self): raise ValueError("empty")
"""
#: What a case may need instead: the first with which its tests pass is taken.
VARIANTS = (
    "",
    "def total(items=()):\n    if not items: raise ValueError('empty')\n    return sum(items)\n",
    "def names(): return ['a']\n",
    "def names(): return ['a', 'b', 'a']\n",
    "def names(): return ['b', 'a']\n",
    "def mean(items): return 2\n",
    "def total(items=()): return 3.1\n",
    "def total(items=()): return 3.5\n",
    "def total(items=()): return [1, 2]\n",
    "def f(x=1): return 'a\\nb\\n'\n",
    "def f(x=1): return True\n",
    "def total(items=()): return 6\n",
)
FAULTY = """
class Wrong(Exception):
    def __init__(self, *a, **k): pass
    def __call__(self, *a, **k): return Wrong()
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return Wrong()
    def __eq__(self, other): return False
    __hash__ = None
    def __bool__(self): return False
    def __enter__(self): return self
    def __exit__(self, *a): return False
Cart = Wrong
def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    return Wrong()
"""


class Case(NamedTuple):
    """An edit of a table."""

    table: str
    name: str
    before: Texts
    after: Texts
    is_cheat: bool


def cases() -> Iterator[Case]:
    """All edits."""
    for name, before, after, *_ in CHEATS:
        yield Case("table", name, before, after, True)
    for name, before, after in HONEST:
        yield Case("table", name, before, after, False)
    for name, before, after in cheats_held_out.CHEATS:
        yield Case("held out", name, before, after, True)
    for name, before, after in cheats_held_out.HONEST:
        yield Case("held out", name, before, after, False)


def write(root: Path, files: Mapping[str, str]) -> None:
    """Write files."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def passed(root: Path) -> list[str]:
    """The tests that pass in a project, if none fails; otherwise nothing."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "-p",
        "no:cacheprovider",
        "-o",
        "console_output_style=classic",
    ]
    ended = subprocess.run(
        words, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300
    )
    lines = ended.stdout.splitlines()
    return (
        [line.split(" ", 1)[1] for line in lines if line.startswith("PASSED ")]
        if not ended.returncode
        else []
    )


def measure(case: Case) -> tuple[Case, str, Objection | None]:
    """Why the case says nothing, empty if it does, and what is objected to after the edit."""
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="cheats-")))
    root = folder / "project"
    before, after = texts(case.before), texts(case.after)
    try:
        write(root, before)
        for variant in VARIANTS:
            write(root, {"shop.py": GOOD + variant})
            shutil.rmtree(root / "__pycache__", ignore_errors=True)
            if tests := passed(root):
                break
        else:
            write(root, {"shop.py": GOOD})
        run = Run(id="a", check="tests", seconds=2.0, outcomes={"pytest": dict.fromkeys(tests, "passed")})
        baseline.take(root, take(root), [run] if tests else [])
        for path in before.keys() - after.keys():
            (root / path).unlink()
        write(root, after)
        if case.is_cheat:
            write(root, {"shop.py": FAULTY})
        context = PytestContext(executable=sys.executable, args=("-q",), cwd=str(root), rootdir=str(root))
        found = baseline.load(root)
        assert found is not None
        objection = objection_to(root, found, take(root), run, [context])
        is_red = case.is_cheat and objection is None and not passed(root)
        return case, "its check is not green" if is_red else "" if tests else NOT_BEFORE, objection
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Print a line for each case that is not as it should be, and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("-n", type=int, default=2)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    state = tempfile.mkdtemp(prefix="cheats-state-")
    os.environ |= {"XDG_STATE_HOME": state, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    counts: dict[tuple[str, str], int] = {}
    chosen = [case for case in cases() if not options.names or case.name in options.names]
    try:
        with ThreadPoolExecutor(options.n) as pool:
            for case, why, objection in pool.map(measure, chosen):
                what = "cheat" if case.is_cheat else "honest"
                why = "apart" if case.name in API | BY_THE_CHECK else why
                what += f", {why}" if why else ""
                for key in (f"{what}", f"{what}: objected to") if objection else (what,):
                    counts[case.table, key] = counts.get((case.table, key), 0) + 1
                if (objection is not None) != case.is_cheat or options.verbose:
                    print(
                        f"{case.table}: {what}: {case.name}: {objection and (objection.reason, objection.tests[:2])}",
                        flush=True,
                    )
    finally:
        shutil.rmtree(state, ignore_errors=True)
    for (table, key), count in sorted(counts.items()):
        print(f"{table:10} {key:50} {count:4}")


if __name__ == "__main__":
    main()
