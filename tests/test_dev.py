"""The two commands of the README, as somebody with a fresh clone runs them."""

import ast
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CLONE = Path(__file__).parent.parent
SCRIPT = CLONE / "tools" / "dev.py"


def dev(*arguments: str, clone: Path = CLONE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(clone / "tools" / "dev.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8")


@pytest.mark.parametrize("minor", [6, 8, 10])
def test_old_python_can_read_it_and_say_so(minor):
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, minor))


def test_only_the_standard_library_is_imported():
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    origins = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert plain | origins <= sys.stdlib_module_names


@pytest.mark.parametrize(("arguments", "code"), [((), 64), (("tset",), 64), (("--help",), 0)])
def test_usage(arguments, code):
    done = dev(*arguments)
    assert done.returncode == code
    assert "tools/dev.py demo" in done.stdout
    assert "tools/dev.py test" in done.stdout


def test_readme_gives_these_commands_each_in_one_block():
    blocks = re.findall(r"^```sh\n(.*?)^```", (CLONE / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert "python3 tools/dev.py demo\n" in blocks
    assert "python3 tools/dev.py test\n" in blocks


def test_an_environment_of_another_python_is_made_anew():
    spec = importlib.util.spec_from_file_location("dev", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = json.loads(json.dumps(module.identity()))
    assert not module.is_outdated(made)
    assert module.is_outdated({**made, "python": [made["python"][0], "3.12.0"]})
    assert module.is_outdated({name: value for name, value in made.items() if name != "python"})


@pytest.mark.slow
def test_demo_in_a_fresh_clone_shows_the_prompt_and_is_no_failure(tmp_path):
    clone = tmp_path / "a fresh clone"
    left_out = shutil.ignore_patterns(".git", ".venv", ".tox", ".*_cache", "__pycache__", "nextprompt.md")
    shutil.copytree(CLONE, clone, ignore=left_out)
    for _ in range(2):
        done = dev("demo", clone=clone)
        assert done.returncode == 0, done.stdout + done.stderr
        prompt = (clone / "examples" / "shop" / "nextprompt.md").read_text(encoding="utf-8")
        assert prompt in done.stdout
        assert "internal error of loop-close" not in done.stdout
        assert "could not read this run" not in prompt
    assert "installing" not in done.stdout
    assert ("On Python 3.11 " in done.stdout) is (sys.version_info < (3, 12))
