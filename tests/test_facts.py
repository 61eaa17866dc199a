import pytest
from records import SRC, TEST, failure, frame, in_test, raised

from loop_close import facts
from loop_close.model import Site


def test_a_frame_that_only_hands_on_is_not_the_innermost():
    frames = [in_test(), frame(function="f"), frame(function="g", is_handing_on=True)]
    assert facts.innermost(raised(frames=frames)).function == "f"
    assert facts.innermost(raised(frames=frames[2:])).function == "g"
    assert facts.innermost(None) is None


def in_cycle(owner, *files, message="cannot import name 'X' from partially initialized module 'm'", **more):
    frames = [in_test(function="<module>"), *(frame(file, "<module>") for file in files), frame(function="f")]
    return raised("ImportError", message, frames, details={"name": "X", "owner": owner, **more})


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (None, ()),
        (raised(), ()),
        (in_cycle("a", "src/a.py", "src/b.py", message="cannot import name 'X' from 'a'"), ()),
        (in_cycle("a", "src/a.py", "src/b.py"), ("src/a.py", "src/b.py")),
        (in_cycle("a", "src/entry.py", "src/a.py", "src/b.py"), ("src/a.py", "src/b.py")),
        (in_cycle("crm.a", "src/crm/__init__.py", "src/crm/a.py"), ("src/crm/a.py",)),
        (in_cycle("crm", "src/crm/__init__.py", "src/crm/a.py"), ("src/crm/__init__.py", "src/crm/a.py")),
        (
            in_cycle(
                "module crm",
                "src/crm/X.py",
                "src/b.py",
                message="cannot access submodule 'X' of module 'crm' (most likely due to a circular import)",
            ),
            ("src/crm/X.py", "src/b.py"),
        ),
    ],
)
def test_import_cycle(exc, expected):
    assert facts.import_cycle(exc) == expected


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (None, (TEST, 3, "")),
        (raised(), (SRC, 10, "total")),
        (raised(site=Site(frame=frame(line=7, function="f"))), (SRC, 7, "f")),
        (raised(site=None), (SRC, 10, "total")),
        (raised(site=None, frames=[frame(line=1), frame(line=2, is_hidden=True)]), (SRC, 1, "total")),
        (raised(frames=[], cause=raised("B", site=None, frames=[in_test()])), (TEST, 5, "test_total")),
        (raised(frames=[], members=(raised("A", frames=[]), raised("B"))), (SRC, 10, "total")),
        (raised("SyntaxError", details={"path": "a.py", "line": "9"}), ("a.py", 9, "")),
        (raised("FileNotFoundError", details={"path": "a.txt"}), (SRC, 10, "total")),
    ],
)
def test_place(exc, expected):
    assert facts.failure_place(failure(exc, line=3)) == expected


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        ("", ""),
        ("a.py::test_x", "a.py::test_x"),
        ("[a]/b.py::test_x", "[a]/b.py::test_x"),
        ("a.py::[", "a.py::["),
        ("a.py::A::test_x[1-2]", "a.py::A::test_x"),
        ("a.py::test_x[]]", "a.py::test_x"),
        ("a.py::test_x[a[b]::c[d]]", "a.py::test_x"),
    ],
)
def test_test_function(nodeid, expected):
    assert facts.test_function(nodeid) == expected


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("total", "total"),
        ("total.<locals>.inner", "total.<locals>.inner"),
        ("total.<locals>.<lambda>", "total"),
        ("total.<locals>.<genexpr>.<locals>.<lambda>", "total"),
        ("total.<locals>.inner.<locals>.<listcomp>", "total.<locals>.inner"),
    ],
)
def test_base_name(function, name):
    assert facts.base_name(function) == name
