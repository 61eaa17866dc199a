import json
import runpy
from importlib import resources
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import edited, loop, step
from msgspec.structs import replace
from records import any_text, failure, failures, hostile, observed, raised

import loop_close
from loop_close.judge import report_of
from loop_close.prompt.report_json import SCHEMA, dump, report_document
from loop_close.records import CheckState, Edits, Loop, Objection, OldOutcome, Signal, State
from loop_close.text import sanitize

values = st.recursive(
    st.none() | st.booleans() | st.integers() | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)


def text_of(document):
    return "".join(dump(document))


PATH = resources.files(loop_close) / "schema" / "report-1.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(PATH.read_text(encoding="utf-8")))


@given(
    st.dictionaries(
        any_text, values | st.lists(st.dictionaries(any_text, values, max_size=2), max_size=3), max_size=4
    )
)
def test_dump_is_json_of_the_document(document):
    assert json.loads(text_of(document)) == document


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


@settings(max_examples=50)
@given(st.lists(failures, max_size=4), hostile, st.sampled_from([None, 0, 1, 3]))
def test_any_report(found, incomplete, code):
    report = report_of(observed(*found, exit_code=code, incomplete=incomplete))
    document = report_document(report, "# prompt\n")
    VALIDATOR.validate(document)
    text = text_of(document)
    assert json.loads(text) == document
    text.encode("utf-8")
    assert document["schema"] == SCHEMA
    assert sum(c["count"] for c in document["root_causes"]) == len(found)
    assert all(value == sanitize(value) for value in strings(document))


def test_every_message_is_kept_whole():
    found = [failure(raised(message=f"line {n}\n" * 900), f"t.py::{n}") for n in range(50)]
    document = report_document(report_of(observed(*found)), "")
    whole = [e["snippet"] for e in document["evidence"] if e["test"]]
    assert sorted(whole) == sorted(f.message for f in found)
    assert all(line.count('"test"') <= 1 for line in dump(document))


def test_credentials_are_not_in_it():
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    exc = raised(f"Error[{secret}]", f"token {secret}", cause=raised(message=secret, module=secret))
    found = failure(exc, f"t.py::test[{secret}]", subtest=secret, file=f"{secret}.py")
    assert secret not in text_of(report_document(report_of(observed(found, incomplete=secret)), ""))


def test_each_failure_names_its_root_cause():
    found = [
        failure(raised("KeyError"), "t.py::a"),
        failure(raised("KeyError"), "t.py::b"),
        failure(raised("E"), "t.py::c"),
    ]
    document = report_document(report_of(observed(*found)), "")
    by_test = {e["test"]: e["cause"] for e in document["evidence"] if e["test"]}
    assert by_test == {test: c["id"] for c in document["root_causes"] for test in c["tests"]}


def test_schema_is_one():
    VALIDATOR.check_schema(VALIDATOR.schema)
    assert SCHEMA in json.dumps(VALIDATOR.schema)


OLD_MSGSPEC = tuple(map(int, msgspec.__version__.split(".")[:2])) < (0, 20)


@pytest.mark.skipif(OLD_MSGSPEC, reason="msgspec before 0.20 words the schema in another way")
def test_the_schema_is_that_of_the_records():
    made = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "schema.py"))["schema"]()
    assert made == VALIDATOR.schema


OBJECTION = Objection(tests=(OldOutcome(test="t.py::a", outcome="failed"),))
STATE = State(
    verdict="objected",
    reason="The old tests do not pass.",
    command="loop-close check",
    checks=(CheckState(name="tests", verdict="objected", run=5, objection=OBJECTION),),
)


def test_the_loop_and_the_state_are_their_records():
    so_far = loop(
        step(4), step(5, edits=edited(diff="-a\n+b"), fixed=("t.py::b",)), stalled=1, best=1, base=3
    )
    signal = Signal(kind="no-edit", runs=(4, 5), explanation="x")
    report = replace(
        report_of(observed(failure())), run=5, loop=so_far, signals=(signal,), state=STATE, since=edited()
    )
    document = report_document(report, "")
    VALIDATOR.validate(document)
    assert document["number"] == 5
    assert msgspec.convert(document["loop"], Loop) == so_far
    assert msgspec.convert(document["signals"], list[Signal]) == [signal]
    assert msgspec.convert(document["state"], State) == STATE
    assert msgspec.convert(document["since"], Edits) == edited()


def test_edited_functions_and_whether_a_test_ran_them():
    functions = (("a.py", "f", False), ("a.py", "g", True))
    document = report_document(replace(report_of(observed(exit_code=0)), edited=functions), "")
    VALIDATOR.validate(document)
    assert document["edited"] == [["a.py", "f", False], ["a.py", "g", True]]
