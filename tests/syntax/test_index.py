import ast
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.syntax import (
    enclosing_function,
    index_source,
    is_placeholder_body,
    lines_of,
    statement_at,
)


def parsed(text):
    return index_source(textwrap.dedent(text).lstrip("\n"))


def first_function(text):
    return next(iter(parsed(text).functions.values()))


@pytest.mark.parametrize(
    "text",
    [
        "def f(:",
        "x = (",
        "\x00",
        "  x",
        "print 'two'",
        "(" * 5000,
        "-" * 20_000 + "1",
        "x = '\ud800'",
        "é\udfff",
    ],
)
def test_text_that_is_no_python_has_no_index(text):
    assert index_source(text) is None


@pytest.mark.parametrize(
    ("text", "functions", "classes"),
    [
        ("", {}, {}),
        ("x = lambda: 1\ny = [f for f in ()]", {}, {}),
        ("def f(): ...", {1: "f"}, {}),
        ("async def f():\n    pass", {1: "f"}, {}),
        ("@a\n@b(\n  1)\ndef f(): ...", {1: "f"}, {}),
        ("def f():\n    def g():\n        class A: ...\n", {1: "f", 2: "g"}, {"f.<locals>.g.<locals>.A": 3}),
        ("class A:\n  class B:\n    async def m(s): ...\n", {3: "m"}, {"A": 1, "A.B": 2}),
        ("@d\nclass A:\n    @property\n    def p(self): ...\n", {3: "p"}, {"A": 2}),
        ("if x:\n  def f(): ...\nelse:\n  def f(): ...\n", {2: "f", 4: "f"}, {}),
        (
            "try:\n  def f(): ...\nexcept E:\n  class A: ...\nfinally:\n  def g(): ...\n",
            {2: "f", 6: "g"},
            {"A": 4},
        ),
        ("with a:\n  for b in c:\n    while d:\n      def f(): ...\n", {4: "f"}, {}),
        ("match x:\n  case 1:\n    def f(): ...\n  case _:\n    class A: ...\n", {3: "f"}, {"A": 5}),
    ],
)
def test_definitions(text, functions, classes):
    found = index_source(text)
    assert {line: node.name for line, node in found.functions.items()} == functions
    assert found.classes == classes


def test_functions_are_found_by_what_python_calls_their_first_line():
    text = textwrap.dedent(
        """
        import functools

        class A:
            @functools.cache
            @staticmethod
            def m(): ...

            async def n(self):
                def inner(): ...
                return inner
        """
    )
    namespace = {}
    exec(compile(text, "<x>", "exec"), namespace)
    codes = [namespace["A"].m.__wrapped__.__func__.__code__, namespace["A"].n.__code__]
    codes += [c for c in codes[1].co_consts if hasattr(c, "co_firstlineno")]
    found = index_source(text).functions
    assert [found[code.co_firstlineno].name for code in codes] == ["m", "n", "inner"]


@pytest.mark.parametrize("number", [100, 850, 1200, 3000, 20_000])
def test_code_that_goes_on_and_on_is_no_error(number):
    arms = "".join(f"elif x == {n}:\n    y = {n}\n" for n in range(number))
    index_source("if x:\n    y = 0\n" + arms)
    index_source("x = " + " + ".join(["'a'"] * number))


