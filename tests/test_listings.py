"""What others install from the repository, and what a release is made of: in step with the program, and valid."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from loop_close.cli.install import with_section
from loop_close.cli.parser import parse

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SKILL = ROOT / "plugin" / "skills" / "loop-close" / "SKILL.md"
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
PAGES = ["CONTRIBUTING.md", "SECURITY.md"]
#: A program that was installed only to try the plugin; `.ci/run` names it.
CLAUDE = os.environ.get("LOOP_CLOSE_TEST_CLAUDE") or shutil.which("claude") or ""


def document(name):
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def test_what_is_checked_in_is_what_the_tool_writes():
    command = [sys.executable, str(ROOT / "tools" / "listings.py"), "--check"]
    assert subprocess.run(command).returncode == 0


def test_the_server_is_the_command_of_the_package():
    server = document("server.json")
    assert len(server["description"]) <= 100, "the limit of the registry of MCP servers"
    (package,) = server["packages"]
    assert PROJECT["scripts"][package["identifier"]] == PROJECT["scripts"]["loop-close"]
    assert parse([each["value"] for each in package["packageArguments"]]).name == "mcp"
    assert [each["value"] for each in package["runtimeArguments"]] == PROJECT["optional-dependencies"]["mcp"]


# The plugin: its hook, its manifest, its skill.


@pytest.mark.skipif(os.name == "nt", reason="the command is one of a POSIX shell")
def test_the_hook_of_the_plugin_is_silent_where_loop_close_is_not_installed(tmp_path):
    groups = [group for each in document("plugin/hooks/hooks.json")["hooks"].values() for group in each]
    (command,) = {each["command"] for group in groups for each in group["hooks"]}
    sh = shutil.which("sh")

    def run():
        environ = {"PATH": str(tmp_path)}
        return subprocess.run([sh, "-c", command], env=environ, input="{}", capture_output=True, text=True)

    absent = run()
    assert (absent.returncode, absent.stdout, absent.stderr) == (0, "", "")
    program = tmp_path / "loop-close"
    program.write_text(f"#!{sh}\nread line\necho $line $@\n")
    program.chmod(0o755)
    assert run().stdout == "{} hook --host claude\n"


def test_every_command_of_the_skill_and_of_agents_md_is_one():
    text = SKILL.read_text(encoding="utf-8") + with_section(None, "nextprompt.md")
    lines = re.findall(r"`(loop-close \w[^`]*)`", text)
    assert {line.split()[1] for line in lines} == {
        "check",
        "status",
        "history",
        "explain",
        "analyze",
        "accept",
    }
    for line in lines:
        assert parse(shlex.split(line)[1:]).name == line.split()[1]


@pytest.mark.slow
@pytest.mark.skipif(not CLAUDE, reason="Claude Code is not installed")
def test_claude_code_takes_the_plugin_and_leaves_no_trace_in_the_project(tmp_path):
    project, home = tmp_path / "project", tmp_path / "home"
    home.mkdir()
    for name in (".claude-plugin", "plugin"):
        shutil.copytree(ROOT / name, project / name)

    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    alone = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}

    def claude(*words):
        command = [CLAUDE, "plugin", *words]
        env = {**kept, **alone, **quiet}
        done = subprocess.run(
            command, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def contents():
        return {path: path.is_dir() or path.read_bytes() for path in sorted(project.rglob("*"))}

    before = contents()
    for manifest in (".", "plugin"):
        assert "Validation passed" in claude("validate", "--strict", manifest)
    claude("marketplace", "add", str(project))
    claude("install", "loop-close@loop-close")
    settings = home / ".claude" / "settings.json"
    assert "loop-close" in settings.read_text(encoding="utf-8")
    assert "Hooks (2)  SessionStart, Stop" in claude("details", "loop-close")
    assert "Skills (1)  loop-close" in claude("details", "loop-close")
    claude("uninstall", "loop-close@loop-close")
    claude("marketplace", "remove", "loop-close")
    assert contents() == before
    assert "loop-close" not in settings.read_text(encoding="utf-8")


# What a release is made of.


@pytest.mark.parametrize(
    ("schema", "path"),
    [("vendor.citation-file-format", ROOT / "CITATION.cff"), ("vendor.github-workflows", WORKFLOW)],
)
def test_files_of_known_forms_are_valid(schema, path):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_workflow_has_pinned_actions_and_only_the_rights_that_it_needs():
    text = WORKFLOW.read_text(encoding="utf-8")
    found = yaml.safe_load(text)
    uses = re.findall(r"uses: (.*)", text)
    assert len(uses) == 6
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each) for each in uses)
    assert found["permissions"] == {}
    assert {name: job["permissions"] for name, job in found["jobs"].items()} == {
        "build": {"contents": "read"},
        "pypi": {"id-token": "write"},
    }
    assert "secrets." not in text
    runs = [step["run"] for job in found["jobs"].values() for step in job["steps"] if "run" in step]
    assert not [run for run in runs if "${{" in run], "an expression in a script is code from outside"
    assert any("tox run -e build" in run for run in runs)


def test_recipe_and_citation_are_those_of_the_project():
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert recipe["context"]["name"] == PROJECT["name"]
    assert recipe["context"]["version"] == str(citation["version"]) == PROJECT["version"]
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    needed = [each.replace(" ", "") for each in recipe["requirements"]["run"][1:]]
    assert needed == PROJECT["dependencies"]
    scripts = [each.split(" = ") for each in recipe["build"]["python"]["entry_points"]]
    assert dict(scripts) == PROJECT["scripts"]
    assert recipe["about"]["license"] == citation["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == citation["abstract"] == PROJECT["description"]
    assert (ROOT / recipe["about"]["license_file"]).is_file()
    assert [each["name"] for each in citation["authors"]] == [each["name"] for each in PROJECT["authors"]]


def test_no_address_is_invented():
    """The project has no public address; where one is given, the others have to be the same."""
    known = PROJECT.get("urls", {}).get("Repository", "")
    texts = ["CITATION.cff", "recipe/recipe.yaml", "plugin/.claude-plugin/plugin.json", "server.json", *PAGES]
    named = {
        url
        for name in texts
        for url in re.findall(
            r"https://(?:github|gitlab|codeberg)\.[a-z]+/[\w./-]+", (ROOT / name).read_text(encoding="utf-8")
        )
    }
    assert named <= {known}


def test_the_commands_for_contributors_are_those_of_the_readme_and_of_ci():
    text, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "README.md"))
    assert "python3 tools/dev.py test\n" in readme
    for line in ("python3 tools/dev.py test --quick", "python3 tools/dev.py test ", "bash .ci/run"):
        assert f"\n{line}" in text
    for path in re.findall(r"`((?:tests|tools|src|benchmarks|docs|recipe)[\w./]*)`", text):
        assert (ROOT / path).exists()
    assert len(text.split()) <= 500, "one page"


def test_the_metadata_of_the_package_agree_with_each_other_and_with_tox():
    versions = [
        each.rpartition(" :: ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)
    ]
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    tested = re.findall(r"\bpy3(\d+)\b", re.search(r"^env_list = (.*)$", tox, re.MULTILINE)[1])
    assert versions == [f"3.{minor}" for minor in tested]
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert (ROOT / PROJECT["readme"]).is_file()
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith(f"{PROJECT['license']} License")
    for names in PROJECT["entry-points"].values():
        for module in names.values():
            assert importlib.util.find_spec(module)
