"""Whole projects with known root causes, in processes of their own; serial and spread over workers."""

import difflib
import json
import os
import shutil
import subprocess
import sys

import pytest
from plugin_harness import PROJECTS, assert_valid, assert_well_formed
from processes import UNUSED

FAMILIES = json.loads((PROJECTS / "families" / "causes.json").read_text(encoding="utf-8"))
SIXTEEN = json.loads((PROJECTS / "sixteen" / "causes.json").read_text(encoding="utf-8"))
# Among them collection errors, one cause over many modules, chains, groups, and parameters.
SPREAD = ["setup_and_call"]
SPREAD_TOO = ["circular_import", "fixture_forty", "import_error_src", "shared_check_messages"]
#: The statement that fails does not name the function at fault.
JOINED_BY_CALLS = {"tmp_paths"}
LEFT_BEHIND = shutil.ignore_patterns("__pycache__", ".*", "nextprompt.md", "report.json")
# What has a limit of time sees less on a busy machine, and one run may then say more than another.
UNLIMITED = ("--loop-close-suspects=on", "--loop-close-second-look=off")


def finish(folder, *args, seed="0"):
    """Run a project and give back its prompt and report."""
    command = [sys.executable, "-m", "pytest", "--loop-close", "--loop-close-json=report.json", *args]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONHASHSEED"] = seed
    environment["PYTEST_ADDOPTS"] = "--loop-close-history=off"  # each run as if it were the first
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2), done.stdout + done.stderr
    prompt = (folder / "nextprompt.md").read_text(encoding="utf-8")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert_well_formed(prompt)
    assert_valid(report)
    return prompt, report


def difference(found, expected):
    return [
        *difflib.unified_diff(expected.splitlines(), found.splitlines(), "expected", "found", lineterm="")
    ]


def assert_same(found, expected):
    """Equal, or all the lines that are not: a difference that comes once in a hundred runs is told at once."""
    assert not (told := difference(found, expected)), "\n".join(told)
    assert found == expected


def as_text(report):
    return json.dumps(report, indent=1, sort_keys=True)


def without_parts(report):
    return {key: value for key, value in report.items() if key != "parts"}


def assert_same_report(found, expected):
    """The same but for the parts, which merging needs: they have the command, and failures as they came."""
    assert_same(*(as_text(without_parts(each)) for each in (found, expected)))


@pytest.fixture
def project(tmp_path):
    """A copy of one of tests/projects."""

    def copy(name):
        return shutil.copytree(PROJECTS / name, tmp_path / os.path.basename(name), ignore=LEFT_BEHIND)

    return copy


def test_every_family_is_there():
    folders = {path.name for path in (PROJECTS / "families").iterdir() if (path / "pytest.ini").exists()}
    assert folders == set(FAMILIES)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_family_has_as_many_root_causes_as_faults(run, pytester, family):
    if family in JOINED_BY_CALLS and not hasattr(sys, "monitoring"):
        pytest.skip("its failures are one cause by what their tests ran, which is known from Python 3.12 on")
    shutil.copytree(PROJECTS / "families" / family, pytester.path, ignore=LEFT_BEHIND, dirs_exist_ok=True)
    done = run({}, "-q", "--tb=no")
    assert len(done.causes) == FAMILIES[family], done.prompt
    assert len({cause["id"] for cause in done.causes}) == FAMILIES[family]
    assert done.report["verdict"] == "red"


@pytest.mark.parametrize("family", [*SPREAD, *(pytest.param(f, marks=pytest.mark.slow) for f in SPREAD_TOO)])
def test_family_gives_the_same_bytes_on_workers(project, family):
    folder = project(f"families/{family}")
    # Workers go on after collection errors, which ends a serial run: there pytest itself does not do the same.
    args = (*UNUSED, *UNLIMITED, "-q", "--tb=no", "--continue-on-collection-errors")
    serial, report = finish(folder, *args, seed="1")
    spread, other = finish(folder, *args, "-n", "2", seed="2")
    assert_same(spread, serial)
    assert_same_report(other, report)


@pytest.fixture(scope="module")
def sixteen(tmp_path_factory):
    """The prompt and the report of the project with sixteen causes."""
    folder = tmp_path_factory.mktemp("sixteen") / "sixteen"
    shutil.copytree(PROJECTS / "sixteen", folder, ignore=LEFT_BEHIND)
    return folder, *finish(folder, "-p", "no:asyncio")


@pytest.mark.slow
def test_sixteen_causes_are_sixteen(sixteen):
    _, prompt, report = sixteen
    assert len(report["root_causes"]) == 16
    assert ": 16 root causes, first " in prompt.partition("\n")[0]


@pytest.mark.parametrize("cause", SIXTEEN, ids=lambda cause: cause["name"].replace(" ", "-"))
def test_place_and_message_of_each_of_sixteen_causes_are_in_the_prompt(sixteen, cause):
    _, prompt, report = sixteen
    words = cause["message"].removeprefix("KeyError: ")
    if not any(words in c["message"] for c in report["root_causes"]):  # the pytest of 8.0 sorts the keys
        words = words.replace("'parcels': 2, 'grams': 250", "'grams': 250, 'parcels': 2")
    suspects = [s for c in report["root_causes"] if words in c["message"] for s in c["suspects"][:1]]
    # Where calls are known, a cause in short has the place of the fault in the place of the test's.
    assert cause["place"] in prompt or any(f"`{s['file']}:" in prompt for s in suspects)
    left_out = prompt.rpartition("Left out to keep the budget: ")[2]
    for text in (cause.get("shown", words), *cause.get("also", ())):
        assert text.removeprefix("KeyError: ") in prompt or "failing statements" in left_out
    found = [c for c in report["root_causes"] if words in c["message"]]
    assert [c["kind"] for c in found] == [cause["kind"]]
    assert found[0]["count"] == cause["tests"]


def test_sixteen_causes_cost_at_most_1800_tokens(sixteen):
    assert len(sixteen[1]) / 4 <= 1800


@pytest.mark.slow
def test_sixteen_causes_give_the_same_bytes_on_workers(sixteen):
    folder, *_ = sixteen
    serial, report = finish(folder, "-p", "no:asyncio", *UNLIMITED)
    spread, other = finish(
        folder, "-p", "no:asyncio", *UNLIMITED, "-n", "2", "--junitxml=junit.xml", seed="7"
    )
    assert_same(spread, serial)
    assert_same_report(other, report)


@pytest.mark.slow
def test_green_project_is_green_and_nothing_is_detected(project):
    prompt, report = finish(project("green"), "-p", "no:asyncio")
    assert prompt.startswith("# The tests pass: ")
    assert "## " not in prompt
    assert report["verdict"] == "green"
    assert report["evidence"] == report["root_causes"] == []
