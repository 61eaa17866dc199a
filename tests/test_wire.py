import msgspec
import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from records import exceptions, frame, origin, raised, source

from loop_close.model import Difference, Raised, Site
from loop_close.readers.pytest_reports import from_wire, to_wire


def arrived(value):
    """The record as it has to arrive: with its lone surrogates replaced."""
    if isinstance(value, msgspec.Struct):
        return replace(value, **{name: arrived(getattr(value, name)) for name in value.__struct_fields__})
    if isinstance(value, tuple):
        return tuple(map(arrived, value))
    if isinstance(value, dict):
        return {key: arrived(item) for key, item in value.items()}
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


def test_smallest():
    exc = Raised(type="ValueError", message="")
    assert from_wire(to_wire(exc)) == exc


def test_everything():
    exc = raised(
        module="pkg",
        bases=("Exception",),
        frames=[
            frame(is_hidden=True, is_handing_on=True, source=source("a", "b", start=3)),
            frame(source=None),
        ],
        details={"name": "x", "line": "3"},
        nearest=("y", "z"),
        differences=(Difference(path="[0].x", left="1", right=""), Difference(path="", left="a", right="b")),
        site=Site(
            frame=frame(),
            statement="f()",
            values=(("a", "1"), ("b", "[]")),
            origins=(origin(is_empty=True, source=source("a")), origin()),
        ),
        cause=raised("KeyError", context=raised("TypeError")),
        members=(raised("IndexError", members=(raised(),)),),
        omitted_members=4,
    )
    assert from_wire(to_wire(exc)) == exc


def test_lone_surrogates_are_replaced():
    exc = Raised(type="E", message="a\ud800b é", bases=("\udfff",), details={"name": "\udc80"})
    found = from_wire(to_wire(exc))
    assert found == replace(exc, message="a?b é", bases=("?",), details={"name": "?"})


def test_text_of_a_class_of_its_own():
    class Text(str):
        def __str__(self):
            return "something else"

    found = from_wire(to_wire(Raised(type="E", message=Text("é"))))
    assert found.message == "é"


@settings(max_examples=50)
@given(exceptions)
def test_there_and_back(exc):
    data = to_wire(exc)
    data.encode("utf-8")
    assert from_wire(data) == arrived(exc)


@pytest.mark.parametrize("data", ["", "{}", '{"type": "E"}', '{"type": "E", "message": "", "frames": [1]}'])
def test_what_was_not_made_by_it(data):
    with pytest.raises(msgspec.DecodeError):
        from_wire(data)
