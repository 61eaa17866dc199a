import msgspec
import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from records import exceptions

from loop_close.model import Raised
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
