import json
import zlib
from contextlib import suppress
from dataclasses import is_dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close import memory
from loop_close.memory import (
    Breaker,
    Edit,
    Edits,
    Episode,
    FailureRecord,
    FailureShape,
    KnownTest,
    Progress,
    Run,
    Signal,
    Step,
)
from loop_close.store import HistoryError
from loop_close.store.records import (
    RecordError,
    from_json,
    from_text,
    to_content,
    to_json,
    to_plain,
    to_record,
    to_text,
)

KINDS = [
    FailureRecord,
    Edit,
    Edits,
    Run,
    memory.FailureShape,
    KnownTest,
    Step,
    Episode,
    Signal,
    Breaker,
    Progress,
]
# st.from_type resolves the annotations of frozen classes; any text at all, lone surrogates too
for each in vars(memory).values():
    if isinstance(each, type) and is_dataclass(each):
        with suppress(TypeError):
            each()  # its signature is made when it is first called
st.register_type_strategy(str, st.text(st.characters(codec=None), max_size=8))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_record_comes_back_as_it_was(kind, data):
    record = data.draw(st.from_type(kind))
    assert to_record(kind, to_json(from_json(to_plain(record)))) == record


def test_only_what_differs_from_its_default_is_written():
    assert to_plain(FailureRecord(test="t", got="1")) == {"test": "t", "got": "1"}
    assert to_plain(Run(number=1, edits=Edits(kind="none"))) == {"number": 1, "edits": {"kind": "none"}}
    assert to_plain(Episode()) == {}


def test_names_that_are_not_known_are_passed_over():
    plain = {"test": "t", "of_tomorrow": [1]}
    assert to_record(FailureRecord, plain) == FailureRecord(test="t")
    assert to_record(Episode, {"tests": {"t": {"status": "failing", "mark": plain, "since": 1, "x": 1}}})


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        (FailureRecord, None),
        (FailureRecord, []),
        (FailureRecord, {}),
        (FailureRecord, {"test": 1}),
        (FailureRecord, {"test": None}),
        (FailureRecord, {"test": "t", "line": "1"}),
        (FailureRecord, {"test": "t", "line": True}),
        (FailureRecord, {"test": "t", "line": 1.0}),
        (FailureRecord, {"test": "t", "is_infrastructure": 1}),
        (Run, {"number": 1, "exit_code": "0"}),
        (Run, {"number": 1, "marks": {}}),
        (Run, {"number": 1, "marks": [[]]}),
        (Run, {"number": 1, "outcomes": []}),
        (Run, {"number": 1, "outcomes": {"t": "failed"}}),
        (Run, {"number": 1, "outcomes": {"t": ["passed"]}}),
        (Edits, {"kind": "some"}),
        (Edit, {"file": "a", "moved_to": ["b"]}),
        (Edit, {"file": "a", "moved_to": ["b", 2]}),
        (Edit, {"file": "a", "moved_to": "12"}),
        (Episode, {"tests": {"t": {"status": "failing"}}}),
        (Episode, {"steps": 3}),
    ],
)
def test_what_is_no_record_is_refused(kind, plain):
    with pytest.raises(RecordError):
        to_record(kind, plain)


def test_long_values_are_compressed_and_short_ones_can_be_read_by_eye():
    assert from_json({"a": 1}) == '{"a":1}'
    long = ["text"] * 1_000
    assert len(from_json(long)) < 100
    assert to_json(from_json(long)) == long


@pytest.mark.parametrize("column", [None, 1, "", "{", "[" * 100_000, b"", b"x", from_json([1] * 5_000)[:-9]])
def test_column_that_holds_no_json_is_refused(column):
    with pytest.raises(RecordError):
        to_json(column)


@given(st.text(st.characters(codec=None)))
def test_text_comes_back_from_a_column(text):
    column = from_text(text)
    assert to_text(column) == text
    if isinstance(column, str):
        column.encode()


@pytest.mark.parametrize("column", [None, 1, b"\xff"])
def test_column_that_holds_no_text_is_refused(column):
    with pytest.raises(RecordError):
        to_text(column)


BOMB = zlib.compress(b" " * 30_000_000 + b"1")


@pytest.mark.parametrize("column", [BOMB, " " * 25_000_000 + "1"], ids=["packed", "plain"])
def test_column_that_holds_too_much_is_refused(column):
    with pytest.raises(RecordError):
        to_json(column)


def test_what_could_not_be_read_again_is_not_written():
    with pytest.raises(HistoryError, match="too large"):
        from_json("x" * 25_000_000)


@pytest.mark.slow
def test_episode_of_thousands_of_tests_fits_however_they_failed():
    digest = "d" * 32
    long = FailureRecord(
        **dict.fromkeys(("exact", "shape", "cause", "family"), digest),
        **dict.fromkeys(("exception", "where", "got", "want"), "w" * 40),
        test="tests/integration/test_things.py::TestThings::test_" + "x" * 60,
        message="m" * 200,
    )
    form = FailureShape(shape=digest, family=digest, message=long.message, runs=tuple(range(100, 112)))
    known = KnownTest(
        status="failing",
        mark=long,
        since=1,
        forms=(form,) * 16,
        flips=form.runs,
        values=((100, long.got),) * 8,
    )
    tests = {f"{long.test}{index}": known for index in range(3_000)}
    episode = Episode(tests=tests)
    assert to_record(Episode, to_json(from_json(to_plain(episode)))) == episode


def test_content_is_unpacked_as_far_as_it_may_be():
    assert to_content(zlib.compress(bytes(262_144)), 262_144) == bytes(262_144)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (None, 1),
        (b"x", None),
        (b"x", 1),
        (json.dumps(1), 1),
        (zlib.compress(bytes(400_000)), 400_000),
        (BOMB, 30_000_001),
        (BOMB, 10),
        (zlib.compress(b""), -1),
        (zlib.compress(b"ab"), 2**70),
    ],
)
def test_column_that_holds_no_content_is_refused(data, size):
    with pytest.raises(RecordError):
        to_content(data, size)
