import asyncio
import copy
import sys

import pytest

from loop_close.monitor.executions import RETURNED_NONE

pytestmark = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12")

SOURCE = """
def nothing(n):
    n + 1

def passed_on(n):
    return nothing(n)

def sometimes(n):
    if n:
        return n

def many(n):
    yield n

async def awaited(n):
    n + 1

class Thing:
    def __init__(self):
        self.n = 1

    def __copy__(self):
        Thing()

    @property
    def value(self):
        self.n

    def __setattr__(self, name, value):
        return super().__setattr__(name, value)

    def __attrs_post_init__(self):
        self.m = 2

class Level:
    @property
    def level(self):
        return 1

    @level.setter
    def level(self, n):
        self.n = n

    @level.deleter
    def level(self):
        self.n = 0

def made(n):
    def decorate(function):
        function
    return decorate
"""


@pytest.fixture
def space(watch):
    names = {"__name__": "made"}
    exec(compile(SOURCE, "/project/a.py", "exec"), names)
    watch.take()
    return names


def missed(watch):
    """What gave None where a value was wanted."""
    return sorted(watch.functions[number].code.co_name for number in watch.take().returned_none)


def run(statement, space):
    exec(compile(statement, "/project/tests/test_a.py", "exec"), {**space, "copy": copy, "asyncio": asyncio})


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("nothing(1)", []),
        ("a = nothing(1)", ["nothing"]),
        ("assert nothing(1) is None", ["nothing"]),
        ("nothing(1) if copy else None", []),
        ("copy and nothing(1)", []),
        ("a = nothing(1) if copy else None", ["nothing"]),
        ("passed_on(1)", ["passed_on"]),  # by its code it gives values
        ("a = passed_on(1)", ["nothing", "passed_on"]),
        ("def f(): return nothing(1)\nf()", []),
        ("def f(): return nothing(1)\na = f()", ["nothing"]),
        ("def f():\n    g = nothing\n    return lambda: [g(1)]\na = f()()", []),  # an alias
        ("a = sometimes(1)", []),
        ("sometimes(0)", ["sometimes"]),
        ("a = list(many(1))", []),
        ("a = asyncio.run(awaited(1))", []),
        ("a = list(map(nothing, [1]))", ["nothing"]),
        ("a = Thing()", []),
        ("a = copy.copy(Thing())", ["__copy__"]),
        ("a = [Thing().value]", ["value"]),
        ("thing = Level()\nthing.level = 2\na = [thing.level]\ndel thing.level", []),
        ("Thing().__attrs_post_init__()", []),  # a name of its own kind is nothing to Python
        ("@made(1)\ndef f(): pass", ["decorate"]),
        ("a = made(1)(2)", ["decorate"]),
        ("made(1)(2)", []),
    ],
)
def test_what_is_missed(watch, space, statement, names):
    run(statement, space)
    assert [name for name in missed(watch) if name != "__setattr__"] == names


def test_to_tests_and_their_helpers_none_is_owed_to_nobody(watch):
    for path in ("/project/test_a.py", "/project/tests/helpers.py"):
        names = {"__name__": "made"}
        exec(compile(SOURCE, path, "exec"), names)
        watch.take()
        run("a = nothing(1)", names)
        assert missed(watch) == []


def test_once_a_test(watch, space):
    for _ in range(2):
        run("a = [nothing(1), nothing(2)]", space)
        assert [line for _, line in watch.hits].count(RETURNED_NONE) == 1
        watch.take()
    assert missed(watch) == []


def test_only_the_first_of_each_return(watch, space):
    run("sometimes(1); sometimes(0); sometimes(0)", space)
    assert missed(watch) == ["sometimes"]
