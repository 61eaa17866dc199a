"""What a run writes for the CI system that it is part of."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from loop_close.emit import report
from loop_close.readers.streams import observe_texts

RED = {"test_a.py": "def test_a():\n    assert 1 == 2\ndef test_b(): pass\n"}
GREEN = {"test_a.py": "def test_a(): pass\ndef test_b(): pass\n"}
SUMMARY = re.compile(r"\A# loop-close: 1 test fails, 1 pass(?:es)?\n\n## 1\. ")
QUALITY = ".loop-close/gl-code-quality.json"


@pytest.fixture
def summary(monkeypatch, tmp_path):
    """The step summary of a step in GitHub Actions."""
    path = tmp_path / "summary.md"
    path.touch()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


@pytest.fixture
def gitlab(monkeypatch):
    monkeypatch.setenv("GITLAB_CI", "true")


def commands(done):
    return [line for line in done.stdout.splitlines() if line.lstrip().startswith("::")]


def rows(done):
    return json.loads((done.folder / QUALITY).read_text(encoding="utf-8"))


def test_a_red_run_on_github(run, summary):
    done = run(RED)
    assert done.ret == 1
    assert SUMMARY.match(summary.read_text(encoding="utf-8"))
    (line,) = commands(done)
    assert line.startswith("::error title=")
    assert ",file=test_a.py,line=2::assert 1 == 2%0AFails: test_a.py::test_a" in line
    assert (
        done.stdout.index("1 failed, 1 passed") < done.stdout.index("loop-close: ") < done.stdout.index(line)
    )
    assert not (done.folder / QUALITY).exists()


def test_a_red_run_is_added_to_what_the_step_has_written(run, summary):
    summary.write_text("## Coverage")
    run(RED)
    run({})
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("## Coverage\n\n# loop-close: 1 test fails")
    assert text.count("# loop-close: ") == 2


@pytest.mark.parametrize("asked", [("--loop-close",), ("--loop-close", "--loop-close-json=report.json")])
def test_a_green_run_on_github_is_one_line(run, summary, asked):
    done = run(GREEN, asked=asked)
    assert done.ret == 0
    assert summary.read_text() == "loop-close: the tests pass: 2 passed\n"
    assert commands(done) == []


def test_a_red_run_on_gitlab(run, gitlab):
    done = run(RED)
    assert [row["location"] for row in rows(done)] == [{"path": "test_a.py", "lines": {"begin": 2}}]
    assert commands(done) == []
    done = run(GREEN)
    assert rows(done) == []


@pytest.mark.parametrize("words", [("--loop-close-ci=off",), ()])
def test_it_can_be_turned_off(run, summary, words):
    settings = "" if words else "[tool.loop-close]\nci = 'off'\n"
    done = run({**RED, "pyproject.toml": settings}, *words)
    assert summary.read_text() == ""
    assert commands(done) == []


def test_the_option_names_the_ci_system_and_wins(run, summary):
    done = run({**RED, "pyproject.toml": "[tool.loop-close]\nci = 'off'\n"}, "--loop-close-ci=gitlab")
    assert len(rows(done)) == 1
    assert summary.read_text() == ""


def test_github_without_a_step_summary(run):
    done = run(RED, "--loop-close-ci=github")
    assert len(commands(done)) == 1
    assert not any("summary" in line for line in done.summary)


@pytest.mark.parametrize("value", ["github-summary", "yes", ""])
def test_other_values_are_refused(run, value):
    done = run(RED, f"--loop-close-ci={value}", is_prompt=False)
    assert done.ret == 4
    assert "--loop-close-ci must be 'auto', 'github', 'gitlab' or 'off'" in done.stderr


def test_not_asked_for_nothing_is_written(run, summary):
    done = run(RED, asked=(), is_prompt=False)
    assert summary.read_text() == ""
    assert commands(done) == []


def test_outside_of_ci_nothing_is_written(run):
    done = run(RED)
    assert commands(done) == []
    assert not (done.folder / QUALITY).exists()


@pytest.mark.parametrize("path", ["missing/summary.md", "."])
def test_a_summary_that_cannot_be_written_costs_a_line(run, summary, monkeypatch, tmp_path, path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / path))
    done = run(RED)
    assert done.ret == 1
    assert done.title.startswith("# 1 test fails")
    assert [line for line in done.summary if "cannot write the step summary: " in line]
    assert len(commands(done)) == 1
    assert "Traceback" not in done.stdout + done.stderr


def test_a_code_quality_report_that_cannot_be_written_costs_a_line(run, gitlab, pytester):
    (pytester.path / QUALITY).mkdir(parents=True)
    done = run(RED)
    assert done.ret == 1
    assert [line for line in done.summary if f"cannot write {QUALITY}: " in line]


def test_a_fault_costs_a_line(run, summary, monkeypatch):
    monkeypatch.setattr(report, "document_of", lambda *args: 1 / 0)
    done = run(RED)
    assert done.ret == 1
    assert "loop-close: no output for CI: ZeroDivisionError: division by zero" in done.summary
    assert done.title.startswith("# 1 test fails")


def test_paths_are_those_of_the_repository(run, summary, pytester, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", str(pytester.path.parent))
    (line,) = commands(run(RED))
    assert f",file={pytester.path.name}/test_a.py," in line


@pytest.mark.parametrize("workspace", ["/elsewhere", ""])
def test_a_root_outside_of_the_repository(run, summary, monkeypatch, workspace):
    monkeypatch.setenv("GITHUB_WORKSPACE", workspace)
    (line,) = commands(run(RED))
    assert ",file=test_a.py," in line


def test_workers_write_nothing(run, summary):
    pytest.importorskip("xdist")
    done = run(RED, "-n2", "-p", "xdist", plugins=("xdist",), own_process=True)
    assert summary.read_text(encoding="utf-8").count("# loop-close: ") == 1
    assert len(commands(done)) == 1


def test_commands_have_no_colour(run, summary):
    (line,) = commands(run(RED, "--color=yes"))
    assert line.startswith("::error ")
    assert "\x1b" not in line


@pytest.mark.parametrize("words", [(), ("-q", "--no-summary", "--no-header"), ("--tb=short", "-v")])
def test_the_log_is_read_as_without_annotations(run, summary, words):
    done = run(RED, *words)
    assert commands(done)
    plain = "".join(f"{line}\n" for line in done.stdout.splitlines() if not line.startswith("::"))
    with_them, without = (observe_texts([text], 1) for text in (done.stdout, plain))
    assert with_them == without
    assert with_them.incomplete == ""


def test_hostile_tests_write_one_command(run, summary):
    source = 'import pytest\n@pytest.mark.parametrize("x", ["%0A::error::x", "a,file=b::c", "</details>"])\n'
    done = run({"test_a.py": f"{source}def test_a(x):\n    assert 0, '\\n::error::' + x + '\\x1b[31m'\n"})
    assert all(line.startswith("::error title=") for line in commands(done))
    assert "\n</details>" not in summary.read_text(encoding="utf-8")


def test_a_conftest_that_cannot_be_imported(run, summary):
    done = run({"conftest.py": "import not_there\n", **RED}, own_process=True)
    assert done.ret == 4
    assert "No module named 'not_there'" in summary.read_text(encoding="utf-8")
    assert "::error title=" in done.stderr


def test_a_run_without_tests_says_so(run, summary):
    done = run({"test_a.py": ""})
    assert done.ret == 5
    assert "No result" in summary.read_text(encoding="utf-8")
    assert commands(done) == ["::error title=loop-close%3A No complete result::No result: no tests collected"]


LOADED = "import sys\nimport atexit\natexit.register(lambda: print('LOADED', *sorted(sys.modules)))\n"


@pytest.mark.slow
@pytest.mark.parametrize("system", ["", "GITHUB_ACTIONS"])
def test_a_green_run_loads_nothing_for_it(pytester, monkeypatch, system, tmp_path):
    if system:
        monkeypatch.setenv(system, "true")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    pytester.makepyfile(conftest=LOADED, test_a="def test_a(): pass")
    done = pytester.runpytest_subprocess("--loop-close", "-p", "no:asyncio")
    loaded = next(line for line in done.outlines if line.startswith("LOADED")).split()
    assert not [name for name in loaded if name.startswith("loop_close.emit")]
    assert ("loop_close.pytest_plugin.ci" in loaded) is bool(system)


def test_the_report_on_gitlab_is_as_its_schema_says(run, gitlab):
    schema = Path(__file__).parent.parent / "emit" / "schemas" / "gitlab-code-quality.json"
    jsonschema.validate(rows(run(RED)), json.loads(schema.read_text(encoding="utf-8")))


def test_full_step_summary_is_named(run, summary):
    summary.write_bytes(b"x" * 900_000)
    assert "loop-close: cannot write the step summary: it is full, with 900,000 bytes" in run(RED).stdout
    assert summary.stat().st_size == 900_000
