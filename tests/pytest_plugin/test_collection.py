"""What the prompt says when tests cannot be collected."""

import re

import pytest

FINE = "def test_fine(): pass\n"


@pytest.mark.parametrize(
    ("source", "kind", "cause"),
    [
        ("import not_there_at_all\n", "failed import", "ModuleNotFoundError at test_a.py:1"),
        ("def test_x(:\n    pass\n", "syntax error", "SyntaxError at test_a.py:1"),
        ("x = 1 / 0\n", "collection error", "ZeroDivisionError at test_a.py:1"),
        (
            "import pytest\npytest.skip('not here')\n",
            "collection error",
            "Collector.CollectError at test_a.py:2",
        ),
    ],
)
def test_module_that_cannot_be_imported_is_a_cause(run, source, kind, cause):
    done = run({"test_a.py": source, "test_fine.py": FINE})
    assert done.ret == 2
    assert done.title == f"# 1 file cannot be collected: {cause}"
    assert done.report["stall_reason"] == f"1 {kind} detected"
    assert done.says(
        "Shown by `test_a.py` (collect", "(`1 error during collection`): 1 test of other files did not run."
    )
    assert done.report["verdict"] == "red"


def test_collection_error_stands_beside_failing_tests(run):
    files = {"test_a.py": "import not_there_at_all\n", "test_b.py": "def test_b(): assert 1 == 2\n" + FINE}
    done = run(files, "--continue-on-collection-errors")
    assert done.ret == 1
    assert done.says(
        "# 1 test fails, 1 file cannot be collected, 1 passes: 2 root causes, first ", "assert 1 == 2"
    )
    assert done.says("No module named 'not_there_at_all'")
    assert "incomplete" not in done.prompt


@pytest.mark.parametrize(
    ("source", "cause", "message"),
    [
        ("import not_there_at_all\n", "ModuleNotFoundError at conftest.py:1", "not_there_at_all"),
        ("def f(:\n", "SyntaxError at conftest.py:1", "invalid syntax"),
    ],
)
def test_root_conftest_that_cannot_be_imported_ends_pytest_and_is_the_cause(run, source, cause, message):
    done = run({"conftest.py": source, "test_a.py": FINE})
    assert done.ret == 4
    assert cause in done.title
    assert done.says(message, "(`pytest ended before it collected any test`).")
    assert done.report["exit_code"] == 4
    assert "ImportError while loading conftest" in done.stderr


def test_conftest_of_a_folder_that_cannot_be_imported_is_a_cause(run):
    done = run({"sub/conftest.py": "import not_there_at_all\n", "sub/test_a.py": FINE, "test_b.py": FINE})
    assert done.ret == 2
    assert done.says("sub/conftest.py:1\n", "This run is incomplete")


def test_nothing_collected_is_no_green(run):
    done = run({"test_a.py": ""})
    assert done.ret == 5
    assert done.title == "# No tests collected (exit 5)"
    assert done.report["verdict"] == "error"
    assert done.report["root_causes"] == []


def test_all_skipped_is_no_green(run):
    done = run({"test_a.py": "import pytest\n@pytest.mark.skip(reason='later')\ndef test_a(): pass\n"})
    assert done.ret == 0
    assert done.title == "# No test ran (exit 0)"
    assert done.report["counts"]["skipped"] == 1
    assert done.report["verdict"] == "error"


def test_module_that_skips_itself_is_no_failure(run):
    source = "import pytest\npytest.skip('not on this day', allow_module_level=True)\n"
    done = run({"test_a.py": source, "test_b.py": FINE})
    assert done.title == "# The tests pass: 1 passed, 1 skipped"


def test_workers_that_collect_different_tests_are_no_place(run):
    pytest.importorskip("xdist")
    source = """
    import os
    import pytest

    @pytest.mark.parametrize("n", [1, 2] if os.environ.get("PYTEST_XDIST_WORKER") == "gw0" else [2, 1])
    def test_a(n): pass
    """
    done = run({"test_a.py": source}, "-n2", own_process=True, plugins=("xdist",))
    # whichever worker was done first is told first
    assert re.search("Different tests were collected between gw(0 and gw1|1 and gw0)", done.prompt)
    assert "`gw" not in done.prompt
    assert " gw" not in done.prompt.partition("Rerun ")[2]


def test_a_file_that_no_worker_can_collect_is_reported_once(run):
    pytest.importorskip("xdist")
    files = {"shop.py": "RATES = {'a': 0}\nTABLE = 1 / RATES['a']\n"}
    done = run(
        {**files, "test_a.py": "import shop\n", "test_b.py": "import shop\n"}, "-p", "xdist", "-n", "2"
    )
    assert done.title.startswith("# 2 files cannot be collected: ")
    (cause,) = done.causes
    assert cause["count"] == 2
    assert "cases" not in done.prompt
