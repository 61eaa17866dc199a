"""The page about hosts: it lists every host, and what can be copied from it works."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from host_payloads import FOLDER

from loop_close.cli.parser import parse
from loop_close.hosts import HOSTS

PAGE = (Path(__file__).parents[2] / "docs" / "hosts.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| (.+?) \| (`\w+` \| .+) \|$", PAGE, re.MULTILINE))
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
AGENT = """\
#!/bin/sh
cat > prompt-$(ls prompt-* 2>/dev/null | wc -l)
if test -n "$FIXES"; then echo 'TOTAL = 2' > shop.py; else echo "A$(ls prompt-* | wc -l) = 0" >> shop.py; fi
"""


def test_the_table_has_a_row_for_each_host():
    assert list(ROWS) == [host.title for host in HOSTS]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_the_page_names_the_files_of_a_host_and_what_it_was_seen_to_work_with(host):
    name, file, seen = ROWS[host.title].split(" | ")
    assert (name, file) == (f"`{host.name}`", f"`{host.file}`")
    assert f"- **{host.title}** " in PAGE
    if host.user_file:
        assert f"`~/{host.user_file}`" in PAGE
    assert (seen == "not tried") == (not any((FOLDER / "recorded" / host.name).glob("*.json")))
    for version in re.findall(r"\d+\.\d+\.\d+", seen):
        assert version in (FOLDER / "recorded" / "README.md").read_text(encoding="utf-8")


def test_its_commands_are_some():
    lines = [line for line in BLOCKS[0].splitlines() if line.startswith("loop-close")]
    assert [parse(shlex.split(line, comments=True)[1:]).name for line in lines] == [
        "install",
        "install",
        "uninstall",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("fixes", "prompts", "verdict"), [("1", 1, 0), ("", 3, 3)])
def test_the_ralph_loop_ends_when_it_is_done_or_stuck(tmp_path, fixes, prompts, verdict):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "my-agent").write_text(AGENT)
    (tmp_path / "bin" / "my-agent").chmod(0o755)
    (tmp_path / "shop.py").write_text("TOTAL = 3\n")
    (tmp_path / "test_it.py").write_text("import shop\n\ndef test_it(): assert shop.TOTAL == 2\n")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "TOX_"))}
    path = os.pathsep.join((str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]))
    env = {**kept, "PATH": path, "FIXES": fixes, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["sh", "-c", BLOCKS[-1]], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300
    )
    assert len(list(tmp_path.glob("prompt-*"))) == prompts, done.stdout + done.stderr
    status = subprocess.run(["loop-close", "status"], cwd=tmp_path, env=env, capture_output=True, timeout=300)
    assert status.returncode == verdict
