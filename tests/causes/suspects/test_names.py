import pytest
from called import CART, called, calls, nodeid
from hypothesis import given
from hypothesis import strategies as st
from records import failure, verdict

from loop_close.causes.candidates import Candidate, with_names
from loop_close.causes.clues import Clue
from loop_close.causes.rank import found_for, scored
from loop_close.model import Evidence, RootCause


def candidate(function, clue=None):
    return Candidate(file=CART, function=function, spectrum=None, clue=clue, features={"line_score": 0.5})


def spelled(functions, *tests):
    return [round(c.features["name"], 2) for c in with_names([*map(candidate, functions)], tests)]


NAMES = ["Parser.parse_key", "Parser.parse_value", "Source.advance", "Parser.made"]


@pytest.mark.parametrize(
    ("test", "best"),
    [
        ("tests/test_a.py::test_values", "Parser.parse_value"),
        ("tests/test_a.py::TestParsing::test_key_is_bare", "Parser.parse_key"),
        ("tests/test_a.py::TestSource::test_it", "Source.advance"),
        ("tests/test_a.py::testAdvancing", "Source.advance"),
        ("tests/test_a.py::test_advance[parse_key]", "Source.advance"),
    ],
)
def test_the_function_that_is_spelled_best(test, best):
    scores = dict(zip(NAMES, spelled(NAMES, test), strict=True))
    assert scores[best] == 1
    assert [name for name, score in scores.items() if score == 1] == [best]


def test_a_word_that_few_functions_have_says_more():
    parse_key, parse_value, advance, made = spelled(NAMES, "a.py::test_parser_advances")
    assert advance == 1
    assert 0 < parse_key < 0.5
    assert 0 < parse_value < 0.5
    assert 0 < made < 0.5


def test_words_of_more_tests_say_more():
    tests = ["a.py::test_value", "a.py::test_values_in_tables", "a.py::test_key"]
    parse_key, parse_value, _, _ = spelled(NAMES, *tests)
    assert 0 < parse_key < parse_value


def test_what_python_calls_functions_says_nothing():
    functions = ["Cart.__init__", "cached.<locals>.inside", "total"]
    assert spelled(functions, "a.py::test_initial_total_is_local") == [0, 0, 1]


def test_what_all_are_called_says_little():
    functions = ["Money.__eq__", "Money.add", "Money.converted_to_unit"]
    assert max(spelled(functions, "a.py::TestMoney::test_yen")) < 0.3


def test_what_few_tests_are_called_says_little():
    tests = [f"a.py::test_{number}" for number in range(99)]
    assert 0 < spelled(NAMES, *tests, "a.py::test_advance")[2] < 0.1


@pytest.mark.parametrize(
    "nodeid", ["read.rst::read.rst", "docs/read.rst::read.rst", "a.rst::line:5,column:1"]
)
def test_examples_in_texts_have_no_names(nodeid):
    assert spelled(["read_text", "line_of", "column"], nodeid) == [0] * 3


def test_examples_in_docstrings_are_called_after_what_they_are_in():
    assert spelled(["Cart.total", "parse"], "shop.py::shop.Cart.total") == [1, 0]


@pytest.mark.parametrize(
    "tests", [(), ("tests/test_a.py",), ("tests/test_parser.py::test_it",), ("a.py::ü",), ("::",)]
)
def test_nothing_is_spelled(tests):
    assert spelled(NAMES, *tests) == [0] * 4


def test_no_functions_or_no_words():
    assert with_names([], ["a.py::test_key"]) == []
    assert spelled(["f", "<lambda>", "_"], "a.py::test_key") == [0] * 3


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("test_größen", [1, 0, 0]),
        ("test_価格", [0, 0, 0]),
        ("test_HTMLPages", [0, 1, 0]),
        ("testPréfixe2", [0, 0, 1]),
    ],
)
def test_words_of_any_alphabet_and_humps(test, expected):
    found = spelled(["größe", "HTTPServer.pageOf", "préfixes_of"], f"a.py::{test}")
    assert [score > 0.5 for score in found] == [*map(bool, expected)]


def test_that_it_is_a_test_says_nothing():
    assert spelled(["run_tests", "Tester.total", "collect"], "a.py::TestIt::test_collecting") == [0, 0, 1]


def test_of_many_tests_some_by_chance_tell():
    tests = [f"a.py::test_{n:04}_{kind}" for n in range(500) for kind in ("key", "advance")]
    shares = spelled(NAMES, *tests)
    assert shares == spelled(NAMES, *reversed(tests))
    assert min(shares[0], shares[2]) > 0.5  # not each second one


def test_test_code_is_not_spelled_by_its_own_name():
    found = [
        candidate("total"),
        candidate("test_total", Clue(file=CART, function="test_total", is_test=True)),
    ]
    names = with_names(found, [nodeid("test_total")])
    assert [c.features["name"] > 0 for c in names] == [True, False]


def test_other_clues_stay():
    [found] = with_names([candidate("total")], [nodeid("test_total")])
    assert found.features["line_score"] == 0.5
    assert found.features["name"] > 0


@given(st.lists(st.text(max_size=12), max_size=6), st.lists(st.text(max_size=30), max_size=4))
def test_between_nothing_and_all_whatever_the_names(functions, tests):
    scores = [c.features["name"] for c in with_names([*map(candidate, functions)], tests)]
    assert all(0 <= score <= 1 for score in scores)


def test_of_functions_that_ran_alike_the_one_that_the_tests_are_called_after_is_first():
    known = calls(called("parse"), called("total", 30), passed=9, test_total=[(0, 1), (1, 1)])
    cause = RootCause(id="1", kind="test-failure", evidence=(of_total(),))
    ranked = scored(found_for(cause, known))
    assert [each.function for _, each in ranked] == ["total", "parse"]


def of_total():
    failed = failure(verdict(), nodeid("test_total"))
    return Evidence(kind="test-failure", snippet="", failure=failed)
