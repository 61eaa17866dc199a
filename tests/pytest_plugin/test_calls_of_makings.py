"""What functions that made something at import are suspected of by tests that use it, by runs of whole projects."""

import re
import textwrap

import pytest
from calls_harness import needs_monitoring

pytestmark = needs_monitoring

MAKERS = """
    def double(number):
        return number * 3


    def half(number):
        return number / 2
    """
TABLES = """
    from shop.makers import double, half

    TWICE = [double(n) for n in range(5)]
    HALVES = [half(n) for n in range(5)]
    BOTH = {"twice": TWICE}


    def twice(number):
        return BOTH["twice"][number]


    def halved(number):
        return HALVES[number]
    """
TESTS = """
    from shop.tables import halved, twice


    def test_twice():
        assert twice(2) == 4


    def test_halved():
        assert halved(2) == 1


    def test_zero():
        assert halved(0) == 0
    """


def project(tests=TESTS, **files):
    shop = {"__init__": "", "makers": MAKERS, "tables": TABLES, **files}
    return {**{f"shop/{name}.py": text for name, text in shop.items()}, "test_tables.py": tests}


def suspects(done):
    """The functions of each cause, without the statements of modules that they use."""
    return [
        [each["function"] for each in cause["suspects"] if "constant" not in each]
        for cause in done.report["root_causes"]
    ]


def reasons(done, name):
    return next(
        each["reasons"]
        for cause in done.report["root_causes"]
        for each in cause["suspects"]
        if each["function"] == name
    )


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_what_made_the_table_is_suspected(run, workers):
    """By way of another one that holds it; what made another table is not."""
    done = run(project(), *workers, own_process=True, plugins=("xdist",))
    assert suspects(done) == [["twice", "double"]]
    assert reasons(done, "double") == [
        "called by the failing test and 0 of 2 passing ones",
        "it ran at import, and the failing tests use its result",
    ]
    assert re.search(r"^Other places: .*`shop/makers\.py:2` `double` \(\d+ %\)", done.prompt, re.MULTILINE)


def test_workers_say_the_same(run, pytester):
    one = run(project(), own_process=True).report["root_causes"]
    two = run({}, "-n2", own_process=True, plugins=("xdist",)).report["root_causes"]
    assert one == two


@pytest.mark.parametrize(
    "tests",
    [
        "from shop.tables import TWICE\n\ndef test_a():\n    assert TWICE[1] == 2\n",
        "from shop.tables import TWICE as T\n\ndef test_a():\n    assert T[1] == 2\n",
        "from shop.tables import *\n\ndef test_a():\n    assert TWICE[1] == 2\n",
        "from shop import tables\n\ndef test_a():\n    assert tables.TWICE[1] == 2\n",
        "import shop.tables as t\n\ndef test_a():\n    assert t.TWICE[1] == 2\n",
        "from shop.makers import double\nT = double(1)\n\ndef test_a():\n    assert T == 2\n",
        "from shop.tables import TWICE\n\ndef one():\n    return TWICE[1]\n\ndef test_a():\n    assert one() == 2\n",
        "import pytest\nfrom shop.tables import TWICE\n\n@pytest.fixture\ndef one():\n    return TWICE[1]\n\n"
        "def test_a(one):\n    assert one == 2\n",
        "from shop.makers import double\n\nclass TestA:\n    T = double(1)\n\n    def test_a(self):\n"
        "        assert self.T == 2\n",
        "import unittest\nfrom shop.tables import TWICE\n\nclass A(unittest.TestCase):\n    def setUp(self):\n"
        "        self.t = TWICE\n\n    def test_a(self):\n        self.assertEqual(self.t[1], 2)\n",
        "import pytest\nfrom shop.makers import double\n\n@pytest.mark.parametrize('n', [double(1)])\ndef test_a(n):\n"
        "    assert n == 2\n",
    ],
    ids=[
        "name",
        "alias",
        "star",
        "module",
        "module-alias",
        "test-module",
        "helper",
        "fixture",
        "class",
        "setup",
        "mark",
    ],
)
def test_however_the_test_comes_by_it(run, tests):
    more = "\n\ndef test_other():\n    assert True\n"
    done = run(project(tests + more), own_process=True)
    assert suspects(done) == [["double"]]


