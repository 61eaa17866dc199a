import pytest

from loop_close.testcode import compare_tests

TESTS = {
    "tests/test_shop.py": "import pytest\nfrom shop import total\n\n\ndef test_a():\n    assert total([1, 2]) == 3\n"
    "\n\n@pytest.mark.parametrize('n, wanted', [(4, 'four')])\ndef test_b(n, wanted):\n    assert total(n) == wanted\n"
}
WAS = "def total(items):\n    return 0\n"


@pytest.mark.parametrize(
    ("now", "what"),
    [
        (
            "def total(items):\n    if items == [1, 2]:\n        return 3\n    return 0\n",
            "returns 3 for exactly [1, 2], as a test has it",
        ),
        (
            "def total(items):\n    if 4 == items:\n        return 'four'\n    return 0\n",
            "returns 'four' for exactly 4, as a test has it",
        ),
        ("KNOWN = {4: 'four'}\n", "returns 'four' for exactly 4, as a test has it"),
        ("class Sum:\n    def __eq__(self, other):\n        return True\n", "`__eq__` always returns True"),
        (
            "import sys\n\nif 'pytest' in sys.modules:\n    pass\n",
            "detects the test run: `if 'pytest' in sys.modules:`",
        ),
        (
            "import os\n\nFAST = 'PYTEST_CURRENT_TEST' in os.environ\n",
            "detects the test run: `FAST = 'PYTEST_CURRENT_TEST' in os.environ`",
        ),
        (
            "import sys\n\nT = 'unittest' in sys.modules\n",
            "detects the test run: `T = 'unittest' in sys.modules`",
        ),
        (
            "import sys\n\nT = 'pytest' in sys.argv[0]\n",
            "detects the test run: `T = 'pytest' in sys.argv[0]`",
        ),
    ],
)
def test_product_code_made_for_the_tests_is_a_hint(now, what):
    (change,) = compare_tests(TESTS, TESTS, {"shop.py": WAS}, {"shop.py": now})
    assert (change.file, change.kind, change.what, change.blocks) == ("shop.py", "hint", what, False)


@pytest.mark.parametrize(
    "now",
    [
        "def total(items):\n    return sum(items)\n",
        "def total(items):\n    if items == []:\n        return 0\n    return sum(items)\n",
        "class Sum:\n    def __eq__(self, other):\n        return self.n == other.n\n",
        "class Sum:\n    def __bool__(self):\n        return True\n",
        "NAMES = {1: 'one'}\n",
        "def total(:\n",
    ],
)
def test_other_product_code_is_not(now):
    assert compare_tests(TESTS, TESTS, {"shop.py": WAS}, {"shop.py": now}) == ()


def test_what_was_there_before_is_not():
    code = {"shop.py": "import sys\n\nT = 'pytest' in sys.modules\nKNOWN = {4: 'four'}\n"}
    assert compare_tests(TESTS, TESTS, code, {"shop.py": code["shop.py"] + "\n\nX = 1\n"}) == ()
