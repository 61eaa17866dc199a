"""``loop-close init``: what it finds, what it shows and writes, and that the checks then run."""

import subprocess
import sys

import pytest
from cli_harness import Terminal, environment, loop_close, put
from remembered import called, state_of

from loop_close.cli.install import added
from loop_close.hosts import host_named

TABLE = '[tool.loop-close.checks]\ntests = "pytest"\n'


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(tmp_path, monkeypatch):
    """An empty project in git; what is on the PATH is git, and what a test puts there."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    put(tmp_path, "bin/git", f'#!/bin/sh\nexec {_which("git")} "$@"\n').chmod(0o755)
    put(tmp_path, "bin/loop-close", "#!/bin/sh\n").chmod(0o755)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    return folder


def _which(program):
    return subprocess.run(
        ["sh", "-c", f"command -v {program}"], capture_output=True, text=True
    ).stdout.strip()


def install_program(root, *names):
    for name in names:
        put(root, f".venv/bin/{name}", "#!/bin/sh\n").chmod(0o755)


def written(root, *words):
    """Run it with a yes; what it printed and complained of."""
    code, shown, errors = called("init", "--yes", *words)
    assert code == 0
    return shown, errors


def test_an_empty_project_gets_both_files_and_a_second_time_nothing(root):
    shown, _ = written(root)
    assert (root / "pyproject.toml").read_text() == TABLE
    assert (root / ".gitignore").read_text() == "nextprompt.md\n"
    assert "--- /dev/null\n+++ pyproject.toml\n" in shown
    assert shown.endswith("written: pyproject.toml\nwritten: .gitignore\nnext: loop-close check\n")
    before = state_of(root)
    assert called("init")[:2] == (0, "nothing to change: pyproject.toml\n")
    assert state_of(root) == before


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [((), 2, "there is no terminal to ask at; --yes writes without asking"), (("--dry-run",), 0, "")],
)
def test_without_a_yes_nothing_is_written(root, words, code, told):
    before = state_of(root)
    found, shown, errors = called("init", *words)
    assert found == code
    assert "+++ pyproject.toml\n" in shown
    assert told in errors
    assert state_of(root) == before


@pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals of this kind")
@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"\n", 2)])
def test_a_terminal_is_asked(root, answer, code):
    with Terminal("init", cwd=root) as terminal:
        terminal.expect(b"write these? [y/N] ")
        assert not (root / "pyproject.toml").exists()
        terminal.type(answer)
        assert terminal.ended()[0] == code
    assert (root / "pyproject.toml").exists() is (code == 0)


def test_the_prompt_is_ignored_once_under_its_own_name_and_only_in_git(root, tmp_path):
    put(root, ".gitignore", b"dist/\r\n*.md")
    written(root)
    assert (root / ".gitignore").read_bytes() == b"dist/\r\n*.md"
    put(root, "pyproject.toml", "[tool.loop-close]\nfile = 'out/next.txt'\n")
    written(root)
    assert (root / ".gitignore").read_bytes() == b"dist/\r\n*.md\r\nout/next.txt\r\n"
    (root / ".gitignore").unlink()
    (root / ".git").rename(tmp_path / "elsewhere")
    written(root)
    assert not (root / ".gitignore").exists()


def test_tools_that_are_configured_and_there_become_checks_in_the_text_as_it_was(root):
    text = "# ours\r\n[tool.mypy]\r\nfiles = ['shop']\r\n[tool.ruff]"
    put(root, "pyproject.toml", text.encode())
    put(root, "tox.ini", "[tox]\nenv_list = py\n")
    put(root, "noxfile.py", "")
    put(root, ".pre-commit-config.yaml", "repos: []\n")
    install_program(root, "mypy", "ruff", "tox", "nox", "pre-commit", "pyright")
    _, errors = written(root)
    assert errors == ""
    new = (root / "pyproject.toml").read_bytes().decode()
    assert new.startswith(f"{text}\r\n\r\n[tool.loop-close.checks]\r\n")
    assert new.partition("checks]\r\n")[2].splitlines() == [
        'tests = "pytest"',
        'mypy = "mypy"',
        'ruff = "ruff check ."',
        'tox = "tox -p"',
        'nox = "nox"',
        'pre-commit = "pre-commit run --all-files"',
    ]


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"mypy.ini": "[mypy]\n"}, 'mypy = "mypy ."'),
        ({"mypy.ini": "[mypy]\n", "src/shop.py": ""}, 'mypy = "mypy src"'),
        ({"mypy.ini": "[mypy]\nfiles = a.py\n"}, 'mypy = "mypy"'),
        ({"pyrightconfig.json": "{}"}, 'pyright = "pyright"'),
        ({"tox.ini": "[flake8]\n"}, ""),
        ({".pre-commit-config.yaml": "repos:\n- hooks:\n  - id: loop-close-check\n"}, ""),
    ],
)
def test_other_files_that_configure_a_tool(root, files, command):
    for name, text in files.items():
        put(root, name, text)
    install_program(root, "mypy", "pyright", "tox", "pre-commit")
    written(root)
    assert (root / "pyproject.toml").read_text() == f"{TABLE}{command}{command and chr(10)}"


def test_a_tool_that_is_nowhere_is_named_and_is_no_check(root):
    put(root, "pyproject.toml", "[tool.pyright]\n")
    assert written(root)[1] == "loop-close: no check for [tool.pyright]: pyright is not installed\n"
    assert (root / "pyproject.toml").read_text() == f"[tool.pyright]\n\n{TABLE}"


def test_checks_that_are_there_are_left_alone(root):
    text = "[tool]\nloop-close = { checks = { all = 'make' } }\n"
    put(root, "pyproject.toml", text)
    put(root, "mypy.ini", "[mypy]\n")
    written(root)
    assert (root / "pyproject.toml").read_text() == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[tool]\nloop-close = { budget = 900 }\n", 'add by hand: checks = { tests = "pytest" }'),
        ("[tool.loop-close\n", "pyproject.toml is not valid TOML"),
        ("[tool.loop-close]\nbudget = 1\n", "budget"),
    ],
)
def test_what_cannot_be_changed_is_refused_and_nothing_else_is_written(root, text, why):
    put(root, "pyproject.toml", text)
    before = state_of(root)
    code, shown, errors = called("init", "--yes")
    assert (code, shown) == (64, "")
    assert why in errors
    assert state_of(root) == before


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_out_of_the_project_and_read_only_files_are_refused_as_by_install(root, tmp_path):
    put(tmp_path, "outside", "")
    (root / ".gitignore").symlink_to(tmp_path / "outside")
    assert "a symbolic link points outside" in called("init", "--yes")[2]
    (root / ".gitignore").unlink()
    put(root, ".gitignore", "").chmod(0o444)
    assert "read-only; make it writable first" in called("init", "--yes")[2]
    assert not (root / "pyproject.toml").exists()


@pytest.mark.parametrize(
    ("sign", "name"),
    [
        (f"{folder}/x", folder.strip("."))
        for folder in (".claude", ".codex", ".gemini", ".openhands", ".cursor")
    ]
    + [(".clinerules/x.md", "cline"), (".github/copilot-instructions.md", "copilot")],
)
def test_the_hook_of_a_host_that_is_seen_is_that_of_install(root, sign, name):
    put(root, sign, "")
    written(root)
    host = host_named(name)
    assert (root / host.file).read_text() == added(host, "")


def test_the_host_of_the_environment_counts_and_others_that_run_its_hook_do_not(root, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    put(root, ".cursor/rules", "")
    _, errors = written(root)
    assert (root / ".claude/settings.json").is_file()
    assert not (root / ".cursor/hooks.json").exists()
    assert "no hook for Cursor, as it may run that of Claude Code" in errors


@pytest.mark.slow
def test_the_checks_that_it_wrote_run(tmp_path):
    pytest.importorskip("tox")
    pytest.importorskip("mypy")
    root = tmp_path / "shop"
    put(root, "tox.ini", "[tox]\nno_package = true\nenv_list = a\n[testenv]\ncommands = python -c pass\n")
    put(root, "pyproject.toml", "[tool.mypy]\nstrict = true\n")
    put(root, "test_shop.py", "def test_it() -> None:\n    assert 1 + 1 == 2\n")
    put(root, ".gitignore", ".tox/\n.mypy_cache/\n__pycache__/\n")
    git(root, "init", "-q")
    env = environment(VIRTUAL_ENV=sys.prefix, XDG_STATE_HOME=str(tmp_path / "state"))
    assert loop_close("init", "--yes", cwd=root, env=env).returncode == 0
    done = loop_close("check", cwd=root, env=env)
    assert (done.returncode, done.stderr) == (0, b""), done.stdout
    assert b"done: green on these files: tests, mypy, tox" in done.stdout, done.stdout
    put(root, "test_shop.py", "def test_it() -> None:\n    assert 1 + '1' == 2\n")
    done = loop_close("check", cwd=root, env=env)
    assert done.returncode == 1
    prompt = (root / "nextprompt.md").read_text()
    assert "mypy" in prompt
    assert "test_it" in prompt
    assert "nextprompt.md" not in git(root, "status", "--short", "-uall")
