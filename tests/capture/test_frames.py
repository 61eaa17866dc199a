import pytest

from loop_close.capture import frames_of, is_hidden, record
from loop_close.capture.exceptions import describe
from loop_close.model import SourceLines


def frames(written, text, name="tests/test_it.py"):
    error = written.error(name, text)
    own = str(written.root)
    return [each for each in frames_of(error) if each.tb_frame.f_code.co_filename.startswith(own)]


def functions(written, text, name="tests/test_it.py"):
    return [record(f, written.project).function for f in frames(written, text, name)]


def test_record(written):
    written.write("src/cart.py", "def total(x):\n    return x.price\n")
    inner = record(
        frames(written, "import cart\n\ndef test_it():\n    cart.total(None)\n")[-1], written.project
    )
    assert (inner.file, inner.line, inner.function) == ("src/cart.py", 2, "total")
    assert (inner.is_test, inner.is_hidden) == (False, False)
    assert inner.source == SourceLines(start=1, lines=("def total(x):", "    return x.price"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class A:\n  def f(self):\n    1 / 0\ndef test_it():\n  A().f()\n", ["test_it", "A.f"]),
        ("def test_it():\n  (lambda: 1 / 0)()\n", ["test_it", "test_it.<locals>.<lambda>"]),
        ("def test_it():\n  sum(1 / 0 for _ in [1])\n", ["test_it", "test_it.<locals>.<genexpr>"]),
    ],
)
def test_functions(written, text, expected):
    assert functions(written, text) == expected


@pytest.mark.parametrize(
    "made", ["[1 / x for x in (0,)]", "{1 / x for x in (0,)}", "{x: 1 / x for x in (0,)}"]
)
def test_comprehension_is_part_of_its_function_on_every_python(written, made):
    assert set(functions(written, f"def test_it():\n    {made}\n")) == {"test_it"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = 1", False),
        ("__tracebackhide__ = False", False),
        ("__tracebackhide__ = True", True),
        ("__tracebackhide__ = lambda excinfo: True", False),
    ],
)
def test_hidden(written, line, expected):
    live = frames(written, f"def helper():\n    {line}\n    1 / 0\ndef test_it():\n    helper()\n")
    assert [is_hidden(f.tb_frame) for f in live] == [False, expected]


def test_recursion_is_shown_up_to_where_it_calls_itself(written):
    text = "def f(n):\n    return f(n + 1)\ndef test_it():\n    f(0)\n"
    found = describe(written.error("tests/test_it.py", text), written.project)
    assert found.type == "RecursionError"
    assert [f.function for f in found.frames] == ["test_it", "f"]


CIRCLE = """
def even(n, deep):
    check(n)
    return odd(n, deep) if n else deep()

def odd(n, deep):
    return even(n + 1, deep)

def check(n):
    return [n, n]

def test_it():
    {call}
"""


@pytest.mark.parametrize("call", ["even(1, None)", "odd(1, None)"])
def test_recursion_without_end_ends_at_one_place(written, call):
    found = describe(written.error("tests/test_it.py", CIRCLE.format(call=call)), written.project)
    assert (found.frames[-1].function, found.frames[-1].line) == ("even", 3)
    assert found.site is not None
    assert found.site.frame.line == 3


def test_recursion_error_that_is_raised_by_hand_keeps_its_frames(written):
    text = "def deep():\n    raise RecursionError('too deep')\ndef test_it():\n    deep()\n"
    found = describe(written.error("tests/test_it.py", text), written.project)
    assert [f.function for f in found.frames] == ["test_it", "deep"]


TAKE = """
class Stock:
    def __init__(self, levels):
        self.levels = levels

    def take(self, name, number=1):
        return self.levels[name] - number


def refill(stock):
    return stock.take("mug", amount=2)
"""


@pytest.mark.parametrize(
    ("line", "innermost"),
    [
        ("Stock({}).take('mug', amount=2)", ("src/stock.py", 5, "Stock.take")),
        ("Stock({}).take()", ("src/stock.py", 5, "Stock.take")),
        ("Stock(place='Bremen')", ("src/stock.py", 2, "Stock.__init__")),
        ("refill(Stock({}))", ("src/stock.py", 5, "Stock.take")),
    ],
)
def test_what_did_not_take_its_arguments_is_nearest_to_the_exception(written, line, innermost):
    written.write("src/stock.py", TAKE)
    raised = written.fail(f"from stock import Stock, refill\ndef test_it():\n    {line}\n")
    last = raised.frames[-1]
    assert (raised.type, last.file, last.line, last.function) == ("TypeError", *innermost)
