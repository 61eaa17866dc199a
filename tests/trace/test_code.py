import subprocess
import sys

import pytest

from loop_close.trace.code import codes_in, digest_of

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
    pairs = [(outer, name) for name in names for outer in names if name.startswith(f"{outer}.")]
    assert all(names.index(outer) < names.index(name) for outer, name in pairs)


def test_code_in_many_places_is_looked_at_once():
    code = compile("lambda: 1", "x.py", "eval").co_consts[0]
    for _ in range(100):
        code = code.replace(co_consts=(code, code))
    assert len([*codes_in(code)]) == 101
    assert digest_of(code)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs Python 3.12")
def test_what_python_makes_for_a_def_is_no_function():
    assert [owner for _, owner in named("def f[T](x: T) -> T: return x") if owner] == ["f"]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="needs Python 3.14")
def test_annotations_are_no_function():
    assert [owner for _, owner in named("def f(x: int): return x") if owner] == ["f"]


F = "def f(a):\n    return a + 1\n"


def code_of(source):
    space = {}
    exec(compile(source, "/project/a.py", "exec"), space)
    return space["f"].__code__


@pytest.mark.parametrize(
    ("source", "is_same"),
    [
        (F, True),
        ("# a comment\n" + F.replace(":\n", ":\n\n    # another\n"), True),
        (F.replace("+", "-"), False),
        (F.replace("a + 1", "a + 1.0"), False),
        (F.replace("def", "async def"), False),
    ],
)
def test_digest(source, is_same):
    assert (digest_of(code_of(source)) == digest_of(code_of(F))) is is_same


def test_digest_is_the_same_with_other_hashes():
    code = (
        "from loop_close.trace.code import digest_of\n"
        "def f(x):\n    return x in {'a', 'b', 'c', 'd'}, x in ('e', ('f', 1))\n"
        "print(digest_of(f.__code__))"
    )
    command = [sys.executable, "-c", code]
    runs = [
        subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True)
        for seed in "123"
    ]
    assert len({run.stdout for run in runs}) == 1
    assert runs[0].stdout
