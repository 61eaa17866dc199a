"""Histories for tests of the commands that tell what is remembered, and the commands in this process."""

import contextlib
import json

from cli_harness import loop_close_here

from loop_close.records import Counts, Edit, Edits, FailureRecord, Run
from loop_close.store import Store

START = 1_700_000_000.0
NO_RUN = "loop-close: no runs recorded in this project: run loop-close check\n"
#: What a person types in a shell: no coding agent, nothing of ours around it.
AGENT = ("CLAUDECODE", "AGENT", "AI_AGENT", "GEMINI_CLI", "LOOP_CLOSE_INSIDE")


def called(*words, data=b""):
    """The command in this process: exit code, what it printed, what it complained of."""
    done = loop_close_here(*words, cwd=".", data=data)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def document(*words):
    """What the command prints as JSON; the exit code beside it."""
    code, shown, errors = called(*words, "--json")
    assert errors == ""
    return code, json.loads(shown)


def history_path(root):
    return root / ".loop-close" / "history.sqlite3"


def failure(test):
    """A failure of a test, written ``name`` or ``name=value``: another value is another shape."""
    name, _, value = test.partition("=")
    key = f"{name}{value}"
    return FailureRecord(
        source="pytest",
        test=f"test_a.py::{name}",
        exact=f"e{key}",
        shape=f"s{key}",
        cause=f"c{key}",
        message=f"m{value}",
    )


def run_of(failing, **fields):
    """A run of the tests a, b and c, of which those named fail."""
    failures = tuple(failure(each) for each in failing.split())
    names = {each.test for each in failures}
    outcomes = {f"test_a.py::{each}": "passed" for each in "abc"} | dict.fromkeys(names, "failed")
    edits = Edits(kind="effective", edits=(Edit(file="shop.py", function="total"),))
    counts = Counts(passed=len(outcomes) - len(names), failed=len(names))
    made = {
        "command": ("pytest", "-q"),
        "exit_code": int(bool(failures)),
        "is_finished": True,
        "is_green": not failures,
        "counts": counts,
        "outcomes": {"pytest": outcomes},
        "failures": failures,
        "edits": edits,
    }
    return {**made, **fields}


def remember(root, *runs, path=None):
    """Runs, each by the names of its tests that fail, or by the fields of its record."""
    path = path or history_path(root)
    path.parent.mkdir(exist_ok=True)
    with Store(path) as store:
        first = len(store.runs())
        for number, given in enumerate(runs, first + 1):
            fields = run_of(given) if isinstance(given, str) else given
            run = Run(
                id=f"r{number}",
                began=START + 10 * number,
                tree=f"t{number}",
                tree_after=f"t{number}",
                **fields,
            )
            store.begin(run)
            if run.is_finished:
                store.finish(run)


def state_of(folder):
    """All files below, with what is in them."""
    with contextlib.suppress(OSError):
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
