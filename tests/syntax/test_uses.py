import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.model import Origin
from loop_close.syntax import index_source, statement_at
from loop_close.syntax.uses import (
    Tracer,
    checked_expressions,
    depends_on_parameters,
    earlier_calls,
    parameter_names,
)


class Names:
    """Knows the expressions it was given, by their source text."""

    def __init__(self, known=(), attributes=(), tests=()):
        self._known = {*known, *tests}
        self._attributes = set(attributes)
        self._tests = set(tests)

    def origin(self, node):
        return self._made(node) if ast.unparse(node) in self._known else None

    def attribute(self, node):
        return self._made(node) if ast.unparse(node) in self._attributes else None

    def _made(self, node):
        text = ast.unparse(node)
        return Origin(file="a.py", line=1, function=text, is_test=text in self._tests)


def function(text):
    body = textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")
    return ast.parse(f"def test_it(fixture):\n{body}\n").body[0]


def traced(text, *known, attributes=(), tests=()):
    """The origins of what the last statement judges."""
    scope = function(text)
    statement = scope.body[-1]
    tracer = Tracer(scope, statement.lineno, Names(known, attributes, tests))
    return [o.function for o in tracer.origins(checked_expressions(statement))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # nothing of the project
        ("assert True", []),
        ("assert 1 == 2", []),
        ("assert len([1]) == 2", []),
        ("assert x", []),
        ("x = f()\nx = 1\nassert x", []),
        ("assert x\nx = f()\nassert 1", []),
        ("y = f()\nassert x", []),
        ("assert lib.f(1)", []),
        ("raise E(f())", []),
        ("pass", []),
        # called right there
        ("assert f()", ["f"]),
        ("assert not f(1) == 2", ["f"]),
        ("assert 1 in f()", ["f"]),
        ("assert f() and g()", ["f", "g"]),
        ("assert g(f())", ["g"]),
        ("assert len(f()) == 1", ["f"]),
        ("assert sorted(key=f()) == 1", ["f"]),
        ("assert [*f(), 1] == [1]", ["f"]),
        ("assert {'a': f()} == 1", ["f"]),
        ("assert f'{f()}' == '1'", ["f"]),
        ("assert f()[0]['a'] == 1", ["f"]),
        ("assert f().a.b == 1", ["f"]),
        ("assert f().strip().lower() == 'a'", ["f"]),
        ("assert (f() if x else g()) == 1", ["f", "g"]),
        ("assert (lambda: f())()", ["f"]),
        ("assert f()()", ["f"]),
        ("assert {1: f()}[1](2)", ["f"]),
        ("x = f()\nassert x(1)", ["f"]),
        ("f()", ["f"]),
        ("f(g())", ["f"]),
        ("return f()", ["f"]),
        ("x = f()", ["f"]),
        ("x += f()", ["f"]),
        ("x: int = f()", ["f"]),
        ("await f()", ["f"]),
        ("del f()[0]", ["f"]),
        # through names
        ("x = f()\nassert x == 1", ["f"]),
        ("x = g()\nx = f()\nassert x == 1", ["f"]),
        ("x = y = f()\nassert x == 1", ["f"]),
        ("x: int = f()\nassert x == 1", ["f"]),
        ("x = f()\ny = x + 1\nassert y == 1", ["f"]),
        ("x, (y, *z) = f()\nassert z == 1", ["f"]),
        ("x = 0\nx += f()\nassert x == 1", ["f"]),
        ("x = (\n  f()\n)\nassert x == 1", ["f"]),
        ("x = [\n  f(),\n  g(),\n]\nassert x == 1", ["f", "g"]),
        ("x = f()\nx = x.strip()\nx = x + 1\nassert x == 1", ["f"]),
        ("x = f()\ny = x\nx = g()\nassert y == 1", ["f"]),
        ("x = f()\nx.a = 1\nx['b'] = 2\nassert x == 1", ["f"]),
        ("x = {}\nx['a'] = f()\nassert x == 1", ["f"]),
        ("x = f()\nx += 1\nassert x == 1", ["f"]),
        ("x = 0\nfor y in f():\n  x += y\nassert x == 1", ["f"]),
        ("if fixture:\n  x = f()\nassert x == 1", ["f"]),
        ("x = f()\nassert x[0].a['b'] == 1", ["f"]),
        ("x = f()\nassert x.strip().lower() == 'a'", ["f"]),
        ("if (x := f()):\n  pass\nassert x == 1", ["f"]),
        ("assert (x := f()) == 1", ["f"]),
        # blocks
        ("with f() as x:\n  pass\nassert x == 1", ["f"]),
        ("with lib() as y, f() as (x, z):\n  pass\nassert x == 1", ["f"]),
        ("async with f() as x:\n  pass\nassert x == 1", ["f"]),
        ("for x in f():\n  pass\nassert x == 1", ["f"]),
        ("for i, x in enumerate(f()):\n  pass\nassert x == 1", ["f"]),
        ("for x in f():\n  pass", ["f"]),
        ("if f():\n  g()", ["f"]),
        ("while f():\n  g()", ["f"]),
        ("assert all(x == 1 for x in f())", ["f"]),
        ("assert [g(x) for x in f()] == [1]", ["g", "f"]),
        ("y = {k: v for k, v in f()}\nassert y == 1", ["f"]),
        ("assert {x for x in f() if x} == 1", ["f"]),
        # what should have raised
        ("with pytest.raises(E):\n  f()", ["f"]),
        ("with pytest.raises(E):\n  x = f()", ["f"]),
        ("with pytest.raises(E), lib():\n  f(g())", ["f"]),
        ("with pytest.raises(E):\n  with lib():\n    f()", ["f"]),
        ("x = f()\nwith pytest.raises(E):\n  x.strip()", ["f"]),
        # methods
        ("assert C.make() == 1", ["C.make"]),
        ("assert C().m() == 1", ["C().m"]),
        ("assert C().lib() == 1", ["C"]),
        ("x = C()\nassert x.m() == 1", ["x.m"]),
        ("x = C()\nassert x.unknown() == 1", ["C"]),
        ("assert fixture.m() == 1", ["fixture.m"]),
    ],
)
def test_origins(text, expected):
    known = ["f", "g", "C", "C.make", "C().m", "x.m", "fixture.m"]
    assert traced(text, *known) == expected


