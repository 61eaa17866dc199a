import pytest

from loop_close.conventions import is_test_file, is_test_module
from loop_close.tree import is_loaded


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ("a.py", "src/pkg/testing.py", "src/tester/a.py", "src/latest.py", "werk/test.py", "tests.txt"),
            False,
        ),
        (
            ("test_a.py", "src/a_test.py", "src/pkg/conftest.py", "app/tests.py", "tests/unit/helpers.py"),
            True,
        ),
        # Shipped as it may be, it holds assertion helpers: their `raise` only failing tests reach, and many
        # causes have it in common, so that as code under test it would be the first suspect of all of them.
        (("src/pkg/testing/__init__.py", "src/pkg/testing/_private/utils.py"), True),
    ],
)
def test_test_code(names, expected):
    assert {is_test_file(name) for name in names} == {expected}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("test_a.py", "a_test.py", "src/test_a.py", "tests/unit/a_test.py"), True),
        (("conftest.py", "tests.py", "tests/helpers.py", "test_a/b.py", "latest.py"), False),
    ],
)
def test_module_of_tests(names, expected):
    assert {is_test_module(name) for name in names} == {expected}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("tests/unit/conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"), True),
        (("pyproject.toml", "tox.ini", "packages/a/setup.cfg"), True),
        (
            ("src/sitecustomize.pyc", "a-1.0.dist-info/entry_points.txt", "a-1.0.DIST-INFO/entry_points.txt"),
            True,
        ),
        (("a.py", "setup.py", "my-tox.ini", "conftest.pyi", "pytest.ini/a.py", "ruff.toml"), False),
    ],
)
def test_configuration_of_tests(names, expected):
    assert {is_loaded(name) for name in names} == {expected}
