"""``loop-close install`` and ``uninstall``: whose file, what is shown, what is written, and what is refused."""

import json
import os
import stat

import pytest
from remembered import called

from loop_close.cli.install import added
from loop_close.hosts import HOSTS, host_named

JSON_HOSTS = [host.name for host in HOSTS if not host.script]
NAMES = [host.name for host in HOSTS]


def fresh(name):
    return added(host_named(name), "")


every_host = pytest.mark.parametrize("name", NAMES)
both_scopes = pytest.mark.parametrize("scope", [(), ("--user",)], ids=["project", "user"])


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """A project, with a home folder beside it, and the command on the PATH."""
    for name in ("home", "bin", "shop/.git", "shop/src"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "bin" / "loop-close").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "loop-close").chmod(0o755)
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "shop"


def place(root, name, scope=()):
    """Where the host's file is."""
    host = host_named(name)
    return root.parent / "home" / (host.user_file or host.file) if scope else root / host.file


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def tree(folder):
    """Everything below: content, permissions, where links lead."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kind = os.readlink(path) if path.is_symlink() else path.is_dir() or path.read_bytes()
        found[path.relative_to(folder).as_posix()] = (kind, stat.S_IMODE(path.lstat().st_mode))
    return found


def refused(root, *words):
    """What it complains of; it has changed nothing and shown nothing."""
    before = tree(root.parent)
    code, shown, errors = called(*words)
    assert (code, shown) == (64, "")
    assert tree(root.parent) == before
    assert errors.startswith("loop-close: ")
    return errors.removeprefix("loop-close: ").removesuffix("\n")


@every_host
@both_scopes
def test_hook_comes_and_goes_without_a_trace(root, name, scope):
    before, path = tree(root.parent), place(root, name, scope)
    shown_path = path.relative_to(root.parent / "home" if scope else root)
    code, shown, _ = called("install", "--host", name, "--dry-run", *scope)
    assert code == 0
    assert shown.endswith("\nnothing was written (--dry-run)\n")
    assert tree(root.parent) == before
    code, shown, _ = called("install", "--host", name, *scope)
    assert code == 0
    assert shown.startswith("--- /dev/null\n+++ ")
    assert shown.endswith(f"\ninstalled: {'~/' if scope else ''}{shown_path}\n")
    assert path.read_text() == fresh(name)
    assert "\n+++ /dev/null\n" in called("uninstall", "--host", name, "--dry-run", *scope)[1]
    assert path.read_text() == fresh(name)
    code, shown, errors = called("uninstall", "--host", name, *scope)
    assert (code, errors) == (0, "")
    assert shown.endswith(f"\nuninstalled: {'~/' if scope else ''}{shown_path}\n")
    assert tree(root.parent) == before


#: What can be put in, in the words of the command line.
EVERYTHING = [("--agents-md",), *(("--host", name) for name in NAMES)]


def test_all_of_it_comes_and_goes_beside_what_others_wrote(root):
    for name in JSON_HOSTS:
        put(place(root, name), b'{\r\n\t"version": 1,\r\n\t"hooks": {"Other": []}\r\n}\r\n')
    put(root / "AGENTS.md", "# Agents\n\nUse tabs.\n")
    for words in EVERYTHING:
        assert called("install", *words)[0] == 0
    for words in EVERYTHING:
        assert called("install", *words)[1].startswith("nothing to change: ")
    for words in EVERYTHING:
        assert called("uninstall", *words)[0] == 0
    for name in JSON_HOSTS:
        assert json.loads(place(root, name).read_bytes()) == {"version": 1, "hooks": {"Other": []}}
    assert (root / "AGENTS.md").read_text() == "# Agents\n\nUse tabs.\n"
    assert not place(root, "cline").exists()


def test_agents_md_names_the_prompt_of_the_settings(root):
    put(root / "pyproject.toml", "[tool.loop-close]\nfile = 'build/next.md'\n")
    called("install", "--agents-md")
    assert "`build/next.md`" in (root / "AGENTS.md").read_text()
    put(root / "pyproject.toml", "[tool.loop-close]\nfile = 7\n")
    assert "file" in refused(root, "install", "--agents-md")
    assert called("uninstall", "--agents-md")[1].endswith("uninstalled: AGENTS.md\n")


def test_credentials_and_controls_are_not_shown(root):
    key = "sk-ant-api03-" + "a1B2c3D4e5F6g7H8" * 4
    path = put(
        place(root, "claude"),
        json.dumps({"env": {"ANTHROPIC_API_KEY": key, "x": "\x9b31m\u202e"}}, ensure_ascii=False),
    )
    code, shown, _ = called("install", "--host", "claude")
    assert code == 0
    assert key not in shown
    assert "\x9b" not in shown
    assert "\\x9b31m\\u202e" in shown
    assert key in path.read_text()


def test_program_of_others_is_left_alone(root):
    put(place(root, "cline"), "#!/bin/sh\necho '{}'\n").chmod(0o755)
    assert refused(root, "install", "--host", "cline") == (
        ".clinerules/hooks/PostToolUse: this hook is not from loop-close; to use both, make it pass its standard"
        " input to `loop-close hook --host cline` and print that command's output (nothing was changed)"
    )


def test_folder_that_a_variable_moves_is_told(root, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", str(root / "elsewhere"))
    _, _, errors = called("install", "--host", "codex", "--user")
    assert f"CODEX_HOME is set: Codex reads its configuration from {root / 'elsewhere'}" in errors
    assert called("install", "--host", "claude", "--user")[2] == ""


def test_command_that_is_not_on_the_path_is_told(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "loop-close is not on the PATH" in called("install", "--host", "claude")[2]


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "give --host NAME or --agents-md"),
        (("--agents-md", "--user"), "--agents-md is for one project: leave --user out"),
        (("--agents-md", "--host", "claude"), "give --host NAME or --agents-md"),
        (
            ("--host", "aider"),
            "unknown host 'aider'; known hosts: claude, codex, gemini, openhands, cursor, cline, copilot",
        ),
        (("--host", "claude", "extra"), "unknown option or argument: extra"),
    ],
)
def test_wrong_words(root, command, words, why):
    assert refused(root, command, *words).startswith(why)


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_link_out_of_the_project_is_refused(root, command):
    path = place(root, "claude")
    outside = put(root.parent / "outside", fresh("claude"))
    path.parent.mkdir(parents=True)
    path.symlink_to(outside)
    assert f"a symbolic link points outside {root}" in refused(root, command, "--host", "claude")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipe_and_read_only_file_are_refused(root):
    put(place(root, "claude"), "{}").chmod(0o444)
    assert "read-only; make it writable first" in refused(root, "install", "--host", "claude")
    place(root, "claude").unlink()
    os.mkfifo(place(root, "claude"))
    assert "not a regular file of a configuration" in called("install", "--host", "claude")[2]


@pytest.mark.parametrize(
    ("variable", "value", "known"),
    [
        ("CLAUDECODE", "1", " (CLAUDECODE is set: --host claude)"),
        ("AI_AGENT", "github-copilot-cli", " (AI_AGENT is set: --host copilot)"),
        ("AI_AGENT", "1", ""),
    ],
)
def test_the_agent_that_runs_it_is_named(root, monkeypatch, variable, value, known):
    monkeypatch.setenv(variable, value)
    assert refused(root, "install") == f"give --host NAME or --agents-md{known}"
