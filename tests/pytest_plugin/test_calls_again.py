"""A failing test that was not tracked, to save time, runs once more, alone; nothing else is seen of that."""

import pytest
from calls_harness import count, needs_monitoring
from processes import is_running

pytestmark = needs_monitoring

# No test is tracked for what it may cost.
NO_BUDGET = """
from loop_close.trace import session
from loop_close.pytest_plugin import calls

session.SHARE = session.SHARE_AFTER_FAILURE = session.ALLOWANCE = 0
calls.LIMIT = {limit}
"""
SHOP = {
    "shop/__init__.py": "",
    "shop/core.py": """
        turn = 1

        def total(items):
            if items:
                return sum(items) + 1
            return 0

        def mean(items):
            return total(items) / len(items)
        """,
    "test_shop.py": """
        import os
        import sys
        import time

        import pytest

        from shop import core

        @pytest.fixture(scope="session", autouse=True)
        def shared():
            yield
            print("torn down")

        def test_total(capfd, tmp_path):
            with open("ran.txt", "a") as file:
                file.write("total ")
            os.write(1, b"turn %d" % core.turn)
            core.turn += 1
            assert core.total([1]) == 1

        def test_mean():
            assert core.mean([1, 2]) == 1

        def test_nothing():
            assert core.total([]) == 0
        """,
}


def project(limit=5, **files):
    return {"plug.py": NO_BUDGET.format(limit=limit), **SHOP, **files}


def test_its_lines_are_known_and_nothing_else_is_changed(tmp_path):
    counted = count(
        tmp_path, project(), "-pplug", "-pcacheprovider", "--junitxml=junit.xml", "--log-file=log"
    )
    assert counted.failed == {
        "test_shop.py::test_total": ["total:1", "total:2"],
        "test_shop.py::test_mean": ["total:1", "total:2", "mean:1"],
    }
    assert (counted.passed, counted.why) == (0, "")  # the one that passed was not tracked either
    assert "2 failed, 1 passed" in counted.output
    assert "turn 1" in counted.output
    assert "turn 2" not in counted.output
    assert (tmp_path / "ran.txt").read_text() == "total total "
    assert (tmp_path / "junit.xml").read_text().count("<testcase") == 3


INTERRUPTED = "\n        def test_zzz():\n            raise KeyboardInterrupt\n"


@pytest.mark.parametrize(
    ("option", "more"), [("-x", ""), ("--maxfail=9", ""), ("-n1", ""), ("-v", INTERRUPTED)]
)
def test_not_where_a_failure_ends_the_run_or_in_a_worker_or_after_ctrl_c(tmp_path, option, more):
    files = project(**{"test_shop.py": SHOP["test_shop.py"] + more})
    assert count(tmp_path, files, "-pplug", option, plugins=("xdist",)).failed == {}
    assert (tmp_path / "ran.txt").read_text() == "total "


HANGS = """
import os
import subprocess
import sys

from shop import core

def test_hangs():
    if "hung" in vars(core):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open("pid.txt", "w") as file:
            file.write(str(child.pid))
        child.wait()
    core.hung = True
    assert core.total([1]) == 1

def test_exits():
    if "ended" in vars(core):
        os._exit(3)
    core.ended = True
    assert 0

def test_passes_alone():
    is_again = "again" in vars(core)
    core.again = True
    assert is_again
"""


def test_one_that_hangs_is_killed_with_what_it_started(tmp_path):
    files = project(limit=2, **{"test_shop.py": HANGS})
    counted = count(tmp_path, files, "-pplug")
    assert "3 failed" in counted.output
    assert counted.failed == {}
    assert not is_running(int((tmp_path / "pid.txt").read_text()))
