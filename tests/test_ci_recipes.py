"""The recipes in ``examples/ci``, our action and our hook: linted, and their steps run here, in order."""

import os
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
import yaml

from loop_close.cli.parser import parse

ROOT = Path(__file__).parent.parent
RECIPES = ROOT / "examples" / "ci"
ACTION = ROOT / "action.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
FILES = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\n",
    "src/shop.py": "def total(prices):\n    return sum(prices) + 1\n\n\ndef label(number):\n    return str(number)\n",
    "tests/test_shop.py": "import shop\n\n\ndef test_total():\n    assert shop.total([1]) == 1\n\n\n"
    "def test_label():\n    assert shop.label(3) == '3'\n",
}
LEFT_OUT = ("PYTEST_", "COV_")
INSTALL = re.compile(r"^python -m pip install .*$", re.MULTILINE)
#: One interpreter is here.
OTHERS = re.compile(r" --expect \S*3\.1[23]\S*")
HERE = f'"*-{sys.version_info[0]}.{sys.version_info[1]}*"'


@pytest.fixture
def project(tmp_path):
    """A project with one failing test, in a repository, as it is checked out."""
    folder = tmp_path / "checkout"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "a"], check=True)
    return folder


def shell(script, folder, **environment):
    """Run a step as a job does; what it installs is installed here."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(LEFT_OUT)}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]])
    installs = INSTALL.findall(script)
    assert all("pytest-loop-close" in line for line in installs)
    script = OTHERS.sub("", INSTALL.sub("true", script)).replace('"*-3.11*"', HERE)
    words = ["bash", "-e", "-o", "pipefail", "-c", script]
    env = {**kept, "PATH": path, "CI": "true", **environment}
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)


def copied(source, target):
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def github(job, folder, name, **matrix):
    """Run the steps of a job that are commands; the first that fails ends it, but for those that always run."""
    printed, is_failed = "", False
    given = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_RUN_ID": "7",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_JOB": name,
        "GITHUB_SHA": "c0ffee",
        "GITHUB_WORKSPACE": str(folder),
        "GITHUB_STEP_SUMMARY": str(folder.parent / "summary.md"),
    }
    for step in job["steps"]:
        if "run" in step and (not is_failed or step.get("if") == "always()"):
            script = re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda m: str(matrix[m[1]]), step["run"])
            done = shell(script, folder, **given)
            printed += done.stdout + done.stderr
            is_failed = is_failed or done.returncode != 0
    return not is_failed, printed


@pytest.mark.slow
def test_github_shards_become_one_prompt(project, tmp_path):
    jobs = yaml.safe_load((RECIPES / "github.yml").read_text())["jobs"]
    last = tmp_path / "runner-prompt"
    shutil.copytree(project, last)
    results = []
    for shard in jobs["test"]["strategy"]["matrix"]["shard"]:  # of the one interpreter that is here
        folder = tmp_path / f"runner-{shard}"
        shutil.copytree(project, folder)
        results.append(github(jobs["test"], folder, "test", shard=shard)[0])
        copied(folder / "report.json", last / "reports" / f"report-{shard}" / "report.json")
    assert sorted(results) == [False, True], "one shard has the failing test"
    is_green, printed = github(jobs["prompt"], last, "prompt")
    assert not is_green
    text = (last / "nextprompt.md").read_text()
    assert text.startswith("# 1 test fails, 1 passes")
    assert "total()" in text.split("\n", 1)[0]
    assert "--splits" not in text, "the command is one for a developer's machine"
    assert "incomplete" not in text
    assert "1 test fails" in (tmp_path / "summary.md").read_text()
    assert "::error title=loop-close" in printed


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
def test_gitlab_shards_become_one_prompt(project, tmp_path, missing):
    recipe = yaml.safe_load((RECIPES / "gitlab.yml").read_text())
    (matrix,) = recipe["test"]["parallel"]["matrix"]
    reports = tmp_path / "artifacts"
    for python, shard in product(matrix["PYTHON"][:1], matrix["SHARD"]):
        folder = tmp_path / f"runner-{python}-{shard}"
        shutil.copytree(project, folder)
        given = {"PYTHON": python, "SHARD": shard, "CI_JOB_NAME": f"test: [{python}, {shard}]"}
        assert gitlab(recipe["test"], folder, given) in (True, False)
        if not (missing and shard == "2"):
            copied(folder / "reports", reports)
    folder = tmp_path / "runner-prompt"
    shutil.copytree(project, folder)
    copied(reports, folder / "reports")
    assert not gitlab(recipe["prompt"], folder, {"CI_JOB_NAME": "prompt"})
    for name in ("nextprompt.md", "merged.json", "codequality.json"):
        assert (folder / name).stat().st_size
    text = (folder / "nextprompt.md").read_text()
    assert ("shard 2 of 2 is missing" in text) is missing


def gitlab(job, folder, given):
    known = {
        "GITLAB_CI": "true",
        "CI_PIPELINE_ID": "9",
        "CI_COMMIT_SHA": "c0ffee",
        "CI_PROJECT_DIR": str(folder),
    }
    done = shell("\n".join(job["script"]), folder, **known, **given)
    return done.returncode == 0


@pytest.mark.parametrize(
    ("path", "options"),
    [
        (RECIPES / "github.yml", ["--builtin-schema", "vendor.github-workflows"]),
        (RECIPES / "gitlab.yml", ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"]),
        (ACTION, ["--builtin-schema", "vendor.github-actions"]),
    ],
    ids=["github.yml", "gitlab.yml", "action.yml"],
)
def test_the_files_are_valid(path, options):
    words = [sys.executable, "-m", "check_jsonschema", *options, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_has_pinned_actions_and_no_expression_in_a_script():
    text = ACTION.read_text()
    uses = re.findall(r"uses: (.*)", text)
    assert uses
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each) for each in uses)
    runs = [step["run"] for step in yaml.safe_load(text)["runs"]["steps"] if "run" in step]
    assert not [run for run in runs if "${{" in run]


@pytest.mark.slow
@pytest.mark.parametrize("is_green", [True, False])
def test_the_action_checks_and_keeps_the_prompt_of_a_red_check(project, tmp_path, is_green):
    shutil.copytree(project, tmp_path / "repository" / "shop")
    source = tmp_path / "repository" / "shop" / "src" / "shop.py"
    source.write_text(source.read_text().replace(" + 1", "" if is_green else " + 1"))
    action = yaml.safe_load(ACTION.read_text())
    values = {name: each["default"] for name, each in action["inputs"].items()}
    values |= {"checks": "tests", "working-directory": "shop"}
    check_failed = False
    printed = ""
    for step in action["runs"]["steps"]:
        if "run" not in step or ("if" in step and not check_failed):
            continue
        given = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: values[m[1]], value)
            for name, value in step["env"].items()
        }
        given |= {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "RUNNER_TEMP": str(tmp_path)}
        script = (
            step["run"]
            .replace("loop-close ", "python -m loop_close ")
            .replace('install "$ACTION"', "--version")
        )
        done = shell(
            script, tmp_path / "repository" / ("shop" if "working-directory" in step else "."), **given
        )
        check_failed = check_failed or done.returncode != 0
        printed += done.stdout + done.stderr
    assert check_failed is not is_green, printed
    assert (tmp_path / "summary.md").exists() is not is_green
    if not is_green:
        assert "file=shop/" in printed
        assert (tmp_path / "loop-close" / "nextprompt.md").read_text().startswith("# 1 test fails")
        assert (tmp_path / "loop-close" / "report.json").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("is_green", [True, False])
def test_our_hook_of_pre_commit_is_one_and_checks_before_a_push(project, is_green):
    pytest.importorskip("pre_commit")
    done = shell(f"python -m pre_commit validate-manifest {HOOKS}", project)
    assert done.returncode == 0, done.stdout
    (hook,) = yaml.safe_load(HOOKS.read_text())
    assert parse(hook["entry"].split()[1:]).name == "check"
    hook["entry"] = f"{sys.executable} -m loop_close check"
    config = {"repos": [{"repo": "local", "hooks": [hook]}]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    source = project / "src" / "shop.py"
    source.write_text(source.read_text().replace(" + 1", "" if is_green else " + 1"))
    subprocess.run(["git", "-C", project, "add", "-A"], check=True)
    done = shell("python -m pre_commit run --all-files --hook-stage pre-push", project)
    assert (done.returncode == 0) is is_green, done.stdout
    assert "loop-close check" in done.stdout


@pytest.mark.slow
def test_pre_commit_hooks_run_through_loop_close(project):
    pytest.importorskip("pre_commit")
    finding = "src/shop.py:2: error: Bad operand  [operator]"
    (project / "mypy.py").write_text(f"print({finding!r}); raise SystemExit(1)")
    text = (
        (RECIPES / "pre-commit.yaml")
        .read_text()
        .replace("entry: ruff check", "entry: python -m compileall -q")
    )
    (project / ".pre-commit-config.yaml").write_text(text.replace("entry: mypy src", "entry: python mypy.py"))
    subprocess.run(["git", "-C", project, "add", "-A"], check=True)
    (command,) = re.findall(r"loop-close run -- pre-commit .*", (RECIPES / "pre-commit.yaml").read_text())
    done = shell(
        command.replace("loop-close ", "python -m loop_close ").replace(
            "-- pre-commit", "-- python -m pre_commit"
        ),
        project,
    )
    assert done.returncode == 1, done.stderr
    assert "`mypy operator` at src/shop.py:2\n" in (project / "nextprompt.md").read_text()


@pytest.mark.slow
def test_tox_takes_its_file(project):
    pytest.importorskip("tox")
    shutil.copy(RECIPES / "tox.ini", project)
    text = (project / "tox.ini").read_text()
    (project / "tox.ini").write_text(text.replace("requires = pytest-loop-close\n", ""))  # it is here
    done = shell("python -m tox config -e py311,lint,types -k commands deps", project)
    assert done.returncode == 0, done.stderr
    assert "python -m pytest" in done.stdout
