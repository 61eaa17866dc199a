"""What a run writes for the CI system that it is part of."""

import json
import re

import pytest

from loop_close.readers.streams import observe_texts

RED = {"test_a.py": "def test_a():\n    assert 1 == 2\ndef test_b(): pass\n"}
GREEN = {"test_a.py": "def test_a(): pass\ndef test_b(): pass\n"}
SUMMARY = re.compile(r"\A# loop-close: `1 test fails, 1 pass(?:es)?; look first at .*`\n\n## 1\. ")
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


@pytest.mark.parametrize("asked", [("--loop-close",), ("--loop-close", "--loop-close-json=report.json")])
def test_a_green_run_on_github_is_one_line(run, summary, asked):
    done = run(GREEN, asked=asked)
    assert done.ret == 0
    assert summary.read_text() == "loop-close: `2 passed`\n"
    assert commands(done) == []


def test_a_red_run_on_gitlab(run, gitlab):
    done = run(RED)
    assert [row["location"] for row in rows(done)] == [{"path": "test_a.py", "lines": {"begin": 2}}]
    assert commands(done) == []
    done = run(GREEN)
    assert rows(done) == []


def test_it_can_be_turned_off_and_the_option_wins(run, summary):
    off = {**RED, "pyproject.toml": "[tool.loop-close]\nci = 'off'\n"}
    assert commands(run(off)) == []
    assert len(rows(run({}, "--loop-close-ci=gitlab"))) == 1
    assert summary.read_text() == ""


@pytest.mark.parametrize("path", ["missing/summary.md", "."])
def test_a_summary_that_cannot_be_written_costs_a_line(run, summary, monkeypatch, tmp_path, path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / path))
    done = run(RED)
    assert done.ret == 1
    assert done.title.startswith("# 1 test fails")
    assert [line for line in done.summary if "cannot write the step summary: " in line]
    assert len(commands(done)) == 1
    assert "Traceback" not in done.stdout + done.stderr


def test_workers_write_nothing(run, summary):
    pytest.importorskip("xdist")
    done = run(RED, "-n2", "-p", "xdist", plugins=("xdist",), own_process=True)
    assert summary.read_text(encoding="utf-8").count("# loop-close: ") == 1
    assert len(commands(done)) == 1


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
