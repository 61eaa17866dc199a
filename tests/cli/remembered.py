"""Histories for tests of the commands that tell what is remembered, and the commands in this process."""

import contextlib
import io
import json
import sqlite3
from types import SimpleNamespace

from loop_close.cli import Streams, main
from loop_close.memory import Edits, FailureRecord, Run
from loop_close.model import Observation
from loop_close.process import host
from loop_close.progress.advance import advance, summary_of, verdict_of
from loop_close.store.schema import FORMAT
from loop_close.store.sqlite import open_history

START = 1_700_000_000.0
NO_RUN = "loop-close: no runs recorded in this project: run pytest --loop-close first\n"


class Output(io.StringIO):
    """A stream that keeps what it was given when it is asked for it."""

    def __init__(self, encoding="utf-8"):
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self):
        return self._encoding


def called(*words, data=b"", encoding="utf-8"):
    """The command in this process: exit code, what it printed, what it complained of."""
    output, errors = Output(encoding), Output()
    code = main([str(word) for word in words], Streams(input=io.BytesIO(data), output=output, errors=errors))
    return code, output.getvalue(), errors.getvalue()


def document(*words, data=b""):
    """What the command prints as JSON; the exit code beside it."""
    code, shown, errors = called(*words, "--json", data=data)
    assert errors == ""
    return code, json.loads(shown)


def history_path(root):
    return root / ".loop-close" / "history.sqlite3"


def mark(test, shape=""):
    return FailureRecord(
        test=f"test_a.py::{test}", exact=f"e{test}{shape}", shape=f"s{test}{shape}", message="m"
    )


def begin(history, source, at=0.0, **process):
    process = {"pid": 1, "birth": "", "host": host(), "is_alive": lambda pid, birth: True, **process}
    return history.begin(source, {}, {}, now=START + at, **process)


def remember(root, *runs, source="pytest", edit="none", at=0.0, path=None, ran=None):
    """Runs, each by the names of its tests that fail, judged as by the plugin."""
    with opened(root, path) as history:
        for number, failing in enumerate(runs):
            begun = begin(history, source, at + 10 * number)
            run = run_of(begun, failing, edit)
            with history.transaction(begun) as transaction:
                made = advance(transaction.episode, run)
                verdict = verdict_of(made.progress, "first-failure" if failing else "green")
                report = SimpleNamespace(
                    progress=made.progress,
                    observation=Observation(),
                    verdict=verdict,
                    stall_reason=f"{failing} fail",
                    edits_run=ran,
                    green_run=0,
                    causes=(),
                    sources=(),
                )
                transaction.save(run, made.episode, summary_of(report), now=START + at + 10 * number + 5)


def run_of(begun, failing, edit="none"):
    marks = tuple(mark(*test.split("=")) for test in failing.split())
    outcomes = {f"test_a.py::{test}": "passed" for test in "abc" if test not in failing}
    edits = Edits(kind=edit)
    return Run(
        number=begun.number,
        source=begun.source,
        marks=marks,
        outcomes=outcomes,
        edits=edits,
        is_good=not marks,
    )


@contextlib.contextmanager
def opened(root, path=None):
    path = path or history_path(root)
    path.parent.mkdir(exist_ok=True)
    with open_history(path) as history:
        yield history


@contextlib.contextmanager
def database(path):
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def execute(root, statement, *values):
    with database(history_path(root)) as connection:
        connection.execute(statement, values)


# How a history can be of no use, and what is said of it.
def _garbage(path):
    path.write_bytes(b"no history at all\n" * 200)


def _short(path):
    path.write_bytes(b"hello")


def _foreign(path):
    with database(path) as connection:
        connection.execute("CREATE TABLE a(b)")


def _newer(path):
    with database(path) as connection:
        connection.execute(f"PRAGMA application_id = {0x6C6F6F70}")
        connection.execute("PRAGMA user_version = 99")
        connection.execute("CREATE TABLE a(b)")


def _folder(path):
    path.mkdir()


USELESS = {
    "garbage": (_garbage, "is not a loop-close history"),
    "short": (_short, "is not a loop-close history"),
    "foreign": (_foreign, "is not a loop-close history"),
    "newer": (_newer, f"was written by a newer loop-close (format 99; this one reads {FORMAT})"),
    "folder": (_folder, "is a folder; name a file"),
}


def state_of(folder):
    """All files below, with what is in them and when they were written."""
    return {
        path.relative_to(folder): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def written(tmp_path, runs, schema="loop-close.history/1"):
    path = tmp_path / "runs.json"
    path.write_text(json.dumps({"schema": schema, "runs": runs}))
    return path


def one(**changed):
    marks = [{"test": "t", "exact": "e", "shape": "s"}]
    return {"source": "pytest", "number": 1, "record": {"marks": marks}, "summary": {}, **changed}
