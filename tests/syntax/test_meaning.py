import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.syntax.meaning import MODULE, parts_of


def read(text):
    return parts_of(textwrap.dedent(text).lstrip("\n"))


def meaning(text, name="f"):
    return read(text)[name].meaning


BASE = "def f(a, b=1):\n    x = a + b\n    return x\n"


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n\n\ndef f(a, b=1):\n    x = a + b  # another\n    return x\n",
        'def f(a, b=1):\n    """A docstring."""\n    x = a + b\n    return x\n',
        "def f(\n    a,\n    b = 1,\n):\n    x = (a + b)\n\n    return (x)\n",
        "def f(a, b=1):\n  x=a+b;return x\n",
        "def f(a, b=1):\n    x = a + b  # type: int\n    pass\n    return x\n",
        "import os\n\ndef f(a, b=1):\n    'no docstring'\n    x = a + b\n    ...\n    return x\n",
    ],
)
def test_what_says_nothing_has_no_meaning(text):
    assert meaning(text) == meaning(BASE)


@pytest.mark.parametrize(
    "text",
    [
        "def f(a, b=True):\n    x = a + b\n    return x\n",
        "def f(a, *, b=1):\n    x = a + b\n    return x\n",
        "def f(a, b=1) -> int:\n    x = a + b\n    return x\n",
        "@cache\ndef f(a, b=1):\n    x = a + b\n    return x\n",
        "def f(a, b=1):\n    if a:\n        x = a + b\n    return x\n",
    ],
)
def test_what_says_something_else_has_another_meaning(text):
    assert meaning(text) != meaning(BASE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 1.0"),
        ("x = ['a', 'b']", "x = ['a'], 'b'"),
        ("f(a, *b)", "f(*a, b)"),
        ("if a:\n    b()\nelse:\n    c()", "if a:\n    b()\nif c():\n    pass"),
        ("{**a, 'b': c}", "{'b': c, **a}"),
    ],
)
def test_structure_counts(one, other):
    assert meaning(one, MODULE) != meaning(other, MODULE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 'a' 'b'", 'x = "ab"'),
        ("def f(): 'doc'", "def f(): pass"),
        ("if a:\n    b()\nelse:\n    if c:\n        d()", "if a:\n    b()\nelif c:\n    d()"),
    ],
)
def test_spelling_does_not(one, other):
    assert {n: p.meaning for n, p in read(one).items()} == {n: p.meaning for n, p in read(other).items()}


def test_example_in_a_docstring_is_a_test():
    text = 'def f():\n    """Words.\n\n    >>> f()\n    {}\n\n    {}\n    """\n    return 1\n'
    one = text.format(1, "More words.")
    assert meaning(one) == meaning(text.format(1, "Other words."))
    assert meaning(one) != meaning(text.format(2, "More words."))


def test_own_name_does_not_count():
    assert meaning(BASE) == meaning(BASE.replace("def f", "def g"), "g")
    assert read("class A:\n    x = 1\n")["A"].meaning == read("class B:\n    x = 1\n")["B"].meaning


NESTED = """
import os  # 1

class Cart:
    size = 3

    @property
    def total(self):
        def add(a):
            return a
        return add(1)

    class Line:
        price = 1

if os:
    def helper():
        class Local:
            def go(self): ...
x = 1  # 19
"""


def test_parts_have_qualified_names_in_order_and_their_lines():
    parts = read(NESTED)
    assert {name: part.start for name, part in parts.items()} == {
        MODULE: 1,
        "Cart": 3,
        "Cart.total": 6,
        "Cart.total.<locals>.add": 8,
        "Cart.Line": 12,
        "helper": 16,
        "helper.<locals>.Local": 17,
        "helper.<locals>.Local.go": 18,
    }
    assert list(parts) == [part.name for part in parts.values()]
    assert [[*dict(parts[name].inner)] for name in ("Cart", "Cart.total", "Cart.Line")] == [
        ["total", "Line"],
        ["add"],
        [],
    ]


def test_names_are_those_that_python_gives():
    namespace = {"__name__": "m", "os": True}
    exec(textwrap.dedent(NESTED).lstrip("\n"), namespace)
    cart = namespace["Cart"]
    assert {cart.total.fget.__qualname__, cart.Line.__qualname__} < read(NESTED).keys()


def test_each_line_belongs_to_one_part():
    parts = read(NESTED)
    assert parts["Cart.total"].source == ("    @property", "    def total(self):", "        return add(1)")
    assert parts[MODULE].source == ("import os  # 1", "", "", "if os:", "x = 1  # 19")
    assert sum(len(part.source) for part in parts.values()) == 19


def test_edit_inside_leaves_the_owner_alone():
    before, after = read(NESTED), read(NESTED.replace("return a\n", "return -a\n"))
    assert [n for n in before if before[n].meaning != after[n].meaning] == ["Cart.total.<locals>.add"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("if a:\n    def g(): ...\n    x()", "if a:\n    x()\ndef g(): ..."),
        ("class A:\n    x = 1\n    def g(): ...", "class A:\n    def g(): ...\n    x = 1"),
    ],
)
def test_place_of_a_part_inside_counts_apart(one, other):
    name = "A" if "class" in one else MODULE
    assert read(one)[name].inner != read(other)[name].inner


def test_definitions_of_one_name_are_one_part():
    text = "if a:\n    def f(): return 1\nelse:\n    def f(): return 2\n"
    part = read(text)["f"]
    assert (part.start, part.source) == (2, ("    def f(): return 1", "    def f(): return 2"))
    assert part.meaning != read(text.replace("2", "3"))["f"].meaning
    assert part.meaning != read(text.replace("1", "3"))["f"].meaning


@pytest.mark.parametrize(
    ("text", "size"), [("", 0), ("# words\n", 0), ('"""Words."""\n', 0), ("def f(): x\n", 0), ("x\n", 2)]
)
def test_module_without_statements_has_no_size(text, size):
    assert read(text)[MODULE].size == size


@pytest.mark.parametrize("text", ["def f(:", "x = 1\n  y", "a\0b", "x = " + "(" * 300, "\ud800 = 1"])
def test_what_is_no_python_has_no_parts(text):
    assert parts_of(text) is None


@given(
    st.lists(st.sampled_from(["def f():", "class A:", "  x", "    y = 1", "@d", "# c", "if a:", "pass", ""]))
)
def test_lines_are_shared_out_whatever_the_text(lines):
    text = "\n".join(lines)
    parts = parts_of(text)
    if parts is not None:
        assert sum(len(part.source) for part in parts.values()) == len(text.removesuffix("\n").split("\n"))
        assert parts_of(f"# before\n{text}\n\n").keys() == parts.keys()
