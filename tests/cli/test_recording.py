"""Runs from files: those that are there, and those that are something else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from remembered import called, one, written


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([], "has no finished run"),
        ([one(record=None)], "has no finished run"),
        ([3], "runs[0]: expected a run, got int"),
        ([one(), {"source": "a"}], "runs[1]: number is missing"),
        ([one(), one()], "runs[1]: run 1 of pytest appears twice"),
        ([one(record=[])], "runs[0]: record: expected an object, got list"),
        ([one(number="1")], "runs[0]: expected int, got str"),
        ([one(number=True)], "runs[0]: expected int, got bool"),
        ([one(source=[])], "runs[0]: expected str, got list"),
        ([one(record={"marks": 3})], "runs[0]: expected a list, got int"),
        ([one(record={"marks": [{}]})], "runs[0]: "),
        ([one(record={"outcomes": {"t": "melted"}})], "runs[0]: not one of passed, skipped, xfailed"),
    ],
)
def test_odd_runs_are_named(tmp_path, runs, said):
    code, shown, errors = called("replay", written(tmp_path, runs))
    assert (code, shown) == (64, "")
    assert said in errors


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is neither a history database nor the output of loop-close history --json: "),
        (b"\xff\xfe\xff", "is neither a history database nor the output"),
        (b"[" * 100_000, "is neither a history database nor the output"),
        (
            b"{}",
            "is not the output of loop-close history --json: it needs schema loop-close.history/1 and runs",
        ),
        (b"[]", "is not the output of loop-close history --json"),
        (b'{"schema": 1}', "is not the output of loop-close history --json"),
        (b'{"schema": "loop-close.report/1"}', "is not the output of loop-close history --json"),
        (b'{"schema": "loop-close.history/1", "runs": {}}', "is not the output of loop-close history --json"),
        (
            b'{"schema": "loop-close.history/2"}',
            "has schema loop-close.history/2; this version reads loop-close.history/1",
        ),
    ],
)
@pytest.mark.parametrize("name", ["-", "file"])
def test_files_that_are_something_else(tmp_path, data, said, name):
    (tmp_path / "file").write_bytes(data)
    code, shown, errors = called("replay", name, data=data)
    assert (code, shown) == (64, "")
    assert errors.startswith(f"loop-close: {name} {said}")


@pytest.mark.parametrize(
    ("name", "said"), [("none", "cannot read none: No such file"), (".", "cannot read .: Is a ")]
)
def test_files_that_cannot_be_read(name, said):
    code, shown, errors = called("replay", name)
    assert (code, shown) == (64, "")
    assert said in errors


TEXT = st.sampled_from(["", "t", "u", "\x1b[2J", "\ud800", "a::b"])
VALUE = st.one_of(TEXT, st.integers(-2, 3), st.booleans(), st.none(), st.just([]), st.just({}))
MARK = st.dictionaries(st.sampled_from(["test", "shape", "family", "message", "phase", "line"]), VALUE)
EDITS = st.fixed_dictionaries({}, optional={"kind": VALUE, "edits": VALUE, "omitted": VALUE})
OUTCOME = st.one_of(st.sampled_from(["passed", "skipped", "xfailed"]), VALUE)
RECORD = st.fixed_dictionaries(
    {
        "marks": st.lists(
            MARK | st.fixed_dictionaries({"test": TEXT, "shape": TEXT, "message": TEXT}), max_size=3
        )
    },
    optional={
        "outcomes": st.dictionaries(TEXT, OUTCOME, max_size=2),
        "edits": EDITS,
        "is_good": VALUE,
        "is_full": VALUE,
        "is_killed": VALUE,
        "selection": VALUE,
    },
)
RUN = st.fixed_dictionaries(
    {"source": TEXT, "number": st.integers(-3, 9), "record": RECORD},
    optional={"summary": st.one_of(VALUE, st.fixed_dictionaries({"verdict": VALUE}))},
)


@pytest.mark.slow
@given(st.lists(RUN, max_size=6))
def test_whatever_a_file_holds_is_replayed_or_named(runs):
    data = json.dumps({"schema": "loop-close.history/1", "runs": runs}).encode()
    for words in ((), ("--json",)):
        code, shown, errors = called("replay", "-", *words, data=data)
        assert code in (0, 64)
        assert bool(shown) == (code == 0)
        assert bool(errors) == (code == 64)
        assert "\x1b" not in shown
