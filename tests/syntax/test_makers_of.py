import ast

import pytest

from loop_close.syntax.makers import makers_of


def made(text):
    """The statements that made what the last assert tests, with the names that have changed since."""
    function = ast.parse(f"def test_it(flag, cmd, items, o):\n{_indented(text)}").body[0]
    statement = [node for node in ast.walk(function) if isinstance(node, ast.Assert)][-1]
    return [
        (ast.unparse(each.statement).partition("\n")[0], sorted(each.changed), each.is_next)
        for each in makers_of(function, statement)
    ]


def _indented(text):
    return "\n".join(f"    {line}" for line in text.splitlines())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r = f(1)\nassert r", [("r = f(1)", [], True)]),
        ("r = f(1)\nx = 2\nassert r", [("r = f(1)", [], False)]),
        ("r: int = f(1)\nassert r", [("r: int = f(1)", [], True)]),
        ("a, r = f(1), 2\nassert r", [("a, r = (f(1), 2)", [], True)]),
        ("r = f(1)\nif flag:\n    assert r", [("r = f(1)", [], False)]),
        ("for r in f(1):\n    assert r", [("for r in f(1):", [], True)]),
        ("with f(1) as r:\n    assert r", [("with f(1) as r:", [], True)]),
        ("for n in (1, 2):\n    r = f(n)\n    assert r", [("r = f(n)", [], True)]),
        ("try:\n    r = f(1)\n    assert r\nexcept KeyError:\n    r = g()", [("r = f(1)", [], True)]),
        ("r = f(1)\ns = g(r)\nassert r == s", [("r = f(1)", [], False), ("s = g(r)", [], True)]),
        # another statement may have made it
        ("if flag:\n    r = f(1)\nelse:\n    r = g(2)\nassert r", []),
        ("try:\n    r = f(1)\nexcept ValueError:\n    r = g()\nassert r", []),
        ("match cmd:\n    case 1:\n        r = f(1)\n    case _:\n        r = g()\nassert r", []),
        ("r = f(1)\nwith suppress(KeyError):\n    r = g(2)\nassert r", []),
        ("r = f(0)\nfor n in (1, 2):\n    assert r\n    r = f(n)", []),
        ("r = f(0)\nwhile flag:\n    assert r\n    r += 1", []),
        ("def other():\n    nonlocal r\n    r = 2\nr = f(1)\nother()\nassert r", []),
        ("global r\nr = f(1)\nother()\nassert r", []),
        ("r = f(1)\nassert r == 2; r = g(7)\nassert r", [("r = g(7)", [], True)]),
        ("r = f(1)\ndel r\nassert r", []),
        ("r = f(1)\nimport r\nassert r", []),
        ("r = f(1)\nmatch cmd:\n    case {'a': r}:\n        pass\nassert r", []),
        ("r = f(1)\nmatch cmd:\n    case [*r]:\n        pass\nassert r", []),
        ("r = f(1)\nmatch cmd:\n    case {**r}:\n        pass\nassert r", []),
        ("r = f(1)\ntry:\n    g()\nexcept KeyError as r:\n    pass\nassert r", []),
        ("r = f(1)\ndef r():\n    pass\nassert r", []),
        ("r = f(1)\nassert (r := g())", []),
        # no call made it
        ("r = 1\nassert r", []),
        ("r = f(1)\nr = 2\nassert r", []),
        ("assert f(1)", []),
        # the names that were passed
        ("x = 1\nr = f(x)\nx = 2\nassert r", [("r = f(x)", ["x"], False)]),
        ("r = f(o.n)\np = o\nassert r", [("r = f(o.n)", [], False)]),
        ("for x in (1, 2):\n    r = f(x)\n    assert r", [("r = f(x)", [], True)]),
        ("r = f(x)\nfor x in items:\n    assert r", [("r = f(x)", ["x"], False)]),
        ("r = f(x)\nfrom math import pi as x\nassert r", [("r = f(x)", ["x"], False)]),
    ],
)
def test_what_surely_made_a_value(text, expected):
    assert made(text) == expected
