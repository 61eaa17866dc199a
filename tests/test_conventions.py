import pytest

from loop_close.conventions import is_test_file, is_test_module
from loop_close.tree import is_loaded


@pytest.mark.parametrize(
    "name",
    [
        "a.py",
        "src/pkg/testing.py",
        "src/tester/a.py",
        "contest.py",
        "src/latest.py",
        "src/attest/a.py",
        "werk/test.py",
        "tests.txt",
    ],
)
def test_code_under_test(name):
    assert not is_test_file(name)


@pytest.mark.parametrize(
    "name",
    [
        *("test_a.py", "a_test.py", "conftest.py", "src/pkg/conftest.py", "app/tests.py"),
        *("tests/helpers.py", "pkg/tests/unit/helpers.py", "test/x.py", "testing/x.py", "src/test_a.py"),
        # Shipped as it may be, it holds assertion helpers: their `raise` only failing tests reach, and many
        # causes have it in common, so that as code under test it would be the first suspect of all of them.
        *("src/pkg/testing/__init__.py", "src/pkg/testing/_private/utils.py"),
    ],
)
def test_test_code(name):
    assert is_test_file(name)


@pytest.mark.parametrize("name", ["test_a.py", "a_test.py", "src/test_a.py", "tests/unit/a_test.py"])
def test_module_of_tests(name):
    assert is_test_module(name)


@pytest.mark.parametrize("name", ["conftest.py", "tests.py", "tests/helpers.py", "test_a/b.py", "latest.py"])
def test_no_module_of_tests(name):
    assert not is_test_module(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "conftest.py",
            "tests/unit/conftest.py",
            "pytest.ini",
            ".pytest.ini",
            "pytest.toml",
            ".pytest.toml",
            "pyproject.toml",
        ),
        *("tox.ini", "setup.cfg", "packages/a/setup.cfg"),
    ],
)
def test_configuration_of_tests(name):
    assert is_loaded(name)


@pytest.mark.parametrize(
    "name", ["a.py", "setup.py", "my-tox.ini", "conftest.pyi", "pytest.ini/a.py", "ruff.toml"]
)
def test_no_configuration_of_tests(name):
    assert not is_loaded(name)
