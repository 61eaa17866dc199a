"""``loop-close status``: the state of the loop as text, JSON and exit code."""

import json
import os
import subprocess
import sys

import pytest
from cli_harness import GUARD, environment, loop_close
from jsonschema import validate
from remembered import begin, called, document, execute, history_path, opened, remember

from loop_close.cli.project_state import _looks
from loop_close.files import SIGNATURE
from loop_close.model import EditsRun
from loop_close.store.reader import read

NUMBER = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}
MAYBE_TEXT = {"type": ["string", "null"]}


def closed(**properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SIGNAL = {"kind": TEXT, "runs": {"items": NUMBER}, "tests": {"items": TEXT}, "explanation": TEXT}
BREAKER = closed(state={"enum": ["closed", "half_open", "open"]}, reason=TEXT)
CHANGE = closed(
    file=TEXT,
    test=TEXT,
    kind=TEXT,
    what=TEXT,
    before=TEXT,
    after=TEXT,
    line=NUMBER,
    state={"enum": ["open", "asked", "accepted", "hint"]},
    accepted={"type": "boolean"},
)
SCHEMA = closed(
    schema={"const": "loop-close.status/1"},
    verdict={"enum": ["green", "failing", "stuck", "unknown"]},
    edited={"items": TEXT},
    left_by_drive={"items": CHANGE},
    sources={
        "minItems": 1,
        "items": closed(
            source=TEXT,
            run={"type": ["integer", "null"]},
            verdict=MAYBE_TEXT,
            standing={"enum": ["green", "failing", "stuck"]},
            last_run=NUMBER,
            state={"enum": ["running", "done", "killed"]},
            edited={"items": TEXT},
            stall_reason=TEXT,
            failing={"type": ["integer", "null"]},
            known=NUMBER,
            fixed=NUMBER,
            new=NUMBER,
            broken=NUMBER,
            changed=NUMBER,
            unresolved=NUMBER,
            not_run=NUMBER,
            not_fixed=NUMBER,
            best={"anyOf": [{"type": "null"}, closed(failing=NUMBER, run=NUMBER)]},
            breaker=BREAKER,
            signals={"items": closed(**SIGNAL)},
            test_changes={"items": CHANGE},
            edited_functions={"type": ["integer", "null"]},
            edits_not_run={"items": closed(file=TEXT, function=TEXT)},
            prompt=MAYBE_TEXT,
            not_run_here={"items": TEXT},
        ),
    },
)
PROMPT = f"# 1 test fails: KeyError at shop.py:3\n\n{SIGNATURE}\n"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def status(*words):
    code, found = document("status", *words)
    validate(found, SCHEMA)
    return code, found


@pytest.mark.parametrize(
    ("runs", "code", "verdict", "own"),
    [
        ([""], 0, "green", "green"),
        (["a"], 1, "failing", "first-failure"),
        (["a b", "a b", "a b=2"], 1, "failing", "no-progress"),
        (["a", "a"], 1, "failing", "no-progress"),
        (["a"] * 4, 3, "stuck", "stuck"),
        (["a"] * 4 + [""], 0, "green", "green"),
    ],
)
def test_exit_code_is_the_verdict(tmp_path, runs, code, verdict, own):
    remember(tmp_path, *runs)
    found = status()
    assert (found[0], found[1]["verdict"]) == (code, verdict)
    (source,) = found[1]["sources"]
    assert (source["source"], source["run"], source["verdict"]) == ("pytest", len(runs), own)
    assert called("status")[0] == code


def test_edit_that_fixes_is_progress(tmp_path):
    remember(tmp_path, "a b", "a", edit="effective")
    code, found = status()
    assert (code, found["sources"][0]["verdict"], found["sources"][0]["fixed"]) == (1, "progress", 1)


def test_text_of_a_stuck_loop(tmp_path):
    remember(tmp_path, *["a b"] * 4)
    (tmp_path / "nextprompt.md").write_text(PROMPT)
    code, shown, errors = called("status")
    assert (code, errors) == (3, "")
    assert shown == (
        "pytest: stuck in run 4: a b fail\n"
        "  2 failing: 0 fixed, 0 new, 0 changed, 2 unresolved\n"
        "  stuck: no progress for 3 runs\n"
        "  no-edit: no project file changed between runs 1, 2, 3 and 4\n"
        "  prompt: nextprompt.md\n"
    )


def test_text_of_a_green_run(tmp_path):
    remember(tmp_path, "a", "", edit="effective")
    assert called("status") == (0, "pytest: green in run 2\n", "")


def test_green_run_without_an_edit_is_named(tmp_path):
    remember(tmp_path, "a", "")
    code, said, _ = called("status")
    assert code == 0
    assert "  look: not edited: test_a.py::a: nothing was edited since 1 test failed: " in said


def test_edited_functions_that_no_test_ran(tmp_path):
    ran = EditsRun(edited=3, not_run=(("shop.py", "rest"),))
    remember(tmp_path, "", ran=ran)
    line = "  1 of 3 edited functions was not run by any test: rest (shop.py).\n"
    assert called("status") == (0, f"pytest: green in run 1\n{line}", "")
    (source,) = status()[1]["sources"]
    assert source["edited_functions"] == 3
    assert source["edits_not_run"] == [{"file": "shop.py", "function": "rest"}]
    remember(tmp_path, "")
    (source,) = status()[1]["sources"]
    assert (source["edited_functions"], source["edits_not_run"]) == (None, [])


def test_the_mcp_tool_names_them_too(tmp_path):
    from loop_close.mcp_server.tools import loop_status

    names = [("shop.py", f"f{number}") for number in range(7)]
    remember(tmp_path, "", ran=EditsRun(edited=9, not_run=tuple(names)))
    (_, line) = loop_status().text.splitlines()
    assert line.startswith("  not run by any test, of 9 edited functions: f0 (shop.py), f1 (shop.py)")
    assert line.endswith(", f4 (shop.py) and 2 more")


@pytest.mark.parametrize(
    "value", [3, [], {"edited": "3"}, {"not_run": [["a.py"]]}, {"edited": 1, "not_run": [["a.py", 1]]}]
)
def test_what_is_odd_in_it_is_passed_over(tmp_path, value):
    remember(tmp_path, "")
    summary = json.dumps({"verdict": "green", "edits_run": value})
    execute(tmp_path, "UPDATE runs SET summary = ?", summary)
    assert called("status") == (0, "pytest: green in run 1\n", "")


def test_best_count_is_shown_where_it_was_better(tmp_path):
    remember(tmp_path, "a b", "a", "a c", edit="effective")
    assert "  2 failing: 0 fixed, 1 new, 0 changed, 1 unresolved; fewest so far: " in called("status")[1]
    assert status()[1]["sources"][0]["best"] == {"failing": 1, "run": 2}


@pytest.mark.parametrize(
    ("others", "code", "order"),
    [
        ({"mypy": ["a"], "ruff": [""]}, 3, ["pytest", "mypy", "ruff"]),
        ({"a": [""], "b": ["x"]}, 3, ["pytest", "b", "a"]),
    ],
)
def test_worst_source_comes_first(tmp_path, others, code, order):
    for at, (source, runs) in enumerate(others.items()):
        remember(tmp_path, *runs, source=source, at=100.0 * at)
    remember(tmp_path, *["a"] * 4, at=50.0)
    found = status()
    assert (found[0], [each["source"] for each in found[1]["sources"]]) == (code, order)
    assert [block.partition(":")[0] for block in called("status")[1].split("\n\n")] == order


def test_one_source_is_asked_for(tmp_path):
    remember(tmp_path, "a")
    remember(tmp_path, "", source="mypy")
    code, found = status("--source", "mypy")
    assert (code, len(found["sources"])) == (0, 1)


@pytest.mark.parametrize(
    ("before", "is_alive", "code", "state", "said"),
    [
        ([""], True, 0, "running", "pytest: green in run 1\n  run 2 is running\n"),
        ([""], False, 1, "killed", "pytest: green in run 1\n  run 2 was killed before it finished\n"),
        ([], True, 1, "running", "pytest: no run has finished yet\n  run 1 is running\n"),
        ([], False, 1, "killed", "pytest: no run has finished yet\n  run 1 was killed before it finished\n"),
    ],
)
def test_run_that_has_not_ended(tmp_path, before, is_alive, code, state, said):
    remember(tmp_path, *before)
    with opened(tmp_path) as history:
        begin(history, "pytest", 99.0, pid=os.getpid() if is_alive else 2**22 + 1, birth="")
    assert called("status") == (code, said, "")
    found_code, found = status()
    assert (found_code, found["sources"][0]["state"]) == (code, state)
    assert found["sources"][0]["last_run"] == len(before) + 1


def test_green_by_other_means_is_not_green(tmp_path):
    remember(tmp_path, "a", "")
    execute(
        tmp_path,
        "UPDATE runs SET summary = ? WHERE number = 2",
        '{"verdict": "green", "signals": [{"kind": "test-tampering", "explanation": "gone"}]}',
    )
    assert called("status") == (1, "pytest: green in run 2\n  test-tampering: gone\n", "")
    assert status()[1]["sources"][0]["standing"] == "failing"


@pytest.mark.parametrize(
    ("content", "prompt"),
    [
        (PROMPT, "nextprompt.md"),
        (f"# Tests are running\n\n{SIGNATURE}\n", None),
        ("mine", None),
        (None, None),
    ],
)
def test_prompt_is_named_where_it_is_that_of_the_run(tmp_path, content, prompt):
    remember(tmp_path, "a", source="mypy")
    remember(tmp_path, "a", at=100.0)
    if content is not None:
        (tmp_path / "nextprompt.md").write_text(content)
    prompts = {each["source"]: each["prompt"] for each in status()[1]["sources"]}
    assert prompts == {"pytest": prompt, "mypy": None}


def test_prompt_is_named_from_here(tmp_path, monkeypatch):
    remember(tmp_path, "a")
    (tmp_path / "nextprompt.md").write_text(PROMPT)
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert status()[1]["sources"][0]["prompt"] == os.path.join("..", "nextprompt.md")


def test_exit_code_stays_when_the_output_is_closed(tmp_path):
    remember(tmp_path, *["a"] * 4)
    read, write = os.pipe()
    os.close(read)
    done = loop_close("status", cwd=tmp_path, stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (3, b"")


@pytest.mark.slow
def test_real_runs_from_red_to_stuck_to_green(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\naddopts = '-p no:cacheprovider -q'\n"
    )
    (tmp_path / "price.py").write_text("def total(a, b):\n    return a - b\n")
    (tmp_path / "test_price.py").write_text(
        "from price import total\n\n\ndef test_total():\n    assert total(1, 2) == 3\n"
    )

    def tested():
        return subprocess.run(
            [sys.executable, "-m", "pytest", "--loop-close"],
            cwd=tmp_path,
            env=environment(PYTHONDONTWRITEBYTECODE="1"),  # the fix has the size of the fault
            stdout=subprocess.DEVNULL,
            timeout=GUARD,
            check=False,
        ).returncode

    codes = []
    for _ in range(4):
        assert tested() == 1
        codes.append(status("--source", "pytest")[0])
    assert codes == [1, 1, 1, 3]
    code, shown, _ = called("status")
    assert code == 3
    assert shown.startswith("pytest: stuck in run 4: 1 test failure detected\n  1 failing: ")
    assert "\n  no-edit: " in shown
    assert shown.endswith("\n  prompt: nextprompt.md\n")
    assert called("replay")[1].endswith("\n4 runs: same verdicts as recorded\n")
    (tmp_path / "price.py").write_text("def total(a, b):\n    return a + b\n")
    assert tested() == 0
    assert called("status") == (0, "pytest: green in run 5\n  prompt: nextprompt.md\n", "")
    assert called("reset")[1] == "5 runs forgotten\n"
    assert history_path(tmp_path).exists()


@pytest.mark.slow
def test_failures_that_are_only_counted_are_counted(tmp_path):
    for _ in range(2):
        words = ["sh", "-c", "echo '2 failed, 2 passed in 0.02s'; exit 1"]
        loop_close("run", "--source", "tests", "--", *words, cwd=tmp_path)
    told = loop_close("status", cwd=tmp_path).stdout.decode()
    assert "2 test failures detected\n  2 failing\n" in told
    assert "0 fixed" not in told


def test_nothing_is_counted_where_nothing_is_known_to_fail(tmp_path):
    words = ["sh", "-c", "echo '!!! KeyboardInterrupt !!!'"]
    loop_close("run", "--source", "tests", "--", *words, cwd=tmp_path)
    done = loop_close("status", cwd=tmp_path)
    assert done.returncode == 1
    assert "tests: error in run 1: the run is incomplete\n  prompt: " in done.stdout.decode()


def test_merged_reports_count_until_other_runs_are_newer(tmp_path):
    remember(tmp_path, "", source="pytest")
    remember(tmp_path, "a", source="merge", at=100.0)
    assert loop_close("status", cwd=tmp_path).returncode == 1
    remember(tmp_path, "", source="pytest", at=200.0)
    done = loop_close("status", cwd=tmp_path)
    assert done.returncode == 0
    assert b"merge" not in done.stdout
    assert loop_close("status", "--source", "merge", cwd=tmp_path).returncode == 1


def test_a_merge_counts_until_its_sources_ran_here_whatever_else_ran(tmp_path):
    remember(tmp_path, "a", source="merge")
    remember(tmp_path, "", source="ruff", at=100.0)
    code, text, _ = called("status")
    assert code == 1
    words = "pytest: not green in the merged reports, not run here since: pytest --loop-close"
    assert f"  {words}\n" in text
    assert document("status")[1]["sources"][0]["not_run_here"] == ["pytest"]
    assert called("ask", "test_a.py::a")[0] == 6
    stop = json.dumps({"session_id": "s", "hook_event_name": "Stop", "cwd": str(tmp_path)}).encode()
    answer = json.loads(called("hook", "--host", "claude", data=stop)[1])
    assert answer["decision"] == "block"
    assert f"- {words}\n" in answer["reason"]
    assert "test_a.py::a" in answer["reason"]
    remember(tmp_path, "", source="pytest", at=200.0)
    assert called("status")[0] == 0
    assert called("ask", "test_a.py::a")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["-m", "pytest", "--loop-close"], ["-m", "loop_close", "run", "--", sys.executable, "-m", "pytest"]],
)
def test_green_but_for_known_failures(tmp_path, words):
    (tmp_path / "pyproject.toml").write_text(
        "[tool.loop-close]\nknown = [{test = 'test_a.py::test_a', issue = '#12'}]\n"
    )
    (tmp_path / "test_a.py").write_text("def test_a(): assert 0\ndef test_b(): pass\n")
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 1
    prompt = (tmp_path / "nextprompt.md").read_text()
    assert prompt.startswith("# The tests pass but for 1 known failure: 1 passed\n")
    code, said, _ = called("status")
    assert (code, said) == (0, "pytest: green but for 1 known failure in run 1\n  prompt: nextprompt.md\n")
    assert status()[1]["sources"][0]["known"] == 1


