import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import frame, origin, raised, source

from loop_close.model import Raised, Site
from loop_close.readers.pytest_reports import from_wire, to_wire

FULL = raised(
    frames=[frame(source=source("def total():", "    return 1", start=3)), frame(line=12)],
    site=Site(frame=frame(), statement="x()", origins=(origin(source=source("a")), origin(file="", line=0))),
    bases=("Exception", "BaseException"),
    details={"name": "x", "path": "y"},
    cause=raised("KeyError", "'low'", cause=raised("OSError", "lower")),
    members=(raised("TypeError", "leaf", context=raised("KeyError")), raised(frames=())),
    omitted_members=3,
)


@pytest.mark.parametrize(
    "record", [Raised(type="E", message=""), raised(), FULL], ids=["bare", "usual", "full"]
)
def test_record_comes_back_as_it_was(record):
    assert from_wire(to_wire(record)) == record


def plain(value):
    if isinstance(value, dict):
        return all(type(key) is str and plain(item) for key, item in value.items())
    if type(value) is tuple:
        return all(plain(item) for item in value)
    return type(value) in (str, int, bool, type(None))


def test_only_plain_values_go_over_the_wire():
    assert plain(to_wire(FULL))
    json.dumps(to_wire(FULL))


def test_subclass_of_str_goes_over_the_wire_as_a_str():
    class Strange(str):
        def __str__(self):
            return self

    sent = to_wire(Raised(type="E", message=Strange("text"), details={"name": Strange("ä")}))
    assert type(sent["message"]) is str
    assert type(sent["details"]["name"]) is str


@given(st.text(st.characters(categories=["L", "Cs", "Cc", "Cf", "So"])))
def test_any_text_can_be_encoded_on_the_other_side(text):
    sent = to_wire(Raised(type="E", message=text, details={"name": text}))
    assert sent["message"].encode("utf-8") == text.encode("utf-8", "replace")
    assert from_wire(sent).details["name"] == sent["message"]


@pytest.mark.parametrize("data", [{}, {"type": "E"}, {**to_wire(FULL), "frames": 1}])
def test_what_was_not_made_by_it_is_an_error(data):
    with pytest.raises(msgspec.ValidationError):
        from_wire(data)
