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
GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: path for path in sorted((GITHUB / "workflows").glob("*.yml"))}
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
#: The rights of each job, and how many actions of others are used.
RIGHTS = {
    "ci": ({"python": {"contents": "read"}, "rest": {"contents": "read"}}, 4),
    "release": ({"build": {"contents": "read"}, "pypi": {"id-token": "write"}}, 6),
}
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
    text = SKILL.read_text(encoding="utf-8") + with_section("", "nextprompt.md")
    lines = re.findall(r"`(loop-close \w[^`]*)`", text)
    assert {line.split()[1] for line in lines} == {
        "check",
        "status",
        "history",
        "explain",
        "analyze",
        "accept",
        "prompt",
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
    [
        ("vendor.citation-file-format", ROOT / "CITATION.cff"),
        ("vendor.dependabot", GITHUB / "dependabot.yml"),
        ("vendor.github-issue-config", GITHUB / "ISSUE_TEMPLATE" / "config.yml"),
        *(("vendor.github-issue-forms", path) for path in FORMS),
        *(("vendor.github-workflows", path) for path in WORKFLOWS.values()),
        *(("custom.github-workflows-require-timeout", path) for path in WORKFLOWS.values()),
    ],
    ids=lambda given: getattr(given, "name", given),
)
def test_files_of_known_forms_are_valid(schema, path):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_has_pinned_actions_and_only_the_rights_that_it_needs(name):
    text = WORKFLOWS[name].read_text(encoding="utf-8")
    found = yaml.safe_load(text)
    uses = re.findall(r"uses: (.*)", text)
    assert all(map(PINNED.fullmatch, uses))
    assert found["permissions"] == {}
    rights = {job: each["permissions"] for job, each in found["jobs"].items()}
    assert (rights, len(uses)) == RIGHTS[name]
    assert "secrets." not in text
    runs = [step["run"] for job in found["jobs"].values() for step in job["steps"] if "run" in step]
    assert not [run for run in runs if "${{" in run], "an expression in a script is code from outside"
    assert any("tox run " in run for run in runs)


def test_ci_runs_each_environment_of_tox_and_one_python_more():
    jobs = yaml.safe_load(WORKFLOWS["ci"].read_text(encoding="utf-8"))["jobs"]
    pythons = jobs["python"]["strategy"]["matrix"]["python"]
    rest = jobs["rest"]["strategy"]["matrix"]
    tox = re.search(r"^env_list = (.*)$", (ROOT / "tox.ini").read_text(encoding="utf-8"), re.MULTILINE)[1]
    *tested, newest = (f"py{version.replace('.', '')}" for version in pythons)
    assert {*tested, *rest["env"], *(each["env"] for each in rest["include"])} == {*tox.split(", ")}
    assert jobs["python"]["continue-on-error"] == f"${{{{ matrix.python == '{pythons[-1]}' }}}}"
    assert newest not in tox


def test_a_release_builds_attests_and_writes_the_addresses():
    text = WORKFLOWS["release"].read_text(encoding="utf-8")
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    assert any("tox run -e build" in step.get("run", "") for step in steps)
    assert steps[-1]["with"] == {"attestations": True}
    spec = importlib.util.spec_from_file_location("listings", ROOT / "tools" / "listings.py")
    listings = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(listings)
    written = listings.with_urls((ROOT / "pyproject.toml").read_text(encoding="utf-8"), "a/b")
    urls = tomllib.loads(written)["project"]["urls"]
    assert urls["Repository"] == "https://github.com/a/b"
    assert all(url.startswith("https://github.com/a/b") for url in urls.values())


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
    texts += ["action.yml", ".pre-commit-hooks.yaml", "mkdocs.yml", *map(str, FORMS)]
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
