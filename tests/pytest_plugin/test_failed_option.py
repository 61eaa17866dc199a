"""Node ids with any characters, and ``--loop-close-failed``, which runs the failing tests again."""

import json
import os

import pytest


@pytest.mark.slow
def test_file_name_with_any_characters_is_shown_as_code_and_quoted(run):
    done = run({"te`st #1 (a)/test_a b$(touch pwned).py": "def test_1(): assert 1 == 2\n"})
    assert done.says("``te`st #1 (a)/test_a b$(touch pwned).py:1``")
    assert failing(again(run)) == failing(done)


TOKEN = "ghp" + "_" + "a1B2" * 9
TWO = "def test_a(): assert 1 == 2\ndef test_b(): pass\n"


ODD = """
import pytest
TOKEN = "ghp" + "_" + "a1B2" * 9
IDS = ["new\\nline", "sep\\u2028", "bidi\\u202e", "zero\\u200b", "own\\ue000", "tab\\t", "'", '"', " "]
IDS += [TOKEN, "password='hunter2'"]
@pytest.mark.parametrize("x", range(len(IDS)), ids=IDS)
def test_x(x): assert 0
def test_fine(): pass
"""


def test_list_of_failing_tests_names_each_whatever_its_name(run):
    as_is = "disable_test_id_escaping_and_forfeit_all_rights_to_community_support=true"
    done = run({"test_a.py": ODD}, "-o", as_is)
    listed = (done.folder / ".loop-close" / "failed.txt").read_text(encoding="utf-8")
    assert len(listed.split("\n")) == done.report["counts"]["failed"] + 1 == 12
    assert TOKEN not in done.prompt
    assert os.name == "nt" or (done.folder / ".loop-close" / "failed.txt").stat().st_mode & 0o077 == 0
    more = run({}, "-o", as_is, asked=FAILED)
    assert (more.report["counts"]["failed"], more.report["counts"]["passed"]) == (11, 0)


CASES = """
import pytest
@pytest.mark.parametrize("n", range(60))
def test_n(n): assert n not in (3, 17, 42)
def test_sub(subtests):
    with subtests.test("a"): assert 0
def test_fine(): pass
"""
#: A plugin as pytest-split and pytest-picked are: it leaves tests out, and its options take words.
SELECTS = """
def pytest_addoption(parser):
    parser.addoption("--group", type=int, default=0)
    parser.addoption("--picked", nargs="*")
def pytest_collection_modifyitems(config, items):
    group = config.getoption("--group")
    if group:
        items[:] = items[group % 2 :: 2]
"""


FAILED = ("--loop-close-failed", "--loop-close-json=report.json")


def again(run, *words, **kinds):
    """Run the failing tests in a process of its own, and read what it wrote."""
    return run({}, *words, asked=FAILED, own_process=True, **kinds)


def failing(done):
    return sorted({test for cause in done.causes for test in cause["tests"]})


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="subtests are new in pytest 9.0")
def test_cases_and_tests_with_subtests_are_run_and_no_others(run):
    done = run({"test_a.py": CASES})
    more = again(run)
    assert failing(more) == failing(done)
    assert more.report["counts"]["passed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--group", "2"), ("--picked",)])
def test_options_of_plugins_neither_take_the_tests_nor_choose_others(run, options):
    done = run({"conftest.py": SELECTS, "test_a.py": CASES.partition("def test_sub")[0]}, *options)
    for _ in range(2):
        more = again(run, *options)
        assert failing(more) == failing(done)
        assert more.report["counts"]["passed"] == 0


def test_option_without_failing_tests_runs_all_and_says_so(run):
    done = run({"test_a.py": "def test_a(): pass\n"}, asked=("--loop-close-failed",))
    assert done.summary == [
        "loop-close: 1 passed",
        "loop-close: no failing test is recorded: all run",
    ]


def test_list_of_failing_tests_that_cannot_be_read_is_a_usage_error(run):
    done = run({"test_a.py": TWO, ".loop-close/failed.txt": '"not json\n'}, asked=("--loop-close-failed",))
    assert done.ret == 4
    assert "loop-close: cannot read .loop-close/failed.txt: " in done.stderr


OUTSIDE = {
    "config/pytest.ini": "[pytest]\n",
    "tests/sub/test_few.py": TWO,
    "tests/test_more.py": "def test_c(): assert 0\ndef test_fine(): pass\n",
    "tests/test_fine.py": "def test_a(): pass\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("number", ["0", "2"])
@pytest.mark.parametrize(
    "words",
    [
        ("-c", "config/pytest.ini"),
        ("-cconfig/pytest.ini", "tests"),
        ("--rootdir=config", "tests/sub"),
    ],
)
def test_failing_tests_outside_of_the_root_are_run_again(run, pytester, words, number):
    """Their node ids depend on what the command line names."""
    pytest.importorskip("xdist")
    kept = pytester.path / "config" / ".loop-close" / "report.json"
    workers = {"own_process": True, "plugins": ("xdist",), "asked": ("-n", number)}
    run(OUTSIDE, "--loop-close", *words, **workers)
    first = json.loads(kept.read_text())
    tests = [cause["tests"] for cause in first["root_causes"]]
    assert tests
    kept.unlink()
    done = run({}, "--loop-close-failed", *words, **workers)
    more = json.loads(kept.read_text())
    assert [cause["tests"] for cause in more["root_causes"]] == tests, done.stdout
    assert (more["counts"]["failed"], more["counts"]["passed"]) == (first["counts"]["failed"], 0)


CLASS = """
import pytest
class TestA:
    @pytest.mark.parametrize("a,b", [{cases}])
    def test_x(self, a, b): assert b - a == 1
    def test_y(self): assert {fine}
def test_z(): pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", ["0", "2"])
def test_class_that_could_not_be_collected_is_run_once_it_can(run, number):
    workers = {"own_process": True, "plugins": ("xdist",)}
    done = run({"test_c.py": CLASS.format(cases=1, fine=0)}, "-n", number, **workers)
    assert (done.folder / ".loop-close" / "failed.txt").read_text() == "test_c.py::TestA\n"
    words = (*FAILED, "-n", number)
    done = run({}, asked=words, **workers)
    done = run({"test_c.py": CLASS.format(cases="(1, 2)", fine=0)}, asked=words, **workers)
    assert failing(done) == ["test_c.py::TestA::test_y"]
    assert done.report["counts"]["passed"] == 1
    done = run({"test_c.py": CLASS.format(cases="(1, 2)", fine=1)}, asked=words, **workers)
    assert (done.ret, done.report["counts"]["passed"]) == (0, 1)


@pytest.mark.slow
def test_notes_on_the_selection_come_from_workers_too(run):
    workers = {"own_process": True, "plugins": ("xdist",), "asked": ("--loop-close-failed", "-n", "2")}
    run({"test_a.py": TWO + "def test_c(): assert 1 == 3\n"})
    done = run({"test_a.py": TWO}, **workers)
    assert done.summary.count("loop-close: failed before and is not collected now: test_a.py::test_c") == 1
    (done.folder / "test_a.py").unlink()
    done = run({"test_b.py": "def test_b(): pass\n"}, **workers)
    said = "loop-close: none of the tests that failed was found: all run"
    assert done.summary.count(said) == 1