def test_the_last_run_of_tests_is_seen_below_many_of_another_command(tmp_path):
    remember(tmp_path, "")
    remember(tmp_path, *[""] * 61, source="ruff", at=100.0)
    found = read(history_path(tmp_path), _looks)
    assert [each.source for each in found] == ["ruff"] * 60 + ["pytest"]
    remember(tmp_path, "", at=1000.0)
    assert len(read(history_path(tmp_path), _looks)) == 60


def test_a_green_source_that_did_not_see_the_last_edit_says_so(tmp_path):
    (tmp_path / "shop.py").write_text("a = 1\n")
    green = [sys.executable, "-c", "print('1 passed in 0.01s')"]
    for source in ("mypy", "pytest"):
        loop_close("run", "--source", source, "--", *green, cwd=tmp_path)
    (tmp_path / "shop.py").write_text("a = 22\n")
    loop_close("run", "--source", "pytest", "--", *green, cwd=tmp_path)
    done = loop_close("status", cwd=tmp_path)
    assert done.returncode == 0
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith(("mypy", "pytest"))]
    assert lines == ["pytest: green in run 2", "mypy: green in run 1; edited since: shop.py"]
    sources = json.loads(loop_close("status", "--json", cwd=tmp_path).stdout)["sources"]
    assert {each["source"]: each["edited"] for each in sources} == {"pytest": [], "mypy": ["shop.py"]}
    (tmp_path / "shop.py").write_text("a = 333\n")
    said = loop_close("status", cwd=tmp_path).stdout.decode()
    assert "pytest: green in run 2; edited since: shop.py\n" in said
    assert said.endswith("edited since all tests ran: shop.py; run the tests\n")
