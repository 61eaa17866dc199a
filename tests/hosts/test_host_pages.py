"""The pages about hosts: every host has one, and what can be copied from them works."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from host_payloads import FOLDER

from loop_close.cli.config_file import added
from loop_close.cli.parser import parse
from loop_close.hosts import all_hosts

PAGES = Path(__file__).parents[2] / "docs" / "hosts"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
AGENT = """\
#!/bin/sh
cat > prompt-$(ls prompt-* 2>/dev/null | wc -l)
if test -n "$FIXES"; then echo 'TOTAL = 2' > shop.py; else echo "A$(ls prompt-* | wc -l) = 0" >> shop.py; fi
"""


def blocks(name, language):
    return re.findall(rf"```{language}\n(.*?)```", TEXTS[name], re.DOTALL)


def test_every_host_has_a_page_that_is_listed():
    assert set(TEXTS) == {*(host.name for host in all_hosts()), "aider", "ralph", "README"}
    for name in TEXTS.keys() - {"README"}:
        assert f"[{name}.md]({name}.md)" in TEXTS["README"]


@pytest.mark.parametrize("host", all_hosts(), ids=lambda host: host.name)
def test_page_shows_what_is_installed_and_where(host):
    language = "sh" if host.config.script else "json"
    assert added(host.name, host.config, None) in blocks(host.name, language)
    assert f"`{host.config.project}`" in TEXTS[host.name]
    assert f"`~/{host.config.user or host.config.project}`" in TEXTS[host.name]
    assert f"`{host.config.project}`" in TEXTS["README"]
    assert TEXTS[host.name].startswith(f"# {host.title}\n")


@pytest.mark.parametrize("host", all_hosts(), ids=lambda host: host.name)
def test_page_says_whether_that_was_seen_to_work(host):
    text = " ".join(TEXTS[host.name].split())
    is_recorded = any((FOLDER / "recorded" / host.name).glob("*.json"))
    assert ("Seen to work with" in text) == is_recorded
    assert ("documentation alone" in text) == (not is_recorded)
    (row,) = re.findall(rf"^\| {host.title} \|.*\| (.*?) \|$", TEXTS["README"], re.MULTILINE)
    for version in re.findall(r"\d+\.\d+\.\d+", row):
        assert version in text
        assert version in (FOLDER / "recorded" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted({*(host.name for host in all_hosts()), "README"}))
def test_commands_of_the_pages_are_some(name):
    lines = [
        line for block in blocks(name, "sh") for line in block.splitlines() if line.startswith("loop-close")
    ]
    assert {line.split()[1] for line in lines} == {"install", "uninstall"}
    for line in lines:
        options = parse(shlex.split(line)[1:])
        assert options.host == (name if name != "README" else "claude")


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_links_lead_somewhere(name):
    for target in re.findall(r"\]\(([^)#]+)", TEXTS[name]):
        assert (PAGES / target).exists()


@pytest.mark.slow
@pytest.mark.parametrize(("fixes", "prompts", "verdict"), [("1", 1, 0), ("", 3, 3)])
def test_loop_ends_when_it_is_done_or_stuck(tmp_path, fixes, prompts, verdict):
    (loop,) = blocks("ralph", "sh")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "my-agent").write_text(AGENT)
    (tmp_path / "bin" / "my-agent").chmod(0o755)
    (tmp_path / "shop.py").write_text("TOTAL = 3\n")
    (tmp_path / "test_it.py").write_text("import shop\n\ndef test_it(): assert shop.TOTAL == 2\n")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "TOX_"))}
    path = os.pathsep.join((str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]))
    env = {**kept, "PATH": path, "FIXES": fixes, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["sh", "-c", loop], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300
    )
    assert len(list(tmp_path.glob("prompt-*"))) == prompts, done.stdout + done.stderr
    status = subprocess.run(["loop-close", "status"], cwd=tmp_path, env=env, capture_output=True, timeout=300)
    assert status.returncode == verdict