STATEMENTS = """\
def f(a):
    x = g(
        a,
    )
    if x:
        y = 1
    elif a:
        y = 2
    else:
        y = 3
    try:
        z = 1
    except ValueError as e:
        z = 2
    finally:
        z = 3
    match x:
        case [1]:
            w = 1
        case _ if h(x):
            w = 2
    with a as b, \\
            c as d:
        v = 1
    for i in (
        1,
    ):
        u = 1
    else:
        u = 2
    def inner():
        return 1
    return (y
            + z)
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (0, None),
        (36, None),
        (2, "x = g(a)"),
        (3, "x = g(a)"),
        (4, "x = g(a)"),
        (5, "if x:"),
        (6, "y = 1"),
        (7, "if a:"),
        (8, "y = 2"),
        (10, "y = 3"),
        (12, "z = 1"),
        (13, "try:"),
        (14, "z = 2"),
        (16, "z = 3"),
        (17, "match x:"),
        (18, "match x:"),
        (19, "w = 1"),
        (20, "match x:"),
        (21, "w = 2"),
        (23, "with a as b, c as d:"),
        (24, "v = 1"),
        (26, "for i in (1,):"),
        (28, "u = 1"),
        (30, "u = 2"),
        (32, "return 1"),
        (34, "return y + z"),
    ],
)
def test_statement_at(line, expected):
    found = statement_at(first_function(STATEMENTS), line)
    assert (ast.unparse(found).split("\n")[0] if found else None) == expected


def test_statement_of_a_module():
    tree = ast.parse("import a\n\nx = 1\n@deco(\n  2)\ndef f():\n  pass\n")
    assert ast.unparse(statement_at(tree, 3)) == "x = 1"
    assert statement_at(tree, 2) is None
    assert statement_at(tree, 4).name == "f"  # a decorator fails on its own line
    assert statement_at(tree, 5).name == "f"


@pytest.mark.parametrize(
    ("line", "expected"), [(1, None), (2, "f"), (3, "g"), (4, "g"), (5, "f"), (6, None), (7, "m"), (9, None)]
)
def test_enclosing_function(line, expected):
    found = parsed("x = 1\ndef f():\n  def g():\n    return 1\n  return 2\nclass A:\n  def m(self): ...\n")
    inner = enclosing_function(found, line)
    assert (inner.name if inner else None) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    return None", False),
        ("def f():\n    return", False),
        ("def f():\n    raise NotImplementedError", False),
        ("def f():\n    '''doc'''\n    x = 1\n", False),
        ("def f():\n    yield", False),
        ("def f():\n    g()\n", False),
        ("@overload\ndef f(): ...", False),
        ("@typing.overload\ndef f(): ...", False),
        ("@abstractmethod\ndef f(): pass", False),
        ("@abc.abstractproperty\ndef f(): pass", False),
        ("@property\n@abc.abstractmethod\ndef f(): pass", False),
        ("def f(): ...", True),
        ("def f():\n    pass", True),
        ("async def f():\n    pass\n    ...", True),
        ("def f():\n    '''doc'''", True),
        ("def f():\n    '''doc'''\n    # TODO\n    pass\n", True),
        ("@cache\ndef f():\n    '''doc'''\n    ...", True),
    ],
)
def test_is_placeholder_body(text, expected):
    assert is_placeholder_body(first_function(text)) is expected


LINES = [
    *("def f(a, *b):", "async def g():", "class A(B):", "@deco(1)", "if x:", "elif y:", "else:", "try:"),
    *(
        "except E as e:",
        "finally:",
        "with a as b:",
        "for i, j in k:",
        "while (n := 1):",
        "match x:",
        "case {'a': b}:",
    ),
    *(
        "pass",
        "return f(x)",
        "x = [a for a in b]",
        "raise E(f'{x} é')",
        "assert x.y['é'] == (",
        ")",
        "...",
        "'''doc'''",
    ),
    *(
        "lambda: 0",
        "x: int = 1",
        "x += 1",
        "del x",
        "import a",
        "yield",
        "await x",
        "é = 1",
        "\\",
        "\f",
        "\x00",
    ),
]
some_source = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(LINES)), max_size=12).map(
    lambda rows: "\n".join("    " * depth + text for depth, text in rows)
)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@given(some_source | st.text(max_size=40), st.integers(0, 14))
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


@pytest.mark.skipif(sys.version_info < (3, 12), reason="new syntax")
def test_type_parameters():
    assert parsed("class A[T]:\n    def f[U](self): ...\n").classes == {"A": 1}


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
