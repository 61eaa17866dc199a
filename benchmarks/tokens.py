"""Very many root causes: how much there is to read, and how much of it says something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks import suites
from benchmarks.measure import run
from benchmarks.rows import Bench, Row
from benchmarks.tokenizer import count_tokens


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