def test_helper_of_the_tests_counts_where_nothing_else_is_known():
    assert traced("assert helper(1) == 1", "f", tests=["helper"]) == ["helper"]
    assert traced("assert helper(f()) == 1", "f", tests=["helper"]) == ["f"]
    assert traced("x = helper()\nassert x == f()", "f", tests=["helper"]) == ["f"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("assert x.tax == 1", ["x.tax"]),
        ("x = Price()\nassert x.tax == 1", ["x.tax"]),
        ("x = f()\nassert x.tax == 1", ["f"]),
        ("x = f()\nassert x.net == 1", ["f"]),
    ],
)
def test_attribute_is_told_where_only_the_class_made_it(text, expected):
    class Fields(Names):
        def attribute(self, node):
            return Origin(file="a.py", line=1, function="Price.tax") if node.attr == "tax" else None

    scope = function(text)
    found = Tracer(scope, scope.body[-1].lineno, Fields(["f", "Price"])).origins(
        checked_expressions(scope.body[-1])
    )
    expected = ["Price.tax" if name == "x.tax" else name for name in expected]
    assert [o.function for o in found] == expected


def test_parameters_of_a_lambda_are_not_explained_by_its_scope():
    scope = function("x = f()\ny = g()\ncall(lambda x: x + y)")
    body = scope.body[-1].value.args[0].body
    tracer = Tracer(scope, body.lineno, Names(["f", "g"]), frozenset({"x"}))
    assert [o.function for o in tracer.origins([body])] == ["g"]


def test_each_origin_is_told_once_and_in_order():
    assert traced("x = g()\nassert f(1) == x + f(2) + g()", "f", "g") == ["f", "g"]


def test_values_of_a_nested_function_are_not_those_of_the_test():
    text = """
        x = f()
        def inner():
            x = g()
        class Local:
            x = g()
        assert x == 1
    """
    assert traced(text, "f", "g") == ["f"]


