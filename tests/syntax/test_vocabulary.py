import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.calls import Called, Calls
from loop_close.syntax import index_source
from loop_close.syntax.vocabulary import functions_like_tests, relevance, words_of

SHOP = """
def ship(order):
    return order.weight * rate("parcel")

def pay(order):
    return order.total

class Cart:
    def add(self, item):
        self.items.append(item)
"""
TESTS = """
def test_parcel(): assert shipping(order, kind="parcel").weight == 3
def test_total(): assert paid(order).total == 3
def test_cart(): assert cart(order)
class TestCart:
    def test_items(self): assert cart(order).items
"""
FUNCTIONS = (
    Called(file="shop.py", line=2, function="ship", end_line=3),
    Called(file="shop.py", line=5, function="pay", end_line=6),
    Called(file="shop.py", line=9, function="Cart.add", end_line=10),
)


def like(*tests, functions=FUNCTIONS, sources=(SHOP, TESTS), ran=(0, 1, 2)):
    texts = dict(zip(("shop.py", "test_shop.py"), sources, strict=True))
    hits = tuple((index, functions[index].line + 1) for index in ran)
    calls = Calls(passed=3, functions=functions, failed=dict.fromkeys(tests, hits))
    return functions_like_tests(calls, lambda file: index_source(texts[file]) if file in texts else None)


@pytest.mark.parametrize(
    ("test", "best"),
    [
        ("test_shop.py::test_parcel", 0),
        ("test_shop.py::test_parcel[1-a::b]", 0),
        ("test_shop.py::test_total", 1),
        ("test_shop.py::TestCart::test_items", 2),
    ],
)
def test_the_function_with_the_words_that_set_the_test_apart(test, best):
    scores = dict(like(test)[test])
    assert max(scores, key=scores.get) == best


def test_a_word_of_every_test_says_nothing():
    tests = "def test_a(): order\ndef test_b(): order\ndef test_c(): order.total\n"
    scores = dict(like("test_shop.py::test_c", sources=(SHOP, tests))["test_shop.py::test_c"])
    assert scores[1] > 3 * scores.get(0, 0.0)
    only = "def test_a(): order\ndef test_b(): order\ndef test_c(): order\n"
    scores = like("test_shop.py::test_c", sources=(SHOP, only)).get("test_shop.py::test_c", ())
    assert all(score < 0.1 for _, score in scores)


@pytest.mark.parametrize(
    "test", ["test_shop.py::test_generated", "test_shop.py", "other.txt::1", "gone.py::test_a", "::", ""]
)
def test_tests_whose_source_is_not_known(test):
    assert like(test) == {}


def test_functions_whose_source_is_not_known_or_has_moved():
    moved = FUNCTIONS[0]._replace(line=1), FUNCTIONS[1]._replace(file="gone.py"), FUNCTIONS[2]
    assert like("test_shop.py::test_parcel", functions=moved) == {}


def test_the_words_of_strings_count_and_long_ones_only_at_their_beginning():
    tests = f"def test_a(): 'parcel'\ndef test_b(): {'x' * 2_000 + ' parcel'!r}\ndef test_c(): b'parcel'\n"
    found = like(*(f"test_shop.py::test_{name}" for name in "abc"), sources=(SHOP, tests))
    assert found.keys() == {"test_shop.py::test_a", "test_shop.py::test_c"}


def test_equal_bytes_and_strings_are_never_compared():
    code = "from loop_close.syntax import index_source as i; from loop_close.syntax.vocabulary import _vocabulary as v;"
    code += """print(*v(i("def f(): 'parcel', b'parcel'").functions[1]))"""
    done = subprocess.run([sys.executable, "-bb", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["parc"]


def test_of_many_functions_those_are_looked_at_that_few_passing_tests_ran():
    number = 150
    text = "".join(f"def f{i}(): {('parcel', 'other')[i % 2]}\n" for i in range(number))
    functions = tuple(
        Called(file="shop.py", line=i + 1, function=f"f{i}", end_line=i + 1, passed=i) for i in range(number)
    )
    found = like("test_shop.py::test_parcel", functions=functions, sources=(text, TESTS), ran=range(number))
    assert [index for index, _ in found["test_shop.py::test_parcel"]] == [*range(0, 100, 2)]


def test_stems_of_names_in_camel_and_snake_case():
    assert words_of("parseHTMLPage parsers_of parser") == {"pars": 3, "html": 1, "page": 1}


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(1, 9))),
    st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1)),
)
def test_relevance_is_never_negative_and_needs_a_word_in_common(documents, asked):
    scores = relevance(documents, asked)
    assert len(scores) == len(documents)
    for document, score in zip(documents, scores, strict=True):
        assert score >= 0
        assert score == 0 or any(asked.get(word) for word in document)


def test_a_test_that_is_not_compared_counts_its_words_as_its_own():
    """Of many tests of a file some are compared: not this one, whose word is as rare as that of one that is."""
    tests = "".join(
        f"def test_{i}(): {'parcel' if i == 1 else 'total' if i == 0 else 'order'}\n" for i in range(150)
    )
    odd, even = (
        dict(like(name, sources=(SHOP, tests))[name])
        for name in ("test_shop.py::test_1", "test_shop.py::test_0")
    )
    assert odd[0] == pytest.approx(even[1], rel=0.3)
