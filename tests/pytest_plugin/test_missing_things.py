"""What the report says of names, modules, keys and arguments that are not there, and of code without a file."""

import pytest

SHOP = """
RATES = {"DE": 19, "FR": 20}

class Cart:
    def __init__(self, lines=()):
        self.lines = lines

def parse_date(text, strict=False):
    return text
"""


def nearest(done):
    return [link["nearest"] for e in done.report["evidence"] for link in e.get("chain", ())]


@pytest.mark.parametrize(
    ("line", "expected", "reason"),
    [
        ("assert 1 == 2", [], "1 test failure detected"),
        ("shop.Cart().line", ["lines"], "1 test failure detected"),
        ("shop.parse_dat('x')", ["parse_date"], "1 test failure detected"),
        ("shp.parse_date('x')", ["shop"], "1 test failure detected"),
        ("from shop import parse_dat", ["parse_date"], "1 failed import detected"),
        ("import shp", ["shop"], "1 failed import detected"),
    ],
)
def test_nearest_names_are_in_the_report(run, line, expected, reason):
    done = run({"shop.py": SHOP, "test_a.py": f"import shop\ndef test_a():\n    {line}\n"})
    assert nearest(done) == [expected]
    assert done.report["stall_reason"] == reason


def test_fixture_that_is_nearest(run):
    source = "import pytest\n@pytest.fixture\ndef database(): pass\ndef test_a(databse): pass\n"
    done = run({"test_a.py": source})
    assert nearest(done) == [["database"]]
    assert done.report["stall_reason"] == "1 collection error detected"


@pytest.mark.slow
def test_worker_processes_report_the_same(run):
    files = {"shop.py": SHOP, "test_a.py": "import shop\ndef test_a():\n    shop.Cart().line\n"}
    alone = run(files)
    spread = run(files, "-n", "1", plugins=("xdist",))
    assert nearest(spread) == nearest(alone) == [["lines"]]


def test_imports_that_fail_are_one_kind(run):
    files = {
        "near_a.py": "from near_b import B\nclass A: pass\n",
        "near_b.py": "from near_a import A\nclass B: pass\n",
        "test_cycle.py": "import near_a\n",
        "test_module.py": "import not_there_at_all\n",
        "test_name.py": "from os import getcwdd\n",
    }
    done = run(files)
    assert done.report["stall_reason"] == "3 failed imports detected"
    assert [cause["kind"] for cause in done.causes] == ["missing-module"] * 3


def test_text_that_cannot_be_parsed_is_placed_where_it_was_compiled(run):
    shop = "def total(rule):\n    return eval(rule)\n"
    done = run({"shop.py": shop, "test_a.py": "from shop import total\ndef test_a():\n    total('1 +')\n"})
    assert done.report["stall_reason"] == "1 test failure detected"
    assert done.causes[0]["location"] == {"file": "shop.py", "line": 2, "function": "total"}


TEMPLATE = """
def render(text, **values):
    made = "def root(values):\\n    yield " + text
    space = {}
    exec(compile(made, "<template>", "exec"), space)
    return "".join(space["root"](values))
"""


def test_error_in_generated_code_is_placed_at_the_statement_that_ran_it(run):
    test = "from shop import render\ndef test_a():\n    render('values[\"name\"].upper()', name=None)\n"
    done = run({"shop.py": TEMPLATE, "test_a.py": test})
    assert done.causes[0]["location"] == {"file": "shop.py", "line": 6, "function": "render"}


HELPERS = """
class ShopError(Exception):
    def __init__(self, text):
        super().__init__(text)

def fail(error):
    raise error

def pay(amount):
    if amount < 0:
        fail(ShopError("negative"))
    return amount

def refund(amount):
    return fail(ShopError("never"))
"""


def test_helper_that_raises_what_it_is_given_is_not_the_place(run):
    tests = "from shop import *\ndef test_a(): pay(-1)\ndef test_b(): refund(1)\ndef test_c(): pay(1)\n"
    done = run({"shop.py": HELPERS, "test_a.py": tests})
    assert sorted(cause["location"]["function"] for cause in done.causes) == ["pay", "refund"]
    named = [suspect["function"] for cause in done.causes for suspect in cause["suspects"][:1]]
    assert sorted(named) == ["pay", "refund"]
    assert "ShopError.__init__" not in str([cause["suspects"] for cause in done.causes])


@pytest.mark.parametrize(
    ("files", "place"),
    [
        (
            {
                "lib.py": "def outer():\n    return inner()\n\ndef inner():\n    raise\n",
                "test_a.py": "import lib\ndef test_a(): lib.outer()\n",
            },
            "inner() in lib.py:5",
        ),
        (
            {
                "lib.py": "def setting(name): return {'url': 1}[name]\nsetting('url')\n",
                "conftest.py": "import lib, pytest\n@pytest.fixture\ndef backend(): return {}['url']\n",
                "test_a.py": "def test_a(backend): pass\n",
            },
            "backend() in conftest.py:3",
        ),
        (
            {
                "werk/__init__.py": "",
                "werk/test.py": "from werk.utils import slash\n\ndef open(path): return slash(path) + 1\n",
                "werk/utils.py": "def slash(path): return path + '/'\n",
                "test_a.py": "from werk.test import open\ndef test_a(): open('a')\n",
            },
            "open() in werk/test.py:3",
        ),
    ],
    ids=["bare raise", "fixture", "test.py of the product"],
)
def test_the_function_that_raised_comes_first(run, files, place):
    assert f"{place} (" in run(files).title
