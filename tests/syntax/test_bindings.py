import ast

import pytest

from loop_close.syntax.uses import own_nodes, value_before


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("", 9, []),
        ("x = 1", 1, []),
        ("y = x", 9, []),
        ("x: int", 9, []),
        ("import x", 9, []),
        ("y[x] = 1", 9, []),
        ("y.x = 1", 9, []),
        ("f(x=1)", 9, []),
        ("def f():\n  x = 1", 9, []),
        ("class A:\n  x = 1", 9, []),
        ("lambda: (x := 1)", 9, []),
        ("[x for x in y]", 9, []),
        ("x = (\n  1)", 2, []),
        # the last one wins
        ("x = 1", 2, ["1"]),
        ("x = 1\nx = 2", 2, ["1"]),
        ("x = 1\nx = 2", 3, ["2"]),
        ("x = 1; x = 2", 2, ["2"]),
        ("if a:\n  x = 1\nelse:\n  x = 2", 5, ["2"]),
        ("while x := f():\n  pass", 5, ["f()"]),
        ("x: int = 1", 2, ["1"]),
        ("y, [x, *z] = a", 2, ["a"]),
        ("y, *x = a", 2, ["a"]),
        ("for y, x in a:\n  pass", 3, ["a"]),
        ("async def f():\n  pass\nfor x in a: pass", 4, ["a"]),
        ("with a as (y, x): pass", 2, ["a"]),
        ("[x := y for y in z]", 2, ["y"]),
        # what is added to it does not
        ("x = 0\nx = 1\nx += 2\nx += 3", 9, ["1"]),
        ("x = 1\nx.a.b = 2\nx[0].c = 3\nx[1], y = z", 9, ["1"]),
    ],
)
def test_value_before(text, line, expected):
    found = value_before(ast.parse(text), "x", line)
    assert [ast.unparse(v) for v in [found] if v is not None] == expected


def test_own_nodes_of_a_function_leave_out_what_is_defined_in_it():
    (function,) = ast.parse("def f():\n  a\n  def g(): b\n  class C: c\n  lambda: d\n  [e for e in h]").body
    assert {n.id for n in own_nodes(function) if isinstance(n, ast.Name)} == {"a", "e", "h"}
