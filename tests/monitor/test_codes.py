import sys

import pytest

from loop_close.monitor import codes
from loop_close.monitor.codes import (
    codes_in,
    is_function,
    is_part,
    is_reported_by_owner,
    one_liner_start,
    returns_value,
)

SOURCE = """
class Body:
    def method(self):
        def inner():
            return 1
        return [lambda x: (y for y in x)]

    class Inner:
        key = lambda x: x
"""


def named(source):
    top = compile(source, "x.py", "exec", dont_inherit=True)
    return [(code.co_qualname, owner.co_qualname if owner else None) for code, owner in codes_in(top)]


def test_outer_before_inner_each_with_its_function():
    expected = [
        ("<module>", None),
        ("Body", None),
        ("Body.method", "Body.method"),
        ("Body.method.<locals>.inner", "Body.method.<locals>.inner"),
        ("Body.method.<locals>.<lambda>", "Body.method"),
        ("Body.method.<locals>.<lambda>.<locals>.<genexpr>", "Body.method"),
        ("Body.Inner", None),
        ("Body.Inner.<lambda>", "Body.Inner.<lambda>"),
    ]
    assert sorted(named(SOURCE)) == sorted(expected)
    names = [name for name, _ in named(SOURCE)]
    assert all(
        names.index(outer) < names.index(name)
        for name in names
        for outer in names
        if name.startswith(f"{outer}.")
    )


def test_function_itself_is_the_first():
    top = compile("def f(): return lambda: 1", "x.py", "exec")
    (code,) = (each for each in top.co_consts if hasattr(each, "co_code"))
    assert [(each.co_name, owner is code) for each, owner in codes_in(code)] == [
        ("f", True),
        ("<lambda>", True),
    ]


KINDS = """
class Body:
    pass

def function():
    return (lambda: [x for x in ()]), (x for x in ())
"""


def test_kinds_of_code():
    module = compile(KINDS, "x.py", "exec")
    body, function = (each for each in module.co_consts if hasattr(each, "co_code"))
    parts = [each for each in function.co_consts if hasattr(each, "co_code")]
    assert [is_function(each) for each in (module, body, function, *parts)] == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert [is_part(each) for each in (module, body, function, *parts)] == [False, False, False, True, True]


def shared(depth):
    """Code of functions, each of which holds the next one twice."""
    code = compile("lambda: 1", "x.py", "eval").co_consts[0]
    for _ in range(depth):
        code = code.replace(co_consts=(code, code))
    return code


def test_code_in_many_places_is_looked_at_once():
    assert len([*codes_in(shared(100))]) == 101


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs Python 3.12")
def test_what_python_makes_for_a_def_is_no_function():
    assert [owner for _, owner in named("def f[T](x: T) -> T: return x") if owner] == ["f"]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="needs Python 3.14")
def test_annotations_are_no_function():
    assert [owner for _, owner in named("def f(x: int): return x") if owner] == ["f"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [("def f(): return 1", True), ("def f():\n    return 1", False), ("def f(\n  ): return 1", False)],
)
def test_where_the_body_begins(source, expected):
    top = compile(source, "x.py", "exec")
    (code,) = (each for each in top.co_consts if hasattr(each, "co_code"))
    assert (one_liner_start(code) > 0) is expected


@pytest.mark.parametrize(
    ("body", "gives"),
    [
        ("pass", False),
        ("return", False),
        ("return None", False),
        ("if x: return None", False),
        ("if x: return 0", True),
        ("return x", True),
        ("return True", True),
        ("with x: return None", False),
        ("with x: return 1", True),
        ("return " + " + ".join(f"x.a{n}" for n in range(300)), True),
        ("x = [" + ", ".join(f"{n}.5j * x" for n in range(300)) + "]", False),
        ("x = [" + ", ".join(f"{n}.5j * x" for n in range(300)) + "]\n    return 'other'", True),
    ],
)
def test_gives_values(body, gives):
    space = {}
    exec(f"def f(x):\n    {body}\n", space)
    assert returns_value(space["f"].__code__) is gives


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 has no line where an iterable is begun")
@pytest.mark.parametrize(
    ("source", "is_told"),
    [
        ("sum(x for x in a)", True),
        ("sum(\n    x for x in a if x\n)", True),
        ("sum(x\n    for x in a)", True),
        ("sum(x for x in a\n    if x)", False),
        ("sum(\n    x\n    for x in a\n)", False),
        ("lambda: 1", False),
    ],
)
def test_generator_expression_whose_lines_its_maker_runs(source, is_told):
    owner = compile(source, "x.py", "eval")
    (code,) = (each for each in owner.co_consts if hasattr(each, "co_code"))
    assert is_reported_by_owner(code, owner, {}) is is_told


def test_lines_of_a_maker_of_many_are_worked_out_once(monkeypatch):
    rules = "".join(f"    if any(x == {number} for x in a): return {number}\n" for number in range(50))
    asked = []
    monkeypatch.setattr(codes, "lines_of", lambda code: asked.append(code.co_name) or {1})
    lines: dict[int, set[int]] = {}
    for inner, owner in codes_in(compile(f"def check(a):\n{rules}", "x.py", "exec")):
        if owner is not None:
            is_reported_by_owner(inner, owner, lines)
    assert (asked.count("check"), asked.count("<genexpr>")) == (1, 50)
