"""Recorded runs as a timeline takes them."""

from loop_close.emit.timeline import RunEntry
from loop_close.memory import Edit, Edits, FailureRecord, Run

START = 1_700_000_000.0


def mark(test, cause="1a", phase="call", **fields):
    fields = {
        "exception": "AssertionError",
        "where": "src/a.py:f",
        "line": 7,
        "message": "assert <n>",
        **fields,
    }
    return FailureRecord(test=test, cause=cause, shape=f"s{test}", exact=f"e{test}", phase=phase, **fields)


def cause(name="aaaa1111", keys=("1a",), **fields):
    """A root cause as the summary of a run holds it."""
    return {
        "id": name,
        "kind": "test-failure",
        "exception": "AssertionError",
        "message": "assert 1 == 2",
        "location": {"file": "tests/test_a.py", "line": 12, "function": "test_a"},
        "count": 1,
        "keys": list(keys),
        "suspects": [suspect()],
        **fields,
    }


def suspect(function="total", score=0.91, **fields):
    at = {"file": "src/a.py", "line": 3, "end_line": 9, "function": function, "score": score}
    return {**at, "reasons": ["called by all 2 failing tests"], **fields}


def edited(*functions, kind="effective", file="src/a.py"):
    edits = tuple(Edit(file=file, function=name, is_effective=kind == "effective") for name in functions)
    return Edits(kind=kind, edits=edits)


def entry(
    number, *marks, source="pytest", verdict=None, causes=(), signals=(), state="done", summary=None, **fields
):
    """One run by its failures; green without any."""
    run = (
        None
        if state == "running"
        else Run(number=number, source=source, marks=marks, **{"is_good": not marks, **fields})
    )
    plain = {"verdict": verdict or ("no-progress" if marks else "green"), "failing": len(marks)}
    plain |= {"causes": list(causes)} if causes else {}
    plain |= {"signals": [{"kind": k, "is_on": True, "explanation": said} for k, said in signals]}
    return RunEntry(
        source=source,
        number=number,
        state=state,
        started=START + 60 * number,
        ended=None if state == "running" else START + 60 * number + 1.5,
        passed=30,
        skipped=0,
        failures=len(marks),
        summary=summary if summary is not None else {} if run is None else plain,
        run=run,
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
            mark(f"tests/unit/test_{t % 50}.py::TestIt::test_case_{t}[a-{t}]", f"1{c}") for t, c in failing
        ]
        seen = sorted({c for _, c in failing})
        named = [cause(f"{c:08x}", (f"1{c}",), message=f"assert {c}\n" * 5) for c in seen]
        edits = edited(f"function_{number % 17}", file=f"src/part_{number % 40}.py")
        found.append(entry(number, *marks, causes=named, edits=edits, signals=[("no-edit", f"run {number}")]))
    return found
