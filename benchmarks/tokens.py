"""How much there is to read, and how much of it says something: of very many root causes, and for an agent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks import suites
from benchmarks.measure import run
from benchmarks.rows import Bench, Row
from benchmarks.tokenizer import count_tokens
from loop_close.files import read_failed

ROOT = Path(__file__).parent.parent
LEFT_BEHIND = shutil.ignore_patterns(".*", "__pycache__", "nextprompt.md", "out")


def tokens(bench: Bench) -> Iterator[Row]:
    """2,000 failures with nothing in common: tokens of the prompt, of the peer's output, of pytest's own."""
    number = max(100, bench.tests(2_000))
    folder = bench.folder / "distinct"
    suites.distinct(folder, tests=number)
    messages = suites.distinct_messages(number)
    scenario = f"{number:,} distinct"
    run(bench.asked("-q", "--tb=short"), folder, bench.output)
    prompt = (folder / "nextprompt.md").read_text(encoding="utf-8")
    kept = _kept(folder / ".loop-close" / "report.json", messages)
    yield Row(
        scenario, "the next prompt", _tokens(prompt), "<= 2,000", f"{_said(prompt, messages)} of the messages"
    )
    yield Row(
        scenario, "messages kept in the full report", f"{kept:,} of {number:,}", "all", "named in the prompt"
    )
    for name, command in _others(bench).items():
        run(command, folder, bench.output)
        text = bench.output.read_text(encoding="utf-8", errors="replace")
        yield Row(scenario, name, _tokens(text), "", f"{_said(text, messages)} of the messages")


def terminal(bench: Bench) -> Iterator[Row]:
    """What an agent reads of one run: sixteen root causes, and a green run."""
    yield from _read(bench, "16 causes", ROOT / "tests" / "projects" / "sixteen", [])
    shop = ROOT / "examples" / "shop"
    folder = _copy(bench, shop)
    run(bench.asked("-q"), folder, bench.output)
    failed = read_failed(folder)
    green = [f"--deselect={each}" if "::" in each else f"--ignore={each}" for each in failed]
    yield from _read(bench, "green", shop, green)


def _read(bench: Bench, scenario: str, project: Path, arguments: list[str]) -> Iterator[Row]:
    """Each in a fresh copy, so that no run remembers another."""
    shown = "--loop-close-terminal=prompt"
    for options in ((shown,), (shown, "--loop-close-budget=1300"), ("--loop-close-terminal=full",)):
        folder = _copy(bench, project)
        run(bench.asked("-q", *options, *arguments), folder, bench.output)
        is_full = shown not in options
        text = bench.output.read_text(encoding="utf-8")
        text += (folder / "nextprompt.md").read_text(encoding="utf-8") * is_full
        what = " ".join(each.removeprefix("--loop-close-") for each in options) + ", nextprompt.md" * is_full
        yield Row(scenario, what, _tokens(text), "" if is_full else "< the peer's")
    for name, command in {"pytest -q": bench.env.command("-q"), **_others(bench)}.items():
        run([*command, *arguments], _copy(bench, project), bench.output)
        yield Row(scenario, name, _tokens(bench.output.read_text(encoding="utf-8", errors="replace")))


def _copy(bench: Bench, project: Path) -> Path:
    folder = bench.folder / project.name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(project, folder, ignore=LEFT_BEHIND)
    return folder


def _others(bench: Bench) -> dict[str, list[str]]:
    commands = {"pytest -q --tb=short": bench.env.command("-q", "--tb=short")}
    if bench.peer is not None:
        commands[bench.peer.name] = bench.peer.command()
    return commands


def _kept(report: Path, messages: list[str]) -> int:
    causes = json.loads(report.read_text(encoding="utf-8"))["root_causes"]
    return len(set(messages) & {cause["message"] for cause in causes})


def _tokens(text: str) -> str:
    return f"{count_tokens(text):,} tokens"


def _said(text: str, messages: list[str]) -> int:
    return sum(message in text for message in messages)