def test_a_long_way_back_ends_somewhere():
    steps = "\n".join(f"x{n + 1} = x{n}" for n in range(20))
    assert traced(f"x0 = f()\n{steps}\nassert x20", "f") == []
    assert traced("x = x + x\n" * 30 + "assert x", "f") == []


def test_a_wide_way_back_ends_soon():
    rows = ", ".join(["x"] * 300)
    assert traced(f"x = [{rows}]\nx = [{rows}]\nx = [{rows}]\nassert x == f()", "f") == ["f"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("assert x", []),
        ("f(y)\nassert x", []),
        ("y = f(x)\nassert x", []),
        ("assert x\nf(x)", []),
        ("x\nassert x", []),
        ("f(x)\nassert x", ["f(x)"]),
        ("x.m()\nassert x", ["x.m()"]),
        ("f(x)\ng(a=x.b)\nassert x.c == 1", ["g(a=x.b)", "f(x)"]),
        ("for y in z:\n  f(y, x)\nassert x", ["f(y, x)"]),
    ],
)
def test_earlier_calls(text, expected):
    scope = ast.parse(text)
    statement = next(s for s in scope.body if isinstance(s, ast.Assert))
    assert [ast.unparse(c) for c in earlier_calls(scope, statement)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n  assert x", False),
        ("def f(a):\n  assert x", False),
        ("def f(self):\n  assert self.x", False),
        ("def f(cls):\n  assert cls.x", False),
        ("def f(a):\n  x = 1\n  assert x", False),
        ("def f(a):\n  raise E", False),
        ("def f(a):\n  if x:\n    raise E", False),
        ("def f(a):\n  if a:\n    x = 1\n  raise E('x')", False),
        ("def f(a):\n  assert a", True),
        ("def f(self, a):\n  assert self.x == a", True),
        ("def f(*a):\n  assert a", True),
        ("def f(**a):\n  assert a['x']", True),
        ("def f(*, a):\n  assert a", True),
        ("def f(a, /):\n  assert a", True),
        ("async def f(a):\n  assert a", True),
        ("def f(a):\n  x = a.b\n  assert x", True),
        ("def f(a):\n  x = g(a)\n  y = x + 1\n  z = [y]\n  assert z", True),
        ("def f(a):\n  if a:\n    raise E", True),
        ("def f(a):\n  if x:\n    if not a.b:\n      raise E", True),
        ("def f(a):\n  if x:\n    pass\n  else:\n    if a:\n      raise E", True),
        ("def f(a):\n  x = a\n  if x > 1:\n    raise E('no')", True),
        ("def f(a):\n  for x in a:\n    raise E(x)", True),
    ],
)
def test_depends_on_parameters(text, expected):
    function = ast.parse(text).body[0]
    statement = next(n for n in ast.walk(function) if isinstance(n, ast.Assert | ast.Raise))
    assert depends_on_parameters(function, statement) is expected


def test_parameter_names():
    (f,) = ast.parse("def f(self, a, /, b, *c, d=1, **e): ...").body
    assert parameter_names(f) == {"a", "b", "c", "d", "e"}


PIECES = [
    *("x = f()", "x = x", "x, y = y, x", "x = [x, x]", "x = x.a(x)[x]", "x += y", "f(x)", "assert x == y.z"),
    *(
        "for x in y: assert x",
        "with f() as x: assert x",
        "if (x := y): raise E(x)",
        "assert [x for x in f(y)]",
    ),
    *(
        "def x(): y = 1",
        "class x: y = f()",
        "x: int = y",
        "lambda: x",
        "with pytest.raises(E): f(x)",
        "return x",
    ),
    *(
        "try: x\n    except E as x: raise",
        "global y",
        "del x",
        "match x:\n      case y: assert y",
        "import x",
    ),
]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8), st.integers(1, 12))
def test_any_function_can_be_traced(pieces, line):
    found = index_source("def test_it(x, y):\n" + "\n".join(f"    {p}" for p in pieces))
    function = found.functions[1]
    statement = statement_at(function, line)
    if statement is not None:
        names = Names(["f"], ["x.a", "y.z"])
        tracer = Tracer(function, statement.lineno, names)
        assert (
            len(tracer.origins([*checked_expressions(statement), *earlier_calls(function, statement)])) <= 3
        )
        assert depends_on_parameters(function, statement) in (True, False)