def test_what_no_failing_test_uses_is_not_suspected(run):
    tests = "from shop.tables import TWICE\nT = TWICE[1]\n\ndef test_a():\n    assert 1 == 2\n"
    assert suspects(run(project(tests), own_process=True)) == [[]]


def test_decorated_functions_use_what_the_decorator_made(run):
    marks = """
        def scaled(by):
            factor = by + 1
            def mark(function):
                return lambda *numbers: factor * function(*numbers)
            return mark
        """
    sums = """
        from shop.marks import scaled


        @scaled(2)
        def total(*numbers):
            return sum(numbers)


        def count(*numbers):
            return len(numbers)
        """
    tests = """
        from shop.sums import count, total


        def test_total():
            assert total(1, 2) == 6


        def test_count():
            assert count(1, 2) == 2
        """
    done = run(project(tests, marks=marks, sums=sums), own_process=True)
    assert "scaled" in suspects(done)[0]


GENERATED = """
    import pytest
    from checks import checks
    from shop.makers import double

    TestTwice = checks(double(2), 4)


    def test_other():
        assert True
    """
HELPERS = """
    def checks(value, expected):
        class TestIt:
            def test_it(self):
                assert value == expected
        return TestIt
    """


def test_of_tests_whose_code_is_elsewhere_all_of_their_module_counts(run):
    files = {**project(), "test_tables.py": GENERATED, "tests/checks.py": HELPERS}
    done = run({**files, "conftest.py": "import sys\nsys.path.append('tests')\n"}, own_process=True)
    assert "double" in suspects(done)[0]


BROKEN = {
    "numbers": """
        def text_of(number):
            return number


        def label(number):
            return "no " + text_of(number)
        """,
    "labels": "from shop.numbers import label\n\nFIRST = label(1)\n",
}


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_what_ran_until_a_module_could_not_be_collected(run, workers):
    """The function that gave the wrong value is on no traceback."""
    tests = "from shop.labels import FIRST\n\ndef test_first():\n    assert FIRST\n"
    done = run(project(tests, **BROKEN), *workers, own_process=True, plugins=("xdist",))
    assert suspects(done) == [["label", "text_of"]]


@pytest.mark.parametrize("wrong", ["from shop.labels import NO", "import shop.no", "def f(:", "NO"])
def test_what_is_missing_is_told_by_its_name_alone(run, wrong):
    numbers = BROKEN["numbers"].replace("return number", "return str(number)")
    tests = f"from shop.labels import FIRST\n{wrong}\n\ndef test_first():\n    assert FIRST\n"
    done = run(project(tests, **{**BROKEN, "numbers": numbers}), own_process=True)
    assert suspects(done) == [[]]


def test_alone_nothing_is_told_of_imports(run):
    """Who used what was made is not remembered of the fuller run: only failing tests would seem to use it."""
    run(project(), remembers=True, own_process=True)
    done = run({}, "test_tables.py::test_twice", remembers=True, own_process=True)
    assert suspects(done) == [["twice"]]


CONSTANTS = """
    class Unit:
        def __init__(self, name, factor):
            self.name, self.factor = name, factor


    def unit(name, factor):
        return Unit(name, factor)


    METRE = unit("m", 1)
    FOOT = unit("ft", 0.3)
    MILE = unit("mi", 1609)
    YARD = unit("yd", 0.9)
    INCH = unit("in", 0.03)


    def metres(number, unit):
        if unit.name == "mi":
            return number
        return number * unit.factor
    """
OF_EACH = """
    import pytest
    from shop import units


    def test_metre():
        assert units.metres(2, units.METRE) == 2


    def test_foot():
        assert units.metres(1, units.FOOT) == 0.3


    def test_mile():
        assert units.metres(1, units.MILE) == 1609


    def test_yard():
        assert units.metres(1, units.YARD) == 0.9


    def test_inch():
        assert units.metres(1, units.INCH) == 0.03
    """


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_what_made_a_constant_for_each_test_is_used_by_all(run, workers):
    files = {"shop/__init__.py": "", "shop/units.py": CONSTANTS, "test_units.py": OF_EACH}
    done = run(files, *workers, own_process=True, plugins=("xdist",))
    assert suspects(done) == [["metres"]]


