import collections
import dataclasses
import datetime
import decimal
import enum
import re
import types
from typing import Any

import hostile
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.capture import ProjectCode
from loop_close.capture.differences import differences
from loop_close.capture.values import MAX_TEXT, Texts

TEXTS = Texts(ProjectCode(__file__.rpartition("/")[0]))
Point = collections.namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Line:
    qty: int
    note: str = dataclasses.field(default="", compare=False)
    tags: tuple = ()


@dataclasses.dataclass(slots=True)
class Slotted:
    qty: int


@dataclasses.dataclass
class Item:
    qty: int


class Money:
    """Compares by code of its own."""

    def __init__(self, amount, memo=""):
        self.amount = amount
        self.memo = memo

    def __eq__(self, other):
        return isinstance(other, Money) and self.amount == other.amount

    __hash__ = None


class Anything:
    def __eq__(self, other):
        return True

    __hash__ = None


class Plain:
    def __init__(self, x):
        self.x = x


class Words(str):
    pass


def order(qty=1, **more):
    return {"order": {"lines": [Line(1), Line(2), Line(qty)], **more}}


def told(found):
    return [(d.path, d.left, d.right) for d in found]


NAN = float("nan")
LONG = "x" * 100
SAME: list[tuple[Any, Any]] = [
    (1, 1.0),
    (decimal.Decimal(1), 1),
    (Level.LOW, 1),
    ([NAN], [NAN]),
    (Point(1, 2), (1, 2)),
    ({1, 2}, frozenset({2, 1})),
    ({1: "a"}, {True: "a"}),
    ({"a": 1}, {Words("a"): 1}),
    ({"a": 1}, collections.defaultdict(int, a=1)),
    (Line(1, "this"), Line(1, "that")),
    (LONG, "x" * 100),
]
DIFFERENT: list[tuple[Any, Any, list[tuple[str, str, str]]]] = [
    # plain values
    (1, 2, [("", "1", "2")]),
    (1, "1", [("", "1", "'1'")]),
    (datetime.date(2024, 1, 2), datetime.date(2024, 1, 3), None),
    (Color.RED, Color.BLUE, [("", "Color.RED", "Color.BLUE")]),
    (Level.LOW, 2, [("", "Level.LOW", "2")]),
    # sequences
    ([1], (1,), [("", "[1]", "(1,)")]),
    ([1, 2, 3, 4], [5, 6, 7, 8], [("[0]", "1", "5"), ("[1]", "2", "6"), ("[2]", "3", "7")]),
    ([1, 2], [1], [("[1]", "2", "")]),
    ([*range(5000)], [*range(4999), -1], [("[4999]", "4999", "-1")]),
    (Point(1, 2), (1, 3), [("[1]", "2", "3")]),
    # dicts
    ({"a": 1, "b": 2}, {"b": 3}, [('["a"]', "1", ""), ('["b"]', "2", "3")]),
    ({'a"b': 1}, {'a"b': 2}, [("['a\"b']", "1", "2")]),
    ({1: 1, (1, "a"): 2}, {1: 1, (1, "a"): 3}, [("[(1, 'a')]", "2", "3")]),
    (order(3), order(4), [('["order"]["lines"][2].qty', "3", "4")]),
    # sets
    ({1, 2, "x"}, {2, 3}, [("", "{'x', 1}", "{3}")]),
    ({"a": {1}}, {"a": set()}, [('["a"]', "{1}", "")]),
    ({*range(500)}, {1}, [("", "<set of 499 items>", "")]),
    # classes
    (Line(1, tags=(1, 2)), Line(1, tags=(1, 3)), [(".tags[1]", "2", "3")]),
    (Slotted(1), Slotted(2), [(".qty", "1", "2")]),
    (Line(1), Item(1), [("", "Line(qty=1, note='', tags=())", "Item(qty=1)")]),
    (Plain(1), Plain(1), [("", "Plain(x=1)", "another Plain(x=1)")]),
    # strings
    ("one", "two", [("", "'one'", "'two'")]),
    (f"{LONG}a{LONG}", f"{LONG}b{LONG}", [("", f"…{'x' * 20}a{'x' * 97}…", f"…{'x' * 20}b{'x' * 97}…")]),
    ({"t": LONG + "a"}, {"t": LONG + "b"}, [('["t"]', f"'{LONG}a'", f"'{LONG}b'")]),
    # redacted
    ({"password": "hunter2"}, {"password": 3}, [('["password"]', "'<redacted 1>'", "3")]),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_equal_values_do_not_differ(left, right):
    assert left == right or left is right
    assert differences(left, right, TEXTS) == ()


@pytest.mark.parametrize(("left", "right", "expected"), DIFFERENT)
def test_values_that_differ(left, right, expected):
    found = differences(left, right, TEXTS)
    assert expected is None or told(found) == expected
    assert found
    turned = differences(right, left, TEXTS)
    assert {(d.path, d.left.removeprefix("another ")) for d in turned} == {
        (d.path, d.right.removeprefix("another ")) for d in found
    }


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Money(1), Money(2)),
        (Money(1), 1),
        (1.5, Anything()),
        (types.SimpleNamespace(a=1), types.SimpleNamespace(a=2)),
        (collections.OrderedDict(a=1), {"a": 2}),
        ({Color.RED: 1}, {Color.RED: 2}),
        ({"a": {(1, Color.RED)}}, {"a": {(1, Color.BLUE)}}),
    ],
)
def test_where_code_of_the_program_decides_nothing_is_told(left, right):
    assert differences(left, right, TEXTS) == ()


