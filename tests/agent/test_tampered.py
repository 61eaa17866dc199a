"""What was done to tests is undone, or it is not."""

import pytest

from loop_close.agent.tampered import still_tampered
from loop_close.memory import Edit

TEST = "tests/test_a.py::TestA::test_f[1]"


def edit(function="TestA.test_f", change="edited", file="tests/test_a.py", asserts=(1, 1), **more):
    return Edit(file=file, function=function, change=change, asserts=asserts, **more)


@pytest.mark.parametrize(
    ("way", "edits", "is_still"),
    [
        ("deleted", [], False),
        ("deleted", [edit(change="removed", asserts=(1, 0))], True),
        ("deleted", [edit("TestA", change="removed", asserts=(0, 0))], True),
        ("deleted", [edit("", change="removed", asserts=(0, 0))], True),
        ("deleted", [edit("TestA.test_g", change="removed")], False),
        ("deleted", [edit(change="removed", file="tests/test_b.py")], False),
        ("deleted", [edit(asserts=(2, 1))], True),  # back, with less in it
        ("deleted", [edit(asserts=(1, 2))], False),
        ("deleted", [edit(change="moved", moved_to=("tests/test_a.py", "TestA.total"))], True),
        ("deleted", [edit(change="moved", moved_to=("tests/helpers.py", "TestA.test_f"))], True),
        ("deleted", [edit(change="moved", moved_to=("tests/test_b.py", "TestA.test_g"))], False),
        ("weakened", [edit(asserts=(2, 1))], True),
        ("weakened", [edit(asserts=(2, 1), is_effective=False)], False),
        ("skipped", [], False),
        ("skipped", [edit()], True),
        ("skipped", [edit("<module>")], True),
        ("skipped", [edit("TestA.test_g")], False),
        ("skipped", [edit("total", file="src/a.py")], False),
        ("xfailed", [edit("pytest_collection_modifyitems", file="tests/conftest.py")], True),
        ("uncollected", [edit("", file="pyproject.toml")], True),
        ("uncollected", [edit("", file="pytest.toml")], True),
        ("uncollected", [edit("total", file="src/a.py")], False),
    ],
)
def test_what_is_left_of_it(way, edits, is_still):
    assert still_tampered({TEST: way}, edits) == ({TEST: way} if is_still else {})


def test_where_edits_are_not_known_nothing_is_forgotten():
    assert still_tampered({TEST: "deleted"}, None) == {TEST: "deleted"}


def test_test_that_goes_by_its_new_name():
    moved = [Edit(file="test_a.py", function="test_f", change="moved", moved_to=("test_a.py", "helper"))]
    assert still_tampered({"test_a.py::helper": "uncollected"}, moved) == {"test_a.py::helper": "uncollected"}
    assert still_tampered({"test_a.py::helper": "uncollected"}, []) == {}


def test_function_of_a_file_without_classes():
    gone = [Edit(file="test_a.py", function="test_f", change="removed")]
    assert still_tampered({"test_a.py::test_f": "deleted", "test_a.py::test_g": "deleted"}, gone) == {
        "test_a.py::test_f": "deleted"
    }
