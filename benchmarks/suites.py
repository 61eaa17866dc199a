"""Test suites to measure with, written into a folder. The same arguments give the same bytes."""

from __future__ import annotations

from pathlib import Path

_INI = "[pytest]\naddopts = -p no:cacheprovider\n"


def trivial(folder: Path, *, tests: int, files: int) -> None:
    """Tests that pass and do nothing: whatever a plugin costs a test is seen at its largest."""
    _prepare(folder)
    each = tests // files
    body = "".join(f"def test_{n}():\n    assert True\n\n" for n in range(each))
    for number in range(files):
        (folder / "tests" / f"test_trivial_{number:03}.py").write_text(body)


def failing(folder: Path, *, tests: int, noise: int = 0) -> None:
    """Tests that all fail, in the ways that tests of a real project do, about 100 a file.

    :param noise: characters that each test prints before it fails.
    """
    _prepare(folder)
    (folder / "tests" / "conftest.py").write_text(_CONFTEST.replace("NOISE", str(noise)))
    for number in range(max(1, tests // 100)):
        (folder / "shop" / f"part_{number:03}.py").write_text(_PART)
        text = _TESTS.replace("PART", f"part_{number:03}").replace("FILE", f"{number:03}")
        (folder / "tests" / f"test_part_{number:03}.py").write_text(text)


def distinct(folder: Path, *, tests: int) -> None:
    """Tests that each fail in a function of their own with a message of its own: as many root causes as tests."""
    _prepare(folder)
    for number in range(max(1, tests // 100)):
        places = [_distinct(number * 100 + n) for n in range(min(100, tests))]
        (folder / "shop" / f"place_{number:03}.py").write_text("".join(source for source, _ in places))
        head = f"from shop import place_{number:03} as place\n\n"
        (folder / "tests" / f"test_place_{number:03}.py").write_text(
            head + "".join(test for _, test in places)
        )


def distinct_messages(tests: int) -> list[str]:
    """The messages of :func:`distinct`, one for each test."""
    return [f"{_word(n)} is not in {_word(n + 7)}" for n in range(max(1, tests // 100) * min(100, tests))]


def _prepare(folder: Path) -> None:
    for name in ("tests", "shop"):
        (folder / name).mkdir(parents=True)
    (folder / "shop" / "__init__.py").write_text("")
    (folder / "pytest.ini").write_text(_INI + "pythonpath = .\n")


def _word(number: int) -> str:
    """A word of letters alone: digits are values to everything that compares messages."""
    letters = "bcdfghklmnprstvz"
    return "".join(
        f"{letters[number >> shift & 15]}{'aeiou'[(number >> shift) % 5]}" for shift in (0, 4, 8, 12)
    )


def _distinct(number: int) -> tuple[str, str]:
    name, message = _word(number), distinct_messages_of(number)
    body = f"    if not shelf:\n        raise LookupError({message!r})\n    return shelf[0]\n\n\n"
    source = f"def find_{name}(shelf):\n{body}"
    return source, f"def test_{name}():\n    assert place.find_{name}([]) == 1\n\n\n"


def distinct_messages_of(number: int) -> str:
    """The message of one test of :func:`distinct`."""
    return f"{_word(number)} is not in {_word(number + 7)}"


_CONFTEST = """\
import pytest

LINE = "2026-11-21 10:00:00 INFO shop: looked at one more shelf, found nothing of note\\n"


@pytest.fixture(autouse=True)
def noise():
    print((LINE * (NOISE // len(LINE) + 1))[:NOISE], end="")


@pytest.fixture
def till():
    raise ConnectionError("the till does not answer")
"""

_PART = '''\
"""One part of the shop, with its faults."""

PRICES = {"pear": 3, "plum": 4, "fig": 12}


class Empty(Exception):
    """The basket holds nothing."""


def price(name):
    return PRICES[name]


def total(basket):
    if not basket:
        raise Empty(f"no total of {basket!r}")
    return sum(price(name) for name in basket) + 1


def receipt(basket):
    return {"items": sorted(basket), "total": total(basket), "currency": "EUR", "tax": None}


def discount(amount, percent):
    if percent > 100:
        raise ValueError(f"a discount of {percent} % on {amount}")
    return amount - amount * percent // 10


def checkout(basket, percent=0):
    try:
        return discount(total(basket), percent)
    except Empty as error:
        raise RuntimeError("checkout failed") from error


def label(name):
    return name.title().center(12, "*")


def stock(name):
    return None


def ship(address):
    raise NotImplementedError
'''

_TESTS = """\
import pytest

from shop import PART as part


def check_total(basket, expected):
    found = part.total(basket)
    assert found == expected, f"the total of {len(basket)} items"


@pytest.mark.parametrize("count", range(20))
def test_total_of_pears(count):
    basket = ["pear"] * (count + 1)
    assert part.total(basket) == 3 * (count + 1)


@pytest.mark.parametrize("percent", range(1, 21))
def test_discount(percent):
    price = part.discount(1000, percent)
    assert price == 1000 - 10 * percent


@pytest.mark.parametrize("name", [f"fruit-{n}" for n in range(10)])
def test_price_of_unknown(name):
    assert part.price(name) > 0


@pytest.mark.parametrize("name", ["pear", "plum", "fig"])
@pytest.mark.parametrize("count", range(5))
def test_receipt(name, count):
    basket = [name] * count + ["pear"]
    wanted = {"items": basket, "total": len(basket), "currency": "USD", "tax": 0}
    assert part.receipt(basket) == wanted


@pytest.mark.parametrize("percent", range(5))
def test_checkout_of_nothing(percent):
    assert part.checkout([], percent) == 0


@pytest.mark.parametrize("count", range(5))
def test_with_till(till, count):
    assert till.sell(part, count)


def test_label():
    assert part.label("pear of file FILE") == "Pear"


def test_label_is_wide():
    lines = [part.label(name) for name in ("pear", "plum", "fig")]
    assert lines == ["Pear", "Plum", "Fig"]


@pytest.mark.parametrize("name", ["pear", "plum", "fig", "apple", "quince"])
def test_stock(name):
    assert part.stock(name) + 1 > 1


@pytest.mark.parametrize("count", range(8))
def test_checked(count):
    check_total(["fig"] * (count + 1), 12 * count)


@pytest.mark.parametrize("percent", [101, 150, 200, 250, 300])
def test_too_much(percent):
    with pytest.raises(TypeError):
        part.discount(10, percent)


def test_nothing_raised():
    with pytest.raises(ValueError):
        part.discount(10, 5)


def test_ship():
    assert part.ship("Baker Street")


class TestReceipt:
    def test_items(self):
        assert part.receipt(["plum", "fig"])["items"] == ["plum", "fig"]

    def test_tax(self):
        assert part.receipt(["plum"])["tax"]["rate"] == 19

    def test_name(self):
        assert part.receipt(["plum"]).name == "FILE"
"""
