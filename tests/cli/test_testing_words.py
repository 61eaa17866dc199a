import os
import sys

import pytest

from loop_close.cli import UsageError
from loop_close.cli.project import environment, remembered, words_of


def test_words_are_split_as_a_shell_does_and_nothing_is_expanded():
    assert words_of("pytest -k 'a b' $HOME *.py", "--test") == ["pytest", "-k", "a b", "$HOME", "*.py"]


@pytest.mark.parametrize(
    ("command", "said"), [("", "is empty"), ("  ", "is empty"), ("a 'b", "is not a valid command line: No")]
)
def test_what_makes_no_words(command, said):
    with pytest.raises(UsageError, match=f"^--test {said}"):
        words_of(command, "--test")


def test_command_is_run_by_this_python_and_no_module_of_the_project():
    assert remembered(["pytest"]) == [sys.executable, "-P", "-m", "loop_close", "run", "--", "pytest"]


@pytest.mark.parametrize(("activated", "first"), [(False, True), (True, False)])
def test_pytest_beside_this_python_is_found(monkeypatch, activated, first):
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    if activated:
        monkeypatch.setenv("VIRTUAL_ENV", "/somewhere")
    monkeypatch.setenv("PATH", "/bin")
    folders = environment()["PATH"].split(os.pathsep)
    assert folders == sorted(("/bin", os.path.dirname(sys.executable)), key=lambda f: (f == "/bin") == first)
