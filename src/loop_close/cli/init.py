"""``loop-close init``: what a project needs, shown as diffs, and written after a yes."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from loop_close import gate
from loop_close.baseline import table_at
from loop_close.checks import DEFAULT, root_of, variables
from loop_close.cli import Streams, as_usage_error, project_at
from loop_close.cli.install import added, carry_out, difference, plan, tell_the_rest
from loop_close.hosts import HOSTS, ConfigError, Host
from loop_close.provenance import agent_of
from loop_close.tree import TreeError, git

_NOT_WRITTEN = 2
#: By tool: its command, and the files beside ``pyproject.toml`` that configure it, with what they have to contain.
_TOOLS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "mypy": ("mypy", {"mypy.ini": "", ".mypy.ini": ""}),
    "pyright": ("pyright", {"pyrightconfig.json": ""}),
    "ruff": ("ruff check .", {"ruff.toml": "", ".ruff.toml": ""}),
    "tox": ("tox -p", {"tox.ini": r"(?m)^\[(tox|testenv)", "tox.toml": ""}),
    "nox": ("nox", {"noxfile.py": ""}),
    # A check that runs our hook would be a check inside a check.
    "pre-commit": (
        "pre-commit run --all-files",
        {".pre-commit-config.yaml": r"(?s)\A(?!.*\bid: *[\"']?loop-close)"},
    ),
}
#: The settings that name mypy's files; without one the command names them.
_FILES = re.compile(r"(?m)^(files|packages|modules)\b")
#: Hosts that may run the hooks in Claude Code's file, too.
_FOLLOWERS = ("cursor", "copilot")


def init(options: argparse.Namespace, streams: Streams) -> int:
    """Show what the project needs, and write it after a yes.

    :returns: 0 if it is written or there is nothing to write, 2 if it is not.
    :raises UsageError: where a file cannot be changed; of several, those are written that are named before.
    """
    root = root_of(Path.cwd())
    name = _to_ignore(root)
    hosts = list(_hosts(root, streams))
    changes: dict[str, Callable[[str], str]] = {"pyproject.toml": partial(_with_checks, root, streams)}
    if name:
        changes[".gitignore"] = lambda text: _with_lines(text, name)
    changes |= {host.file: partial(added, host) for host in hosts}
    plans = [plan(root, file, change, file) for file, change in changes.items()]
    needed = [each for each in plans if each.new != each.old]
    streams.say(*map(difference, plans))
    if options.dry_run and needed:
        streams.say("nothing was written (--dry-run)")
    if options.dry_run or not needed:
        return 0
    if not options.yes and not _has_yes(streams):
        return _NOT_WRITTEN
    for each in needed:
        carry_out(each)
        streams.say(f"written: {each.shown}")
    for host in hosts:
        tell_the_rest(host, streams)
    streams.say(f"next: {gate.CHECK}")
    return 0


def _has_yes(streams: Streams) -> bool:
    if not streams.input.isatty():
        streams.complain("nothing was written: there is no terminal to ask at; --yes writes without asking")
        return False
    streams.put("write these? [y/N] ")
    if streams.input.readline().strip().lower() in (b"y", b"yes"):
        return True
    streams.say("nothing was written")
    return False


def _with_lines(text: str, *lines: str) -> str:
    """The text with lines at its end, in its line breaks."""
    end = "\r\n" if "\r\n" in text else "\n"
    gap = end if text and not text.endswith("\n") else ""
    return f"{text}{gap}{end.join(lines)}{end}"


def _to_ignore(root: Path) -> str:
    """The path of the next prompt from the root, if git does not ignore it yet; empty outside of a repository, too.

    :raises UsageError: for settings that are wrong.
    """
    prompt = project_at(root).prompt
    if not prompt.is_relative_to(root):
        return ""
    name = prompt.relative_to(root).as_posix()
    with as_usage_error(TreeError):
        is_ignored = not git(root, "rev-parse", "--git-dir") or git(root, "check-ignore", "--", name)
    return "" if is_ignored else name


def _hosts(root: Path, streams: Streams) -> Iterator[Host]:
    """The hosts of the agents that are used here: that in whose shell this runs, and those with a folder."""
    agent, _ = agent_of(os.environ)
    signs = {host.name: f"{Path(host.file).parts[0]}/" for host in HOSTS} | {"copilot": ".github/copilot*"}
    seen = [host for host in HOSTS if host.name == agent or any(root.glob(signs[host.name]))]
    for host in seen:
        if host.name in _FOLLOWERS and seen[0].name == "claude":
            streams.complain(f"no hook for {host.title}, as it may run that of Claude Code")
        else:
            yield host


# --- the checks


def _with_checks(root: Path, streams: Streams, text: str) -> str:
    """The text of ``pyproject.toml`` with a table of checks at its end; one that has checks is returned unchanged.

    :raises ConfigError: when a table cannot be put there.
    """
    document = tomllib.loads(text)
    if "checks" in table_at(document, "tool", "loop-close"):
        return text
    checks = {**DEFAULT, **dict(_found(root, document, streams))}
    rows = [f"{name} = {json.dumps(command)}" for name, command in checks.items()]
    new = _with_lines(text, *([""] if text else []), "[tool.loop-close.checks]", *rows)
    try:
        tomllib.loads(new)
    except tomllib.TOMLDecodeError:  # a table that is written inline takes no other
        raise ConfigError(f"add by hand: checks = {{ {', '.join(rows)} }}") from None
    return new


def _found(root: Path, document: Mapping[str, Any], streams: Streams) -> Iterator[tuple[str, str]]:
    """The checks of the tools that are configured and installed."""
    programs = variables(root, os.environ)["PATH"]
    for tool, (command, files) in _TOOLS.items():
        there = {file: root / file for file in files if (root / file).is_file()}
        texts = {file: path.read_text(encoding="utf-8", errors="replace") for file, path in there.items()}
        places = [file for file, text in texts.items() if re.search(files[file], text)]
        places += [f"[tool.{tool}]"] * (tool in table_at(document, "tool"))
        if not places:
            continue
        if shutil.which(tool, path=programs) is None:
            streams.complain(f"no check for {places[0]}: {tool} is not installed")
            continue
        names = "\n".join([*texts.values(), *table_at(document, "tool", tool)])
        if tool == "mypy" and not _FILES.search(names):
            command = f"mypy {'src' if (root / 'src').is_dir() else '.'}"
        yield tool, command
