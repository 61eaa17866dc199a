"""Rows of the store as a timeline takes them."""

from loops import edits

from loop_close.emit import document_of
from loop_close.records import Counts, Edit, FailureRecord, Run
from loop_close.text.redact import clean

START = 1_700_000_000.0


def mark(test, cause="1a", phase="call", source="pytest", **fields):
    fields = {
        "exception": "AssertionError",
        "where": "src/a.py:f",
        "line": 7,
        "message": "assert <n>",
        **fields,
    }
    fields |= {
        name: clean(text) for name, text in fields.items() if isinstance(text, str)
    }  # as it enters the store
    return FailureRecord(
        source=source,
        test=clean(test),
        cause=cause,
        shape=f"s{test}",
        exact=f"e{test}",
        phase=phase,
        **fields,
    )


def suspect(function="total", score=0.91, **fields):
    at = {"file": "src/a.py", "line": 3, "function": function, "score": score}
    return {**at, "reasons": ["called by all 2 failing tests"], **fields}


def cause(*tests, **fields):
    """A root cause as the report of the last run has it."""
    (first, *_) = suspects = fields.pop("suspects", [suspect()])
    found = {
        "id": "",
        "kind": "",
        "title": f"{first['function']}() in {first['file']}:3 ({first['score']:.0%} probable)",
        "message": "assert 1 == 2",
        "location": {"file": "tests/test_a.py", "line": 12, "function": "test_a"},
        "suspects": suspects,
        "tests": tests,
        **fields,
    }
    whole = {"summary": "", "verdict": "red", "incomplete": "", "sources": []}
    return document_of({**whole, "root_causes": [found], "evidence": []}).root_causes[0]


def edited(*functions, kind="effective", file="src/a.py"):
    found = (Edit(file=file, function=name, is_effective=kind == "effective") for name in functions)
    return edits(*found, kind=kind)


def entry(number, *marks, check="", passed=(), skipped=(), **fields):
    """One run by its failures; green without any. Without outcomes it tells only what fails."""
    outcomes = {"pytest": {**dict.fromkeys(passed, "passed"), **dict.fromkeys(skipped, "skipped")}}
    return Run(
        id=f"id{number}",
        number=number,
        check=check,
        began=START + 60 * number,
        seconds=1.5,
        is_green=not marks,
        exit_code=len(marks),
        failures=marks,
        counts=Counts(passed=30, failed=len(marks)),
        outcomes=outcomes if passed or skipped else {},
        **{"is_finished": True, "command": ("pytest",), **fields},
    )


def flickering(runs, tests, causes=20):
    """Many runs in which about one test in thirty fails, in an order that nothing compresses well."""
    found, seed = [], 12_345
    for number in range(1, runs + 1):
        failing = []
        for test in range(tests):
            seed = (seed * 1_103_515_245 + 12_345) % 2**31
            if seed >> 16 & 31 == 0:
                failing.append((test, (seed >> 8) % causes))
        marks = [
            mark(
                f"tests/unit/test_{t % 50}.py::TestIt::test_case_{t}[a-{t}]",
                f"1{c}",
                message=f"assert {c}\n" * 5,
            )
            for t, c in failing
        ]
        between = edited(f"function_{number % 17}", file=f"src/part_{number % 40}.py")
        found.append(entry(number, *marks, edits=between))
    return found
