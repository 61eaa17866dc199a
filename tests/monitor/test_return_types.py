import pytest

from loop_close.monitor.count import ReturnTypeIndex


def code_of(tmp_path, source):
    path = tmp_path / "a.py"
    path.write_text(source, encoding="utf-8")
    space = {}
    exec(compile(source, str(path), "exec", dont_inherit=True), space)
    return space["f"].__code__


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(): 1 + 1", True),
        ("def f(): return None", True),
        ("def f(): pass", False),
        ("def f():\n    '''To be overridden.'''\n    ...", False),
        ("def f(n=0):\n    if n: return n", False),
        ("def f(n=0) -> int:\n    if n: return n", True),
        ("def f(n=0) -> 'list[int]':\n    if n: return n", True),
        ("def f() -> None: 1 + 1", False),
        ("def f(n=0) -> 'int | None':\n    if n: return n", False),
        ("def f(n=0) -> 'typing.Optional[int]':\n    if n: return n", False),
        ("def f(n=0) -> 'Any':\n    if n: return n", False),
        ("def f(n=0) -> 'T':\n    if n: return n", False),
        ("def f(n=0) -> 'ResultT':\n    if n: return n", False),
        ("def f(n=0) -> 'Text':\n    if n: return n", True),
        ("x = lambda n: n\n\n@x\n@x\ndef f() -> int: pass", True),
    ],
)
def test_must_return_a_value(tmp_path, source, expected):
    assert ReturnTypeIndex().must_return_value(code_of(tmp_path, source)) is expected


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("None", True),
        ("int | None", True),
        ("None | int | str", True),
        ("'int | None'", True),
        ("Optional[int]", True),
        ("'typing.Optional[int]'", True),
        ("'Union[int, None]'", True),
        ("'t.Union[int, Optional[str]]'", True),
        ("Callable[[int], None]", False),
        ("'Union[int, Callable[[], None]]'", False),
        ("int", False),
        ("F", False),
        ("Any", False),
        ("'int |'", False),
        ("...", False),
        ("'int\\ud800'", False),
        ("'int\\0'", False),
        ("'" + "int | " * 5_000 + "None'", False),
    ],
)
def test_annotation_allows_none(tmp_path, annotation, expected):
    source = f"from __future__ import annotations\n\ndef f(n=0) -> {annotation}:\n    if n: return n"
    assert ReturnTypeIndex().may_return_none(code_of(tmp_path, source)) is expected


def test_none_is_not_allowed_without_annotation(tmp_path):
    assert not ReturnTypeIndex().may_return_none(code_of(tmp_path, "def f(): 1 + 1"))


@pytest.mark.parametrize("text", [None, "def f(:", "# -*- coding: none -*-", "x = 1"])
def test_source_that_is_another_one_now(tmp_path, text):
    code = code_of(tmp_path, "def f(): 1 + 1")
    path = tmp_path / "a.py"
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert not ReturnTypeIndex().must_return_value(code)
