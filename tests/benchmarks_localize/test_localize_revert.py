import ast

import pytest
from benchmarks.localize.revert import Key, defined, differing, outdated, reached, reverted, units, unknown

OLDER = '''\
import os
RATE = 3
__version__ = "1.0"
LIMITS: dict = {"a": 1}
register("cart", 1)
again(1)
again(2)

def same(a):
    """Old words."""
    return [a,
            1]

def typed(a):
    x = 1
    return x

class Cart:
    size = 4
    kind = "b"

    def total(self, rate=1):
        # all of it
        net = self.net()

        return net * rate

    def other(self, a):
        return 1

    @property
    def twice(self): return 1

    def outer(self):
        def inner(a):
            return a - 1
        return inner
'''
NEWER = '''\
import os, sys
RATE = 4
__version__ = "1.1"
LIMITS: dict[str, int] = {"a": 2}
register("cart", 2)
again(1)
again(3)

def same(a: int) -> list:
    return [a, 1]

def typed(a):
    x: int = 1
    return x

class Cart:
    """A cart."""
    size = 5
    kind = "b"

    def total(self, rate=1):
        """The sum."""
        net = self.net()
        if rate < 0:
            raise ValueError(rate)
        return net * rate

    def other(self, a, b):
        return 2

    @property
    def twice(self): return 2

    def outer(self):
        def inner(a):
            return a + 1
        return inner
'''


def test_units_that_differ():
    assert differing(NEWER, OLDER) == [
        Key("module", "<module>", "RATE"),
        Key("module", "<module>", "LIMITS"),
        Key("module", "<module>", "register"),
        Key("class", "Cart", "size"),
        Key("function", "Cart.total"),
        Key("function", "Cart.twice"),
        Key("function", "Cart.outer.<locals>.inner"),
    ]


def changed_lines(key, newer=NEWER, older=OLDER):
    changed, lines = reverted(newer, older, key)
    return [changed.split("\n")[line - 1].strip() for line in lines]


@pytest.mark.parametrize(
    ("key", "lines"),
    [
        (Key("module", "<module>", "RATE"), ["RATE = 3"]),
        (Key("class", "Cart", "size"), ["size = 4"]),
        (Key("function", "Cart.twice"), ["def twice(self): return 1"]),
        (Key("function", "Cart.outer.<locals>.inner"), ["return a - 1"]),
    ],
)
def test_one_unit_is_put_back(key, lines):
    changed, _ = reverted(NEWER, OLDER, key)
    assert changed_lines(key) == lines
    assert differing(changed, NEWER) == [key]
    assert key not in differing(changed, OLDER)


def test_line_after_a_gap_stands_for_what_is_missing():
    now = "def f(a):\n    a += 1\n    check(a)\n    return a\n"
    key = Key("function", "f")
    assert changed_lines(key, now, now.replace("    check(a)\n", "")) == ["return a"]
    assert changed_lines(key, now, now.replace("    return a\n", "")) == ["check(a)"]


def test_docstring_stays_and_blank_lines_do_not_count():
    changed, lines = reverted(NEWER, OLDER, Key("function", "Cart.total"))
    assert '"""The sum."""' in changed
    assert "raise ValueError" not in changed
    assert [changed.split("\n")[line - 1].strip() for line in lines] == ["return net * rate"]


def test_ends_of_lines_are_those_of_the_newer_file():
    newer = NEWER.replace("\n", "\r\n")
    changed, _ = reverted(newer, OLDER, Key("function", "Cart.total"))
    assert changed.count("\n") == changed.count("\r\n")


@pytest.mark.parametrize("key", [Key("function", "gone"), Key("class", "Cart", "gone")])
def test_unit_that_is_not_there(key):
    with pytest.raises(ValueError, match="there is no"):
        reverted(NEWER, OLDER, key)


def test_other_indentation_is_refused():
    one = "if 1:\n    def f():\n        return 1\n"
    with pytest.raises(ValueError, match="indented otherwise"):
        reverted(one, "def f():\n    return 2\n", Key("function", "f"))


def test_namesakes_and_statements_inside_others_are_no_units():
    source = "def f(): pass\ndef f(): pass\nx = 1\nif a:\n    y = 1\nfor z in a: pass\n"
    assert list(units(ast.parse(source))) == [Key("module", "<module>", "x")]


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ("import a\ndef f(x):\n    return a.b(x, len)\n", set()),
        ("import a\ndef f(x):\n    return old(x)\n", {"old"}),
        ("import a\ndef f(x):\n    y = x\n    return [y + lost for y in y]\n", {"lost"}),
        ("from a import *\ndef f(x):\n    return old(x)\n", set()),
    ],
)
def test_global_names_that_are_not_there(changed, names):
    assert unknown(changed, "import a\ndef f(x):\n    return x\n") == names


def test_names_that_only_the_older_release_defines():
    older = "class A:\n    def gone(self, lost=1): self.left = 1\n"
    assert defined([older]) == {"A", "gone", "self", "lost", "left"}
    use = "def f(a):\n    from b import gone\n    return a.left + a.lines(lost=1, key=2)\n"
    assert outdated(use, Key("function", "f"), defined([older])) == {"gone", "left", "lost"}


def test_lines_of_statements_are_reached():
    key = Key("function", "Cart.total")
    first = NEWER.split("\n").index('        """The sum."""') + 1
    assert not reached(NEWER, key, {first - 1, first})
    assert reached(NEWER, key, {first + 1})
