import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.conventions import (
    is_configuration,
    is_like,
    is_of_dependencies,
    is_source,
    is_test_file,
    is_test_module,
)


@pytest.mark.parametrize(
    "name",
    [
        "a.py",
        "src/pkg/testing.py",
        "src/tester/a.py",
        "contest.py",
        "src/latest.py",
        "src/attest/a.py",
        "tests.txt",
    ],
)
def test_code_under_test(name):
    assert not is_test_file(name)


@pytest.mark.parametrize(
    "name",
    [
        *("test_a.py", "a_test.py", "conftest.py", "src/pkg/conftest.py", "app/tests.py", "app/test.py"),
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
    assert is_configuration(name)


@pytest.mark.parametrize(
    "name", ["a.py", "setup.py", "my-tox.ini", "conftest.pyi", "pytest.ini/a.py", "ruff.toml"]
)
def test_no_configuration_of_tests(name):
    assert not is_configuration(name)


@given(test=st.text("ab[]*:", max_size=12), pattern=st.text("ab[]*:", max_size=8))
def test_only_the_asterisk_has_a_meaning(test, pattern):
    expected = ".*".join(map(re.escape, pattern.split("*")))
    assert is_like(test, pattern) == bool(re.fullmatch(expected, test, re.DOTALL))


def test_a_pattern_of_many_asterisks_takes_no_time():
    assert not is_like("a" * 10_000, "*a" * 2_000 + "b")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("src/a.py", True),
        ("web/a.SQL", True),
        ("data/a.json", False),
        ("notes.txt", False),
        ("py", False),
    ],
)
def test_source_of_a_program(name, expected):
    assert is_source(name) is expected
    assert not is_of_dependencies(name)


@pytest.mark.parametrize("name", ["requirements.txt", "ci/requirements-dev.txt", "uv.lock", "Pipfile"])
def test_which_packages_a_program_needs(name):
    assert is_of_dependencies(name)
    assert not is_source(name)
