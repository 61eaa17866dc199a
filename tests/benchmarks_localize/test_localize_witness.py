import json
import os
import sys
from pathlib import Path

import pytest

SHOP = """\
def price(cart):
    return [number(item) for item in cart]

def number(text):
    return int(text)

@staticmethod
def quiet():
    return 1

def again(text):
    try:
        price(text)
    except ValueError:
        raise KeyError(text)

def curt(text):
    try:
        number(text)
    except ValueError:
        raise KeyError(text) from None
"""
TESTS = """\
import pytest, shop

def test_good(): shop.quiet()
def test_chain(): shop.again("x")
def test_skipped(): pytest.skip("not now")
def test_curt(): shop.curt("x")
"""


def seen(pytester, monkeypatch, *arguments, **files):
    pytester.makepyfile(**files)
    monkeypatch.setenv("LOCALIZE_WITNESS", str(pytester.path / "seen.json"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), str(pytester.path)]))
    pytester.runpytest_subprocess("-p", "benchmarks.localize.witness", "-p", "no:loop_close", *arguments)
    return json.loads((pytester.path / "seen.json").read_text())


def shown(found):
    return {(line, name) for file, line, name in found["shown"] if file == "shop.py"}


def test_functions_on_tracebacks(pytester, monkeypatch):
    found = seen(pytester, monkeypatch, shop=SHOP, test_shop=TESTS)
    assert found["failed"] == ["test_shop.py::test_chain", "test_shop.py::test_curt"]
    assert shown(found) >= {(1, "price"), (4, "number"), (11, "again"), (17, "curt")}
    assert "quiet" not in {name for _, name in shown(found)}


def test_what_is_not_displayed_does_not_count(pytester, monkeypatch):
    found = seen(pytester, monkeypatch, "-k", "curt", shop=SHOP, test_shop=TESTS)
    assert shown(found) == {(17, "curt")}


def test_modules_that_cannot_be_collected(pytester, monkeypatch):
    found = seen(pytester, monkeypatch, shop="import no_such", test_shop="import shop")
    assert found["failed"] == ["test_shop.py"]
    assert [name for _, name in shown(found)] == ["<module>"]


@pytest.mark.parametrize(
    ("statement", "sort"),
    [
        ("no_such", "name"),
        ("from os import no_such", "name"),
        ("quiet(1)", "arguments"),
        ("quiet(a=1)", "arguments"),
        ("1 + ''", ""),
        ("number('x')", ""),
    ],
)
def test_what_does_not_fit_is_told_from_what_fails(pytester, monkeypatch, statement, sort):
    test = f"from shop import number, quiet\ndef test_it():\n    {statement}\n"
    found = seen(pytester, monkeypatch, shop=SHOP.replace("@staticmethod\n", ""), test_shop=test)
    assert found["sorts"] == [sort]


def test_module_that_does_not_fit(pytester, monkeypatch):
    assert seen(pytester, monkeypatch, shop="no_such", test_shop="import shop")["sorts"] == ["name"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs sys.monitoring")
def test_lines_that_run(pytester, monkeypatch):
    monkeypatch.setenv("LOCALIZE_LINES", "1")
    found = seen(pytester, monkeypatch, "-k", "good", shop=SHOP, test_shop=TESTS)
    assert {1, 4, 9} <= set(found["lines"]["shop.py"])
    assert 5 not in found["lines"]["shop.py"]
    assert {1, 4, 7, 8} <= set(found["at_import"]["shop.py"])
    assert 9 not in found["at_import"]["shop.py"]
