"""A few failing tests run once more, each alone in a copy of the process; nothing but what was seen comes out of it."""

import json
import os
import subprocess
import sys

import pytest
from plugin_harness import OTHERS, write
from processes import is_running

pytestmark = pytest.mark.slow  # each test runs pytest, which copies itself several times

#: No test is tracked for what it may cost; the limits of the second look; what it saw, as a file.
PLUG = """
import msgspec
import pytest

from loop_close import Detector
from loop_close.pytest_plugin import second_look
from loop_close.trace import session

session.SHARE = session.ALLOWANCE = {allowance}
second_look.LIMIT = {limit}
second_look.QUICK = {quick}
{more}

def saw(observation):
    calls = observation.calls
    names = [each.function for each in calls.functions] if calls else []
    ran = dict(calls.failed) if calls else {{}}
    seen = {{
        "lines": {{
            test.partition("::")[2]: [f"{{names[n]}}:{{line - calls.functions[n].line}}" for n, line in own]
            for test, own in ran.items()
        }},
        "passed": calls.passed if calls else 0,
        "again": {{each.nodeid.partition("::")[2]: each.again for each in observation.failures}},
    }}
    with open("seen.json", "wb") as file:
        file.write(msgspec.json.encode(seen))
    return ()

@pytest.hookimpl
def pytest_loop_close_detectors():
    return [Detector(id="saw", label="", priority=999, description="", hint="", detect=saw)]
"""
BANK = {
    "bank.py": """
        TABLE = {"EUR": 1.0, "USD": 1.1, "GBP": 1.17}

        def rate(code):
            return TABLE[code]

        def convert(amount, source, target):
            return round(amount / rate(source) * rate(target))

        def transfer(amount, source, target):
            got = convert(amount, source, target)
            return {"sent": amount, "got": got}
        """,
    "test_bank.py": """
        from bank import convert, rate, transfer

        def test_usd():
            assert convert(1000, "EUR", "USD") == 1100

        def test_eur():
            assert rate("EUR") == 1.0

        def test_gbp():
            assert transfer(1000, "EUR", "GBP") == {"sent": 1000, "got": 870}

        def test_same():
            assert transfer(10, "EUR", "EUR")["got"] == 10
        """,
}


