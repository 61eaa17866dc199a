"""Write many runs at once through SQL; knows the tables and nothing else, so that benchmarks can use it."""

import json
import sqlite3
from hashlib import blake2b


def many_runs(path, runs, failures, source="pytest", distinct=1):
    """Add to the history in the file, which is there, so many runs that have so many failures each.

    :param distinct: every so many runs the failures are others.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        first = connection.execute("SELECT coalesce(max(id), 0) FROM runs").fetchone()[0] + 1
        number = connection.execute("SELECT coalesce(max(last), 0) FROM sources WHERE source = ?", (source,))
        _rows(connection, first, number.fetchone()[0] + 1, runs, failures, source)
        _failures(connection, first, runs, failures, distinct)
        connection.execute("COMMIT")
    finally:
        connection.close()


def _rows(connection, first, number, runs, failures, source):
    summary = json.dumps({"verdict": "red", "failed": failures})
    record = json.dumps({"exit_code": 1, "passed": 10})
    (snapshot,) = connection.execute("SELECT snapshot FROM project").fetchone()
    connection.executemany(
        "INSERT INTO runs(id, source, number, state, is_told, started, ended, exit_code, passed, failures, pid,"
        " birth, host, snapshot, summary, record) VALUES(?, ?, ?, 'done', 1, ?, ?, 1, 10, ?, 1, '', 'bulk', ?, ?, ?)",
        (
            (first + i, source, number + i, float(i), i + 0.5, failures, snapshot, summary, record)
            for i in range(runs)
        ),
    )
    last = number + runs - 1
    connection.execute("REPLACE INTO sources(source, last, keeps) VALUES(?, ?, ?)", (source, last, last + 1))


def _failures(connection, first, runs, failures, distinct):
    (mark,) = connection.execute("SELECT coalesce(max(id), 0) FROM marks").fetchone()
    for start in range(0, runs, distinct):
        some = range(start, min(start + distinct, runs))
        marks = [_mark(first + start, index) for index in range(failures)]
        connection.executemany(
            "INSERT INTO marks(id, digest, last, data) VALUES(?, ?, ?, ?)",
            (
                (mark + i, blake2b(text.encode(), digest_size=16).digest(), first + some[-1], text)
                for i, text in enumerate(marks, 1)
            ),
        )
        connection.executemany(
            "INSERT INTO failures(run, position, mark) VALUES(?, ?, ?)",
            ((first + run, i, mark + i + 1) for run in some for i in range(failures)),
        )
        mark += failures


def _mark(run, index):
    text = f"tests/test_module_{index % 40}.py::test_number_{index}[{run}]"
    digest = blake2b(text.encode(), digest_size=12).hexdigest()
    mark = {"test": text, "exact": digest, "shape": digest[::-1], "cause": digest[4:], "family": digest[:8]}
    wording = {
        "message": "assert <n> == <n>",
        "exception": "AssertionError",
        "where": "src/a.py:f",
        "line": 7,
    }
    return json.dumps(mark | wording)
