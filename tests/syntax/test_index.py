import inspect
import itertools
import textwrap
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.syntax import index_source, is_placeholder_body, lines_of, statement_at


def parsed(text):
    return index_source(textwrap.dedent(text).lstrip("\n"))


def first_function(text):
    return next(iter(parsed(text).functions.values()))


@pytest.mark.parametrize(
    "text",
    [
        "def f(:",
        "\x00",
        "  x",
        "(" * 5000,
        "-" * 20_000 + "1",
        "x = '\ud800'",
    ],
)
def test_text_that_is_no_python_has_no_index(text):
    assert index_source(text) is None


@pytest.mark.parametrize("number", [100, 850, 1200, 3000, 20_000])
def test_code_that_goes_on_and_on_is_no_error(number):
    arms = "".join(f"elif x == {n}:\n    y = {n}\n" for n in range(number))
    index_source("if x:\n    y = 0\n" + arms)
    index_source("x = " + " + ".join(["'a'"] * number))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    return None", False),
        ("def f():\n    '''doc'''\n    x = 1\n", False),
        ("def f():\n    yield", False),
        ("@overload\ndef f(): ...", False),
        ("@abc.abstractproperty\ndef f(): pass", False),
        ("@property\n@abc.abstractmethod\ndef f(): pass", False),
        ("def f(): ...", True),
        ("async def f():\n    pass\n    ...", True),
        ("@cache\ndef f():\n    '''doc'''\n    ...", True),
    ],
)
def test_is_placeholder_body(text, expected):
    assert is_placeholder_body(first_function(text)) is expected


SOURCES = [inspect.getsource(module).splitlines() for module in (inspect, textwrap, typing)]


@st.composite
def some_source(draw):
    """A definition of a real module, some of its lines left out."""
    lines = draw(st.sampled_from(SOURCES))
    starts = [number for number, text in enumerate(lines) if text.startswith(("def ", "class "))]
    start, end = draw(st.sampled_from([*itertools.pairwise(starts)]))
    left_out = draw(st.sets(st.integers(start + 1, end), max_size=2))
    return "\n".join(lines[number] for number in range(start, end) if number not in left_out)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@given(some_source() | st.text(max_size=40), st.integers(0, 40))
def test_any_text_can_be_asked(text, line):
    found = index_source(text)
    if found is None:
        return
    for owner in [found.tree, *found.functions.values()]:
        statement = statement_at(owner, line)
        if statement is not None:
            first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
            assert first <= line <= statement.end_lineno
    assert all(is_placeholder_body(f) in (True, False) for f in found.functions.values())


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        *(("f", 0, (7, 8)), ("f", 6, (6, 6)), ("f", 8, (7, 8)), ("f", 5, (0, 0)), ("f", 99, (0, 0))),
        *(("A", 0, (1, 5)), ("A.f", 0, (2, 3)), ("A.f", 2, (2, 3)), ("A.g", 0, (4, 5))),
        *(("f.<locals>.g", 0, (8, 8)), ("g", 0, (0, 0)), ("<module>", 0, (0, 0)), ("", 0, (0, 0))),
    ],
)
def test_lines_of_a_definition(name, line, expected):
    text = """
    class A:
        @d
        def f(self): ...
        def g(self):
            ...
    def f(): ...
    def f():
        def g(): ...
    """
    assert lines_of(parsed(text), name, line) == expected