class Run:
    """One run of pytest on some files.

    :ivar seen: what the plug-in saw; ``prompt``, ``output``: the texts.
    """

    def __init__(self, folder, files, *arguments, plugins=(), below="", **plug):
        limits = {"allowance": 0, "limit": 5, "quick": 1, "more": "", **plug}
        write(folder, {"pytest.ini": "[pytest]\n", "plug.py": PLUG.format(**limits), **files})
        blocked = [f"-pno:{name}" for name in OTHERS if name.partition(".")[0] not in plugins]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV", "LOOP"))}
        command = [sys.executable, "-m", "pytest", "--loop-close", "-pplug", *blocked, *arguments]
        done = subprocess.run(
            command,
            cwd=folder / below,
            env={**clean, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        self.output = done.stdout + done.stderr
        self.prompt = (folder / "nextprompt.md").read_text(encoding="utf-8")
        self.seen = json.loads((folder / below / "seen.json").read_text(encoding="utf-8"))
        self.report = folder / ".loop-close" / "report.json"

    def again(self, test):
        return self.seen["again"][test]

    @property
    def calls(self):
        """The lines of the calls in the prompt."""
        return (
            self.prompt.partition("Calls when it ran again:\n```text\n")[2].partition("\n```")[0].split("\n")
        )


# --- lines of failing tests that were not recorded

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

        import pytest

        from shop import core

        @pytest.fixture(scope="session", autouse=True)
        def shared():
            yield
            print("torn down")

        def test_total(capfd, tmp_path):
            with open("ran.txt", "a") as file:
                file.write(f"total {os.environ.get('LOOP_CLOSE_SECOND_LOOK')} ")
            os.write(1, b"turn %d" % core.turn)
            core.turn += 1
            assert core.total([1]) == 1

        def test_mean():
            assert core.mean([1, 2]) == 1

        def test_nothing():
            assert core.total([]) == 0
        """,
}


def test_lines_are_known_and_nothing_else_is_changed(tmp_path):
    run = Run(tmp_path, SHOP, "--junitxml=junit.xml", "--log-file=log", "-pcacheprovider")
    assert run.seen["lines"] == {
        "test_total": ["total:1", "total:2"],
        "test_mean": ["total:1", "total:2", "mean:1"],
    }
    assert "2 failed, 1 passed" in run.output
    assert "turn 1" in run.output
    assert "turn 2" not in run.output
    ran = (tmp_path / "ran.txt").read_text().split()
    assert ran[:2] == ["total", "None"]
    assert {*ran[3::2]} == {"1"}  # the program is told
    assert (tmp_path / "junit.xml").read_text().count("<testcase") == 3


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs sys.monitoring")
@pytest.mark.parametrize("allowance", [0, 9])
def test_passing_tests_that_were_not_recorded_are_counted_then_and_each_once(tmp_path, allowance):
    run = Run(tmp_path, BANK, allowance=allowance)
    assert run.seen["passed"] == 3
    assert "run by 1 of 1 failing and 1 of 3 passing tests" in run.prompt
    assert "Lines were recorded" not in run.prompt


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs sys.monitoring")
def test_one_that_failed_in_its_teardown_is_no_passing_test_though_it_passes_then(tmp_path):
    torn = """
        import os

        import pytest

        @pytest.fixture
        def once():
            yield
            assert "LOOP_CLOSE_SECOND_LOOK" in os.environ

        def test_torn(once):
            from bank import rate
            assert rate("USD") == 1.1
        """
    run = Run(tmp_path, {**BANK, "test_torn.py": torn})
    assert run.seen["passed"] == 3
    assert "test_torn`; they run it too" not in run.prompt


def test_also_after_a_run_that_a_failure_ended(tmp_path):
    assert (
        "mean:1"
        in Run(tmp_path, SHOP, "-x", "--deselect=test_shop.py::test_total").seen["lines"]["test_mean"]
    )


def test_not_after_ctrl_c(tmp_path):
    more = "\n        def test_zzz():\n            raise KeyboardInterrupt\n"
    assert Run(tmp_path, {**SHOP, "test_shop.py": SHOP["test_shop.py"] + more}).seen["lines"] == {}
    assert (tmp_path / "ran.txt").read_text().split() == ["total", "None"]


@pytest.mark.parametrize("allowance", [0, 9])
def test_with_workers_it_is_the_same(tmp_path, allowance):
    alone = Run(tmp_path, BANK, allowance=9)
    shared = Run(tmp_path, BANK, "-n2", plugins=("xdist",), allowance=allowance)
    assert len(shared.calls) == 3
    assert alone.calls == shared.calls
    assert alone.seen == shared.seen


@pytest.mark.parametrize(
    ("setting", "quick", "is_seen"),
    [("auto", 1, True), ("auto", -1, False), ("on", -1, True), ("off", 1, False)],
)
def test_the_setting(tmp_path, setting, quick, is_seen):
    run = Run(tmp_path, BANK, f"--loop-close-second-look={setting}", quick=quick)
    assert (run.again("test_gbp") is not None) is is_seen


def test_a_long_setup_of_any_test_counts_as_these_may_need_it_too(tmp_path):
    more = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    if report.when == "setup" and report.nodeid.endswith("test_usd"):
        report.duration = 3.0
    return report
"""
    assert Run(tmp_path, BANK, more=more).again("test_gbp") is None


def test_a_fault_of_ours_costs_the_look_alone(tmp_path):
    run = Run(tmp_path, BANK, more="second_look._telling = lambda *_: 1 / 0")
    assert "loop-close: no second look: ZeroDivisionError: division by zero" in run.output
    assert "transfer" in run.prompt


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
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs sys.monitoring")
def test_a_passing_test_that_ends_its_copy_costs_what_was_counted_in_that_copy(tmp_path):
    ends = """
        import os

        def test_ends():
            if "LOOP_CLOSE_SECOND_LOOK" in os.environ:
                os._exit(0)
        """
    run = Run(tmp_path, {**BANK, "test_ends.py": ends}, more="second_look._BATCH = 1")
    assert "4 passed" in run.output
    assert run.seen["passed"] == 3


FIXTURES = """
import os
import threading

import pytest

def held(name):
    with open(name, "x"):
        yield
    os.unlink(name)

module = pytest.fixture(scope="module")(lambda: (yield from held("module.txt")))
function = pytest.fixture(lambda: (yield from held("function.txt")))

def hang():
    if "LOOP_CLOSE_SECOND_LOOK" in os.environ:
        try:
            threading.Event().wait()
        except Exception:
            pass

def test_slow(module, function):
    hang()

def test_fails(module, function):
    hang()
    assert 0
"""


@pytest.mark.parametrize("more", ["", "import sys; vars(sys).pop('monitoring', None)"])
def test_what_a_test_set_up_is_torn_down_when_its_time_is_over(tmp_path, more):
    run = Run(tmp_path, {"test_a.py": FIXTURES}, limit=1, more=more)
    assert run.again("test_fails") is None
    assert run.seen["passed"] == 0
    assert not [*tmp_path.glob("*.txt")]


def test_tests_of_the_files_of_failing_ones_run_first(tmp_path):
    noted = """
        import os

        def {name}():
            if "LOOP_CLOSE_SECOND_LOOK" in os.environ:
                with open("order.txt", "a") as file:
                    file.write("{name} ")
        """
    fails = "def test_fails():\n    assert 0\n"
    near = {"test_b.py": "from noted import test_near\n" + fails, "noted.py": noted.format(name="test_near")}
    Run(tmp_path, {"test_a.py": noted.format(name="test_far"), **near})
    assert (tmp_path / "order.txt").read_text(encoding="utf-8").split()[:2] == ["test_near", "test_far"]


# Of "Post-process test reports / failures" in pytest's documentation.
WRITES = """
import os

import pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    rep = yield
    if rep.when == "call" and rep.failed:
        with open("failures.txt", "a") as f:
            f.write(rep.nodeid + "\\n")
    return rep

@pytest.fixture
def answer():
    with open("variables.txt", "w") as file:
        file.write(" ".join(os.environ))
    return 41
"""


def test_what_others_write_of_a_test_is_written_once(tmp_path):
    more = "import os; os.environ['COV_CORE_SOURCE'] = os.environ['COVERAGE_PROCESS_START'] = ''"
    test = "def test_a(answer):\n    assert answer == 42\n"
    run = Run(tmp_path, {"conftest.py": WRITES, "test_a.py": test}, more=more)
    assert run.seen["lines"] == {"test_a": []}
    assert (tmp_path / "failures.txt").read_text(encoding="utf-8") == "test_a.py::test_a\n"
    variables = (tmp_path / "variables.txt").read_text(encoding="utf-8").split()
    assert "LOOP_CLOSE_SECOND_LOOK" in variables
    assert not [each for each in variables if each.startswith("COV")]


def test_one_that_hangs_is_killed_with_what_it_started(tmp_path):
    run = Run(tmp_path, {**SHOP, "test_shop.py": HANGS}, limit=2)
    assert "2 failed" in run.output
    assert run.seen["lines"] == {}
    assert "loop-close: running tests once more took 2." in run.output
    assert not is_running(int((tmp_path / "pid.txt").read_text()))


# --- another outcome

TURNS = """
from shop import core

def test_passes_alone():
    is_again = "again" in vars(core)
    core.again = True
    assert core.total([]) == 0 and is_again

def test_fails_otherwise():
    if "other" in vars(core):
        raise LookupError("no other")
    core.other = True
    assert core.total([1]) == 3
"""


def test_a_test_that_passes_or_fails_otherwise_by_itself(tmp_path):
    run = Run(tmp_path, {**SHOP, "test_shop.py": TURNS}, allowance=9)
    assert run.again("test_passes_alone")["outcome"] == "passed"
    assert "When it ran again after the run, it failed with `LookupError: no other`." in run.prompt
    # The state that the run left may be the reason: nothing says that it is flaky.
    assert json.loads(run.report.read_text(encoding="utf-8"))["signals"] == []


# --- calls with their values


def test_the_chain_of_values_that_reaches_the_failing_statement(tmp_path):
    run = Run(tmp_path, BANK, allowance=9)
    assert run.calls == [
        "transfer(amount=1000, source='EUR', target='GBP') = {'sent': 1000, 'got': 1170}",
        "  convert(amount=1000, source='EUR', target='GBP') = 1170",
        "    rate(code='GBP') = 1.17",
    ]


def test_the_call_of_the_function_that_the_prompt_names_for_its_edit(tmp_path):
    chain = "".join(f"def f{n}():\n    return f{n + 1}()\n" for n in range(8)) + "def f8():\n    return 8\n"
    test = "from chain import f0\ndef test_f():\n    assert f0() == 8\n"
    Run(tmp_path, {"chain.py": chain, "test_chain.py": test}, allowance=9)
    run = Run(tmp_path, {"chain.py": chain.replace("return 8\n", "return 9\n")}, allowance=9)
    assert run.prompt.startswith("# 1 test fails: f8() in chain.py")
    assert run.calls[-1].strip() == "f8() = 9"


def test_without_sys_monitoring_functions_are_named_by_the_second_look_alone(tmp_path):
    run = Run(tmp_path, BANK, more="import sys; vars(sys).pop('monitoring', None)")
    assert run.prompt.startswith("# 1 test fails, 3 pass: transfer() in bank.py:")
    assert run.seen["passed"] == 3
    assert "Lines were recorded" not in run.prompt
    assert "    rate(code='GBP') = 1.17" in run.calls


def test_no_code_of_the_program_runs_for_a_text_and_no_credential_is_in_one(tmp_path):
    files = {
        "shop/__init__.py": "",
        "shop/core.py": """
            class Cart:
                def __init__(self):
                    self.items = []

                def __repr__(self):
                    open("repr.txt", "a").close()
                    return "cart"

            def add(cart, password):
                cart.items.append(len(password))
                return cart.items[0]
            """,
        "test_shop.py": """
            from shop.core import Cart, add

            def test_add():
                cart = Cart()
                got = add(cart, "hunter2hunter2")
                assert got == 0
            """,
    }
    run = Run(tmp_path, files, allowance=9)
    [call] = [each for each in run.calls if each.startswith("add(")]
    assert call.startswith("add(cart=Cart(items=[]), password=")
    assert call.endswith(" = 14, then cart=Cart(items=[14])")
    assert "hunter2" not in call
    assert not (tmp_path / "repr.txt").exists()


def test_a_call_that_a_passing_test_made_too_is_marked(tmp_path):
    files = {
        **SHOP,
        "test_shop.py": """
            from shop import core

            def test_mean():
                assert core.total([]) == 0
                assert core.mean([1, 2]) == 1

            def test_total():
                assert core.total([1, 2]) == 4
            """,
    }
    assert Run(tmp_path, files, allowance=9).calls == [
        "mean(items=[1, 2]) = 2.0",
        "  total(items=[1, 2]) = 4  # also in a passing test",
    ]


# --- what differs in the copy


def test_warnings_as_errors_find_nothing_of_ours(tmp_path):
    run = Run(tmp_path, BANK, "-Werror", allowance=9)
    assert "ran again" not in run.prompt.replace("Calls when it ran again:", "")
    assert len(run.calls) == 3


ROWS = {
    "rows.py": """
        import os

        def add():
            if os.path.exists("row"):
                raise LookupError("twice")
            open("row", "a").close()

        def count():
            return 2
        """,
    "test_rows.py": """
        from rows import add, count

        def test_count():
            add()
            assert count() == 1

        def test_passes_once():
            import rows
            rows.times = getattr(rows, "times", 0) + 1
            assert rows.times == 1
        """,
}


@pytest.mark.parametrize("more", ["", "import sys; vars(sys).pop('monitoring', None)"])
def test_what_a_test_runs_that_fails_otherwise_counts_for_nothing(tmp_path, more):
    run = Run(tmp_path, ROWS, more=more)
    assert run.seen["lines"] == {}
    assert run.again("test_count") == {"outcome": "failed", "exception": "LookupError", "message": "twice"}
    assert "When it ran again after the run, it failed with `LookupError: twice`." in run.prompt


def test_each_failure_of_a_test_is_compared_with_its_own(tmp_path):
    files = {
        "test_two.py": """
            import pytest

            @pytest.fixture
            def closed():
                yield
                raise KeyError(3)

            def test_both(closed):
                assert 1 == 2
            """
    }
    assert "When it ran again" not in Run(tmp_path, files).prompt


def test_a_test_that_sets_the_clock_does_not_keep_others_from_running(tmp_path):
    more = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    if report.nodeid.endswith("test_usd"):
        report.duration = 1.3e9
    return report
"""
    assert Run(tmp_path, BANK, more=more).again("test_gbp") is not None


def test_workers_from_a_folder_below_the_root(tmp_path):
    files = {f"tests/{name}" if name.startswith("test_") else name: text for name, text in BANK.items()}
    run = Run(tmp_path, {**files, "tests/a.txt": ""}, "-n1", plugins=("xdist",), below="tests", allowance=9)
    assert len(run.calls) == 3


def test_lines_that_run_in_another_thread(tmp_path):
    files = {
        "work.py": """
            import threading

            def calc(number, found):
                if number:
                    found.append(number)
                else:
                    found.append(1)

            def start(number):
                found = []
                thread = threading.Thread(target=calc, args=(number, found))
                thread.start()
                thread.join()
                return found[0]
            """,
        "test_work.py": """
            from work import start

            def test_start():
                assert start(0) == 0
            """,
    }
    lines = Run(tmp_path, files, more="import sys; vars(sys).pop('monitoring', None)").seen["lines"]
    assert "calc:4" in lines["test_start"]


def test_credentials_that_a_function_or_another_argument_names(tmp_path):
    files = {
        "conf.py": """
            def set_password(value):
                return len(value)

            def env(key, default):
                return default

            def check():
                set_password("hunter2-qqq")
                return len(env("DB_PASSWORD", "hunter2-qqq"))
            """,
        "test_conf.py": """
            from conf import check

            def test_check():
                assert check() == 0
            """,
    }
    calls = Run(tmp_path, files, allowance=9).calls
    assert len(calls) == 3
    assert "hunter2" not in "".join(calls)
