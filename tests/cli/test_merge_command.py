"""``loop-close merge`` on reports that pytest wrote."""

import json
import os
import subprocess
import sys

import pytest
from cli_harness import environment, loop_close_here

ALONE = environment(PYTEST_ADDOPTS="-p loop_close -p no:cacheprovider")
FILES = {
    "pytest.ini": "[pytest]\n",
    "shop.py": "def total(items):\n    return sum(items) - (items[0] == 3)\n",
    "test_shop.py": (
        "import pytest, shop\n"
        "@pytest.mark.parametrize('n', range(6))\n"
        "def test_total(n): assert shop.total([n, 1]) == n + 1\n"
    ),
    "conftest.py": (
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--splits', type=int)\n"
        "    parser.addoption('--group', type=int)\n"
        "def pytest_collection_modifyitems(config, items):\n"
        "    if config.getoption('splits'):\n"
        "        items[:] = items[config.getoption('group') - 1 :: config.getoption('splits')]\n"
    ),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with the reports of its three shards."""
    root = tmp_path_factory.mktemp("project")
    for name, content in FILES.items():
        (root / name).write_text(content)
    for group in "123":
        words = [
            "--splits=3",
            f"--group={group}",
            "--loop-close",
            f"--loop-close-json=reports/{group}/report.json",
        ]
        (root / "reports" / group).mkdir(parents=True)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--loop-close-history=off",
            *words,
        ]
        subprocess.run(command, cwd=root, env=ALONE, check=False, capture_output=True)
    return root


def merged(project, *words, code=1):
    (project / "nextprompt.md").unlink(missing_ok=True)
    done = loop_close_here("merge", *words, cwd=project)
    assert done.returncode == code, done.stderr.decode()
    return done


@pytest.mark.slow
def test_shards_of_a_folder_are_one_prompt_with_a_command_for_this_machine(project):
    merged(project, "reports", "--json", "merged.json")
    prompt = (project / "nextprompt.md").read_text()
    assert prompt.startswith("# 1 test fails, 5 pass: ")
    assert "--group" not in prompt
    assert "test_shop.py::test_total[3]" in prompt
    counted = "run by 1 of 1 failing and 5 of 5 passing"  # also by those of green shards, without a history
    assert counted in prompt or not hasattr(sys, "monitoring")
    report = json.loads((project / "merged.json").read_text())
    assert (report["counts"]["passed"], report["counts"]["failed"]) == (5, 1)


@pytest.mark.slow
def test_the_command_runs_the_failing_test_alone(project):
    merged(project, "reports")
    words = ["-q", "--loop-close-failed", "--loop-close-history=off"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=project, env=ALONE, capture_output=True
    )
    assert b"1 failed, 5 deselected" in done.stdout


@pytest.mark.slow
def test_a_missing_shard_is_named(project):
    merged(project, "reports/2/report.json", "reports/3/report.json")
    assert "shard 1 of 3 is missing" in (project / "nextprompt.md").read_text()


def test_what_cannot_be_read_is_named_and_kept(project, tmp_path):
    cut = tmp_path / "cut.json"
    cut.write_text((project / "reports/1/report.json").read_text()[:200])
    done = merged(project, "reports/2/report.json", "reports/3/report.json", cut)
    assert f"{cut} was not read: it is not JSON, or cut off" in done.stderr.decode()
    assert cut.exists()


def test_a_pipe_is_not_waited_for(project, tmp_path):
    os.mkfifo(tmp_path / "report.json")
    said = merged(project, tmp_path / "report.json").stderr.decode()
    assert "report.json was not read: it is not a regular file" in said


@pytest.mark.slow
def test_junit_files_are_sources_of_their_own(project, tmp_path):
    for name, words in (("py311", []), ("py312", ["-k", "not 3"])):
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={tmp_path / name}.xml", *words]
        subprocess.run(command, cwd=project, env=ALONE, check=False, capture_output=True)
    merged(project, tmp_path)
    prompt = (project / "nextprompt.md").read_text()
    assert "- `py311`: 1 test fails" in prompt
    assert "- Green: `py312`" in prompt


CASE = (
    '<testsuite name="pytest" tests="2"><testcase classname="test_a" name="test_a"/>'
    '<testcase classname="test_a" name="test_b">{}</testcase></testsuite>'
)
FAILED = (
    '<failure message="assert 1 == 2">def test_b():\n&gt;  assert 1 == 2\nE  assert 1 == 2\n\n'
    "test_a.py:2: AssertionError</failure>"
)


def test_junit_xml_of_pytest_has_a_command_and_the_tests_that_passed(tmp_path):
    for name, inner in (("py311", FAILED), ("py312", "")):
        (tmp_path / f"{name}.xml").write_text(CASE.format(inner))
    merged(tmp_path, "py311.xml", "py312.xml")
    prompt = (tmp_path / "nextprompt.md").read_text()
    assert "Fails on `py311`; passes on `py312`." in prompt
    assert prompt.startswith("# 1 test fails, 1 passes: ")


def test_the_same_inputs_are_the_same_run_also_from_a_merged_report(tmp_path):
    (tmp_path / "a.xml").write_text(CASE.format(FAILED))
    prompts = set()
    for name in ("a.xml", str(tmp_path / "a.xml"), "merged.json"):
        merged(tmp_path, name, "--json", "merged.json")
        prompts.add((tmp_path / "nextprompt.md").read_text())
    assert len(prompts) == 1
    assert loop_close_here("history", cwd=tmp_path).returncode == 64  # nothing is recorded of a merge


@pytest.mark.parametrize("option", ["--json", "-o"])
def test_what_a_merge_writes_into_the_folder_is_no_input_of_the_next(tmp_path, option):
    folder = tmp_path / "art"
    folder.mkdir()
    (folder / "a.xml").write_text(CASE.format(FAILED))
    merged(tmp_path, "art", option, "art/all.json")
    (folder / "a.xml").write_text(CASE.format(""))
    assert "was not read" not in merged(tmp_path, "art", option, "./art/all.json", code=0).stderr.decode()


#: What coverage.py 7.17.5 writes, cut after its first lines.
OF_COVERAGE = {
    "coverage.json": '{"meta": {"format": 3, "version": "7.17.5", "timestamp": "2026-11-27"}}',
    "pretty.json": '{\n    "meta": {\n        "format": 3,\n        "version": "7.17.5",\n        "timestamp": ""\n}}',
    "coverage.xml": '<?xml version="1.0" ?>\n<coverage version="7.17.5" timestamp="1795818236696">\n</coverage>',
    "status.json": '{"note":"This file is an internal implementation detail to speed up HTML report generation."}',
}


@pytest.mark.parametrize("name", OF_COVERAGE)
def test_reports_of_coverage_in_a_folder_are_left_out(tmp_path, name):
    folder = tmp_path / "art"
    folder.mkdir()
    (folder / "a.xml").write_text(CASE.format(""))
    (folder / name).write_text(OF_COVERAGE[name])
    assert name not in merged(tmp_path, "art", code=0).stderr.decode()
    # What is named is read, and what is unknown is never green.
    assert f"{name} was not read" in merged(tmp_path, f"art/{name}").stderr.decode()


def test_a_path_without_reports_among_others_is_named_and_the_others_are_merged(tmp_path):
    (tmp_path / "a.xml").write_text(CASE.format(FAILED))
    (tmp_path / "empty").mkdir()
    said = merged(tmp_path, "empty", "nothing", "a.xml").stderr.decode()
    assert "empty was not read: it holds no report, no JUnit XML" in said
    assert "nothing was not read: it does not exist" in said
    prompt = (tmp_path / "nextprompt.md").read_text()
    assert "`nothing` was not read: `it does not exist`" in prompt
    assert "test_b" in prompt


@pytest.mark.parametrize(
    ("words", "said"), [(["nothing.json"], "nothing.json: it does not exist"), ([], "PATH")]
)
def test_wrong_calls(project, words, said):
    assert said in merged(project, *words, code=64).stderr.decode()


def test_a_folder_without_reports_is_a_wrong_call(project, tmp_path):
    assert "it holds no report" in merged(project, tmp_path, code=64).stderr.decode()


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a\n::error::b.json", "a\\n::error::b.json"), ("##[error]\x1b[31m.json", "# #[error]\\x1b[31m.json")],
)
def test_name_of_a_rejected_input_is_no_command_of_a_ci_system(tmp_path, name, shown):
    (tmp_path / name).write_text("{}")
    said = loop_close_here("merge", name, cwd=tmp_path).stderr.decode().splitlines()
    assert said[0].startswith(f"loop-close: {shown} was not read: it is not a report of loop-close, as ")
    assert all(line.startswith("loop-close: ") for line in said)
    assert said[1].startswith("loop-close: No input was read: ")
    assert loop_close_here("emit", "sarif", name, cwd=tmp_path).stderr.decode().count("\n") == 1


@pytest.mark.parametrize("option", ["-o", "--json"])
@pytest.mark.parametrize("path", ["folder", "mine.txt", "mine.txt/below"])
def test_merge_whose_result_cannot_be_written_fails(tmp_path, option, path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "junit.xml").write_text('<testsuite tests="1"><testcase classname="a" name="b"/></testsuite>')
    done = loop_close_here("merge", "junit.xml", option, path, cwd=tmp_path)
    assert done.returncode == 64
    assert done.stderr.decode().startswith(f"loop-close: {option}: {path} ")
    assert loop_close_here("merge", "junit.xml", cwd=tmp_path).returncode == 0


def test_what_emit_wrote_is_no_report_of_a_folder(tmp_path):
    (tmp_path / "junit.xml").write_text('<testsuite tests="1"><testcase classname="a" name="b"/></testsuite>')
    assert loop_close_here("merge", ".", "--json", "out/merged.json", cwd=tmp_path).returncode == 0
    for name, form in (("a.json", "gitlab"), ("b.json", "sarif"), ("c.xml", "junit")):
        loop_close_here("emit", form, "out/merged.json", "-o", name, cwd=tmp_path)
        assert (tmp_path / name).stat().st_size
    (tmp_path / "out/merged.json").unlink()
    assert loop_close_here("merge", ".", cwd=tmp_path).returncode == 0