@pytest.mark.parametrize("kind", [*hostile.instances()])
def test_no_code_of_the_program_runs(kind):
    one, two = hostile.instances()[kind], hostile.instances()[kind]
    everything = [*hostile.instances().values()]
    hostile.ran.clear()
    for left, right in [
        *((one, each) for each in (two, 1, "text", [one], {"a": 1}, {1}, (1, 2), None)),
        *((each, one) for each in (1, "text", [one], {"a": 1, 5: 2}, {1}, (1, 2), None)),
        ([one], [two]),
        ({"a": one}, {"a": two}),
        (everything, [*everything[::-1]]),
        (types.SimpleNamespace(a=one), types.SimpleNamespace(a=two)),
    ]:
        differences(left, right, TEXTS)
    assert hostile.ran == []


def cyclic():
    found = [1]
    found.append(found)
    return found


def doubled(value):
    for _ in range(60):
        value = [value, value]
    return value


def deep(value):
    for _ in range(5000):
        value = [value]
    return value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "right"),
    [
        (cyclic(), cyclic()),
        (doubled([1]), doubled([2])),
        (deep(1), deep(2)),
        ([[n] for n in range(100_000)], [[n] for n in range(100_000)]),
        ([Money(n) for n in range(50_000)], [Money(n) for n in range(50_000)]),
        ({n: n for n in range(200_000)}, {n: -n for n in range(200_000)}),
        ([*range(300_000)], [*range(300_000), 1]),
        ("x" * 10_000_000, "x" * 10_000_000 + "y"),
        ([1 << 100_000], [1 << 100_001]),
        (["x" * 10**6] * 1000, [["x" * 10**6] * 1000]),
    ],
    ids=["cycle", "doubled", "deep", "lists", "own", "dict", "numbers", "string", "number", "strings"],
)
def test_it_comes_to_an_end(left, right):
    for each in differences(left, right, TEXTS):
        assert max(len(each.left), len(each.right)) <= MAX_TEXT + len("another ")
        assert len(each.path) <= 200


def test_part_of_a_credential_is_not_shown():
    key = "sk-" + "aB3dE5" * 12
    (found,) = differences(f"see {key} {LONG}", f"see {key[:-20]}XYZ {LONG}", TEXTS)
    assert key[-30:-20] not in found.left + found.right
    secret = "-----BEGIN PRIVATE KEY-----\n" + "MIIEabc\n" * 9 + "-----END PRIVATE KEY-----\n"
    (found,) = differences(secret, secret.replace("MIIEabc\n", "MIIEabd\n", 1), TEXTS)
    assert "MIIE" not in found.left


def test_text_around_a_whole_credential_is_shown():
    cookie = f"theme=dark; csrftoken=Zx81kfiwpqTTlmn2; lang=en {LONG}"
    (found,) = differences(cookie, cookie.replace("dark", "light"), TEXTS)
    assert re.fullmatch(r"'theme=dark; csrftoken=<redacted \d+>; lang=en x+…", found.left)


ATOMS = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=90)
VALUES = st.recursive(
    ATOMS | st.binary(max_size=4) | st.sampled_from([*Color, *Level]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 3), inner, max_size=3)
        | st.tuples(inner, inner).map(lambda pair: Point(*pair))
        | st.builds(Line, inner, tags=inner)
        | st.sets(st.integers(0, 5), max_size=3)
    ),
    max_leaves=12,
)


@given(VALUES, VALUES)
def test_there_are_differences_where_values_are_not_equal(left, right):
    found = differences(left, right, TEXTS)
    assert bool(found) is (left != right)
    assert len(found) <= 3


@given(VALUES, VALUES)
def test_path_leads_to_the_texts(left, right):
    for difference in differences(left, right, TEXTS):
        if "…" in difference.path + difference.left + difference.right or "items" in difference.left:
            continue
        for value, text in ((left, difference.left), (right, difference.right)):
            found = at(value, difference.path)
            if text.endswith("item") or isinstance(found, set):
                continue
            assert text in ("" if found is None and text == "" else TEXTS.of(found), ""), difference


def at(value, path):
    """What a path leads to from a value; None where the value has no such part."""
    try:
        return eval(f"value{path}", {"value": value, "Color": Color, "Level": Level})
    except (IndexError, KeyError, AttributeError):
        return None