def test_objects_of_other_modules_are_no_link(run):
    """The library's class is bound by a function here, and imported by its own name there."""
    compat = "import pathlib\n\ndef pick():\n    return pathlib.Path\n\nPathLike = pick()\n"
    area = "from pathlib import Path\n\ndef stem(name):\n    return Path(name).name\n"
    tests = "from shop import area, compat\n\ndef test_stem():\n    assert area.stem('a.b') == 'a'\n"
    more = "\n\ndef test_other():\n    assert compat.PathLike\n"
    assert suspects(run(project(tests + more, compat=compat, area=area), own_process=True)) == [["stem"]]


def test_mocks_among_the_modules(run):
    tests = "import json, sys\nfrom unittest import mock\nsys.modules['other'] = mock.create_autospec(json)\n"
    done = run(project(tests + textwrap.dedent(TESTS)), own_process=True)
    assert suspects(done) == [["twice", "double"]]


def test_two_statements_on_a_line(run):
    files = {
        "shop/__init__.py": "",
        "shop/letters.py": "def f(): return 1\ndef g(): return 2\nX = g()\nA = f(); B = [X]\ndef use(): return A\n",
        "test_letters.py": "from shop.letters import use\n\ndef test_a():\n    assert use() == 2\n\ndef test_b():\n"
        "    assert True\n",
    }
    one = run(files, own_process=True).report["root_causes"]
    two = run({}, "-n2", own_process=True, plugins=("xdist",)).report["root_causes"]
    assert one == two
    assert "f" in [each["function"] for each in one[0]["suspects"]]


def test_fault_of_ours_costs_what_is_told_of_imports_alone(run):
    broken = """
        import loop_close.monitor.imports

        def fail(*arguments):
            raise ValueError("no more")

        loop_close.monitor.imports.ImportEffects = fail
        """
    done = run({**project(), "conftest.py": broken}, own_process=True)
    assert suspects(done) == [["twice"]]
    assert done.report["calls"]["why_off"] == "imports were not tracked: ValueError: no more"


def test_modules_that_tests_import_are_not_told_by_line(run):
    tests = """
        def test_a():
            from shop.tables import TWICE
            assert TWICE[1] == 2


        def test_b():
            from shop.tables import HALVES
            assert HALVES[2] == 1
        """
    assert suspects(run(project(tests), own_process=True)) == [[]]


ROWS = """\
def fill(row, value):
    row["n"] = value
    return row

def empty():
    return {}
"""
AUDIT = """\
class Audit:
    def __init__(self):
        self.entries = {}

    def add(self, user, event):
        self.entries.setdefault(user, []).append(event)

    def last(self, user):
        events = self.entries.get(user, [])
        return events[0] if events else None
"""


def test_a_function_that_was_given_the_checked_value_is_not_said_to_have_returned_it(run):
    tests = """\
from rows import empty, fill

def test_leaves_the_row():
    row = {"n": None}
    fill(row, 3)
    assert row["n"] is None

def test_fill(): assert fill({}, 3) == {"n": 3}
def test_empty(): assert empty() == {}
"""
    done = run({"rows.py": ROWS, "test_rows.py": tests}, own_process=True)
    assert reasons(done, "fill")[-1] == "the failing statement checks a value that it made or was given"
    done = run({"rows.py": ROWS, "test_rows.py": tests.replace('{"n": 3}', "{}")}, own_process=True)
    said = [each for each in reasons(done, "fill") if "statement" in each]
    assert said == ["the failing statement calls it and checks its return value"]


def test_a_function_whose_value_is_checked_is_named_though_all_passing_tests_call_it(run):
    tests = """\
from audit import Audit

def test_last():
    audit = Audit()
    audit.add("jo", "x")
    audit.add("jo", "y")
    assert audit.last("jo") == "y"

def test_none(): assert Audit().last("jo") is None
"""
    done = run({"audit.py": AUDIT, "test_audit.py": tests}, own_process=True)
    assert suspects(done) == [["Audit.add", "Audit.last"]]
