"""``loop-close merge`` on reports that pytest wrote."""

import json
import subprocess
import sys

import pytest
from cli_harness import ALONE, SHOP, loop_close_here, put

SHARDS = """
def pytest_addoption(parser):
    parser.addoption('--splits', type=int)
    parser.addoption('--group', type=int)
def pytest_collection_modifyitems(config, items):
    items[:] = items[config.getoption('group') - 1 :: config.getoption('splits')]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with the reports of its three shards."""
    root = tmp_path_factory.mktemp("project")
    for name, content in {**SHOP, "conftest.py": SHARDS}.items():
        put(root, name, content)
    for group in "123":
        (root / "reports" / group).mkdir(parents=True)
        words = ["--loop-close", "--loop-close-history=off", "--splits=3", f"--group={group}"]
        command = [sys.executable, "-m", "pytest", *words, f"--loop-close-json=reports/{group}/report.json"]
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


def test_what_cannot_be_read_is_named_and_kept(project, tmp_path):
    cut = tmp_path / "cut.json"
    cut.write_text((project / "reports/1/report.json").read_text()[:200])
    done = merged(project, "reports/2/report.json", "reports/3/report.json", cut)
    assert f"{cut}: it was not read: it is not JSON, or cut off" in done.stderr.decode()
    assert cut.exists()


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


@pytest.mark.parametrize("option", ["--json", "-o"])
def test_what_a_merge_writes_into_the_folder_is_no_input_of_the_next(tmp_path, option):
    folder = tmp_path / "art"
    folder.mkdir()
    (folder / "a.xml").write_text(CASE.format(FAILED))
    merged(tmp_path, "art", option, "art/all.json")
    (folder / "a.xml").write_text(CASE.format(""))
    assert "was not read" not in merged(tmp_path, "art", option, "./art/all.json", code=0).stderr.decode()


@pytest.mark.parametrize("content", ["", '{"schema": "loop-cl', "<test-run/>"])
def test_a_file_of_a_folder_that_cannot_be_read_is_not_left_out(tmp_path, content):
    (tmp_path / "junit.xml").write_text(CASE.format(""))
    (tmp_path / "package.json").write_text('{"name": "cart"}')
    (tmp_path / "coverage.xml").write_text('<?xml version="1.0" ?>\n<!-- 7.1 -->\n<coverage version="7"/>')
    merged(tmp_path, ".", code=0)
    merged(tmp_path, ".", code=0)  # what the first wrote into the state folder is no input
    (tmp_path / f"other.{'json' if content.startswith('{') else 'xml'}").write_text(content)
    assert "it was not read" in merged(tmp_path, ".", code=1).stderr.decode()


@pytest.mark.parametrize(
    ("words", "said"),
    [(["nothing.json"], "there is no report and no JUnit XML in nothing.json"), ([], "PATH")],
)
def test_wrong_calls(project, words, said):
    assert said in merged(project, *words, code=64).stderr.decode()


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
