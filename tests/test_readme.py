import importlib.util
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from loop_close.settings import Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="the prompt with suspects is that of Python 3.12")
def test_the_prompt_in_the_readme_is_what_the_program_writes():
    found = subprocess.run(
        [sys.executable, str(ROOT / "tools/readme.py"), "--check"], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("command", ["demo", "test"])
def test_each_command_is_one_line_of_the_readme(command):
    lines = [line for line in README.splitlines() if line == f"python3 tools/dev.py {command}"]
    assert [shlex.split(line) for line in lines] == [["python3", "tools/dev.py", command]]


def test_the_readme_names_every_option_and_setting(pytester):
    shown = pytester.runpytest_subprocess("--help").stdout.str()
    options = set(re.findall(r"--loop-close[a-z-]*", shown))
    assert len(options) > 3
    assert options == set(re.findall(r"--loop-close[a-z-]*", README))


def test_the_readme_has_a_row_for_each_setting():
    spec = importlib.util.spec_from_file_location("readme_tool", ROOT / "tools/readme.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.with_settings(README) == README
    for field in fields(Settings):
        assert f"\n| `{field.name}` |" in README
