"""What the words of a command of pytest choose."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.choice import _KNOWN, choice_of, name_of, start_of
from loop_close.progress.compare import CHOSEN


@pytest.mark.parametrize(
    ("words", "described", "kept"),
    [
        ("", "pytest", ""),
        ("-q -vv -rA --tb=short --tb long -n 4 -n0 --durations=3", "pytest", None),
        ("-x", "pytest", ""),
        ("-qx --maxfail=2 --maxfail 3 --exitfirst", "pytest", "-q"),
        ("-k name", "pytest -k name", ""),
        ("-kname", "pytest -k name", ""),
        ("-vk name", "pytest -k name", "-v"),
        ("-svxkname -q", "pytest -k name", "-sv -q"),
        ("-m 'not slow'", "pytest -m 'not slow'", ""),
        ("a.py", "pytest a.py", ""),
        ("a.py::t[x/b.txt]", "pytest 'a.py::t[x/b.txt]'", ""),
        # A flag takes no value, so that what stands behind it is a test.
        ("-ra a.py::t", "pytest a.py::t", None),
        ("--verbose a.py", "pytest a.py", "--verbose"),
        ("-n0 a.py", "pytest a.py", None),
        ("--no-header --showlocals a.py::t", "pytest a.py::t", "--no-header --showlocals"),
        # Nothing runs, or not all.
        *((word, f"pytest {word}", "") for word in ("--version", "--help", "-h", "--co", "--collectonly")),
        *(
            (word, f"pytest {word}", "")
            for word in ("--markers", "--lf", "--sw", "@args.txt", "--setup-plan")
        ),
        ("--deselect a.py::t", "pytest --deselect a.py::t", ""),
        # What may have an effect is told apart.
        ("tests", "pytest | tests", ""),
        ("tests/", "pytest | tests", ""),
        ("--ignore slow", "pytest | --ignore slow", "--ignore slow"),
        ("-o python_files=x.py", "pytest | -o python_files=x.py", "-o python_files=x.py"),
        ("--pyargs pkg.tests", "pytest | --pyargs pkg.tests", "--pyargs"),
        ("--ds=settings.py", "pytest | --ds=settings.py", "--ds=settings.py"),
        ("--ds settings.py", "pytest | --ds settings.py", "--ds settings.py"),
        ("--odd a.py::t", "pytest a.py::t | --odd", "--odd"),
        ("-p no:cacheprovider -k a tests", "pytest -k a | -p no:cacheprovider tests", "-p no:cacheprovider"),
        ("-z a.py", "pytest a.py | -z", "-z"),
        ("--reuse-db test_a.py", "pytest test_a.py | --reuse-db", "--reuse-db"),
        ("-- test_a.py", "pytest test_a.py", "--"),
        # Credentials are not remembered.
        ("--api-token=hunter2 -q", "pytest | --api-token", "--api-token=hunter2 -q"),
        ("--password hunter2 tests", "pytest | --password tests", "--password hunter2"),
    ],
)
def test_words(words, described, kept):
    found = choice_of(["pytest", *shlex.split(words)], 1)
    assert found.described == described
    assert kept is None or shlex.join(found.kept[1:]) == kept
    is_chosen = not described.startswith("pytest |") and described != "pytest"
    assert bool(CHOSEN.search(described)) == is_chosen


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("a.py::t b.py::u", ("a.py::t", "b.py::u")),
        ("-q tests a.py::t", ("a.py::t",)),
        ("-k x a.py::t", ()),
        ("--deselect a.py::t", ()),
        ("a.py", ()),
    ],
)
def test_tests_that_have_passed_are_named_and_nothing_else_chooses(words, named):
    assert choice_of(shlex.split(words)).named == named


def test_what_pytest_reads_first_counts():
    assert choice_of(["-q"], addopts="-k name --odd tests").described == "pytest -k name | --odd tests"
    assert choice_of([], addopts="-v").described == "pytest"
    assert choice_of([], addopts="-k 'name").described == "pytest | PYTEST_ADDOPTS"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("pytest -q", "pytest"),
        ("/opt/bin/pytest", "pytest"),
        (r"C:\py\pytest.exe", "pytest.exe"),
        ("python3.11 -m pytest -k x", "pytest"),
        ("uv run --with pytest pytest", "pytest"),
        ("coverage run -m pytest", "pytest"),
        ("python -m coverage run -m pytest a.py", "pytest"),
        ("python -m mypy", "mypy"),
        ("make test", "make"),
    ],
)
def test_program(words, name):
    given_words = words.split()
    assert name_of(given_words) == name
    assert start_of(given_words) < len(given_words)


WORDS = st.lists(
    st.sampled_from([*_KNOWN, "a.py", "b", "-qk", "-xvs", "--odd", "-zz", "--tb=no", "1", "--", "-"])
)


@given(WORDS)
def test_no_word_is_lost(words):
    """Each is kept, chooses, may have an effect, or ends the run early."""
    found = choice_of(words)
    left = {*found.kept, *found.chosen, *found.beside}
    ends = {"-x", "--exitfirst", "--maxfail", "-qk", "-xvs", "-"}
    behind = {words[at + 1] for at, word in enumerate(words[:-1]) if word == "--maxfail"}
    assert {*words} - ends - behind <= {*left, *(f"{word}/" for word in left)}
