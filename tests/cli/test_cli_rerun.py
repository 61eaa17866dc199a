"""The command of the prompt's last line: one that runs what it says, or none."""

import pytest

from loop_close.cli.run import name_of, rerun_words

RUN = ("loop-close", "run", "--")


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").touch()
    (tmp_path / "pytest.ini").touch()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["curl", "--token", "abcdefgh"],
        ["deploy", "--api-key=abcdefgh"],
        ["login", "--password", "tea"],
        ["env", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", "pytest"],
        ["python", "-c", "print(1)\nprint(2)"],
        ["print", "\x1b[31m"],
    ],
)
def test_what_cannot_be_shown_is_not(words):
    assert rerun_words("", words, by_test=False) == ()


@pytest.mark.parametrize(
    "words",
    [
        ["tox"],
        ["make", "test"],
        ["python", "-m", "unittest"],
        ["make", "pytest"],
        ["uv", "run", "--with", "pytest", "nox"],
    ],
)
def test_command_that_takes_no_tests_gets_none(words):
    assert rerun_words("", words, by_test=True) == ()


def test_command_is_repeated_as_it_was():
    assert rerun_words("", ["mypy", "tests"], by_test=False) == (*RUN, "mypy", "tests")
    assert rerun_words("types", ["mypy"], by_test=False) == (*RUN[:2], "--source", "types", "--", "mypy")


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["pytest"], ["pytest"]),
        (["pytest", "tests"], ["pytest"]),
        (["uv", "run", "pytest", "-x", "tests"], ["uv", "run", "pytest"]),
        (["pytest", "-vx", "--maxfail", "2", "--lf", "--maxfail=3", "tests"], ["pytest", "-v"]),
        (["pytest", "-m", "not slow", "-kfast", "--sw", "-p", "plug"], ["pytest", "-p", "plug"]),
        (["uv", "run", "--with", "pytest", "pytest"], ["uv", "run", "--with", "pytest", "pytest"]),
        (["coverage", "run", "-m", "pytest", "tests"], ["coverage", "run", "-m", "pytest"]),
        (["pytest", "-q", "tests/test_a.py::test_x"], ["pytest", "-q"]),
        (["pytest", "--tb=short", "tests"], ["pytest", "--tb=short"]),
        (["pytest", "-c", "pytest.ini", "tests"], ["pytest", "-c", "pytest.ini"]),
        (["pytest", "-k", "tests", "gone"], ["pytest"]),
        (["/venv/bin/python3.11", "-m", "pytest", "tests"], ["/venv/bin/python3.11", "-m", "pytest"]),
        (["python", "-X", "dev", "-m", "pytest", "-x", "tests"], ["python", "-X", "dev", "-m", "pytest"]),
    ],
)
def test_tests_that_failed_take_the_place_of_those_that_were_chosen(words, kept):
    assert rerun_words("", words, by_test=True) == (*RUN, *kept)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["mypy", "src"], "mypy"),
        (["/usr/bin/tox"], "tox"),
        (["python", "-m", "pytest", "-q"], "pytest"),
        (["/x/python3.11", "-m", "mypy"], "mypy"),
        (["python", "shop.py"], "python"),
        (["python", "-m"], "python"),
        (["uv", "run", "python", "-m", "pytest"], "pytest"),
        (["uv", "run", "mypy"], "uv"),
        (["grep", "-m", "1"], "grep"),
    ],
)
def test_name_of_what_runs(words, name):
    assert name_of(words) == name
