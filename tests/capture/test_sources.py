import pytest

from loop_close.capture import (
    MAX_LINE,
    MAX_LINES,
    function_of,
    index_of,
    source_around,
    source_between,
)
from loop_close.model import SourceLines


@pytest.fixture
def numbered(tmp_path):
    path = tmp_path / "numbered.py"
    path.write_text("".join(f"line {n}\n" for n in range(1, 301)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("first", "last", "line", "start", "end"),
    [
        (1, 1, 1, 1, 1),
        (5, 9, 7, 5, 9),
        (1, 60, 1, 1, 60),
        (1, 61, 1, 1, 60),
        (1, 300, 150, 120, 179),
        (1, 300, 300, 241, 300),
        (1, 300, 1, 1, 60),
        (100, 200, 199, 141, 200),
        (290, 320, 295, 290, 300),
    ],
)
def test_lines_between(numbered, first, last, line, start, end):
    found = source_between(numbered, first, last, line)
    assert (found.start, found.lines[0], found.lines[-1]) == (start, f"line {start}", f"line {end}")
    assert len(found.lines) == end - start + 1 <= MAX_LINES
    assert f"line {line}" in found.lines


def test_long_lines_are_cut(tmp_path):
    path = tmp_path / "long.py"
    path.write_text("x" * (MAX_LINE + 1) + "\r\n", encoding="utf-8")
    assert source_between(str(path), 1, 1, 1) == SourceLines(start=1, lines=("x" * MAX_LINE,))


def test_function_and_its_source(written):
    module = written.load(
        "src/rows.py", "x = 1\n\ndef deco(f): return f\n\n@deco\ndef f():\n    a = 1\n    return a\n"
    )
    assert function_of(module.f.__code__).name == "f"
    assert source_around(module.f.__code__, 7) == SourceLines(
        start=5, lines=("@deco", "def f():", "    a = 1", "    return a")
    )


def test_source_of_what_is_no_function(written):
    module = written.load(
        "src/lambdas.py", "".join(f"x{n} = {n}\n" for n in range(9)) + "f = lambda: 1\ny = 1\n"
    )
    assert function_of(module.f.__code__) is None
    assert source_around(module.f.__code__, 10) == SourceLines(
        start=5, lines=(*(f"x{n} = {n}" for n in range(4, 9)), "f = lambda: 1", "y = 1")
    )


def test_an_odd_escape_in_a_file_that_is_not_ours_warns_nobody(tmp_path, recwarn):
    path = tmp_path / "odd.py"
    path.write_text('PATTERN = "\\d"\n')
    assert index_of(str(path)) is not None
    assert not recwarn.list


@pytest.mark.parametrize("inner", ["[1 / n for n in x]", "sum(1 / n for n in x)", "(lambda: 1 / x[0])()"])
def test_source_of_what_is_inside_a_function_is_that_of_the_function(written, inner):
    above = "def above(x):\n    if x:\n        x -= 1\n    return x\n\n\n"
    module = written.load("src/inner.py", f"{above}def names(x):\n    return {inner}\n")
    with pytest.raises(ZeroDivisionError) as caught:
        module.names([0])
    code = caught.traceback[-1].frame.code.raw
    assert source_around(code, 8) == SourceLines(start=7, lines=("def names(x):", f"    return {inner}"))
