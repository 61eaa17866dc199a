from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from loop_close.agent.analyzer import ResponseAnalyzer
from loop_close.agent.response import ENOUGH, AnalysisContext

CORPUS = Path(__file__).parent / "corpus"
ANALYZER = ResponseAnalyzer()


class Entry(NamedTuple):
    """A response of the corpus: ``%% name``, then ``%task`` and ``%expect`` where there are any, then its text."""

    kind: str
    name: str
    task: str
    text: str

    @property
    def context(self) -> AnalysisContext:
        return AnalysisContext(task_description=self.task)


def entries() -> Iterator[Entry]:
    for path in sorted(CORPUS.glob("*.md")):
        for part in path.read_text(encoding="utf-8").removeprefix("%% ").split("\n%% "):
            name, *lines = part.split("\n")
            told = dict(line[1:].split(" ", 1) for line in lines if line.startswith("%"))
            text = "\n".join(line for line in lines if not line.startswith("%"))
            yield Entry(told.get("expect", path.stem), name, told.get("task", ""), text)


ENTRIES = list(entries())


def of(*kinds: str) -> pytest.MarkDecorator:
    chosen = [entry for entry in ENTRIES if entry.kind in kinds]
    assert chosen
    return pytest.mark.parametrize("entry", chosen, ids=[f"{e.kind}: {e.name}" for e in chosen])


def test_corpus_is_large_and_each_name_is_there_once():
    assert len(ENTRIES) >= 200
    assert len({entry[:2] for entry in ENTRIES}) == len(ENTRIES)


@of("completed")
def test_completion_is_detected(entry):
    signal = ANALYZER.detect_completion(entry.text, entry.task)
    assert signal.detected, signal
    assert signal.confidence >= ENOUGH
    assert signal.keywords
    assert signal.qualifiers == ()


@of("completed")
def test_completion_exits(entry):
    result = ANALYZER.analyze(entry.text, entry.context)
    assert result.should_exit
    assert result.exit_reason.startswith("completion: ")
    assert result.confidence >= 40


@of("partial", "asides", "echoes", "working", "test_only")
def test_nothing_else_is(entry):
    result = ANALYZER.analyze(entry.text, entry.context)
    assert not result.completion_signal.detected, result.completion_signal
    assert not result.should_exit


@of("partial")
def test_what_is_taken_back_is_quoted(entry):
    signal = ANALYZER.detect_completion(entry.text, entry.task)
    assert signal.confidence < ENOUGH
    assert not signal.keywords or signal.qualifiers, signal


@of("test_only")
def test_test_output_alone_is_seen(entry):
    assert ANALYZER.detect_completion(entry.text).test_only


@of("asides", "working", "echoes")
def test_other_responses_are_not_test_output(entry):
    assert not ANALYZER.detect_completion(entry.text).test_only


@of("test_only")
def test_third_in_a_row_is_stuck(entry):
    context = AnalysisContext(previous_responses=(entry.text, entry.text))
    result = ANALYZER.analyze(entry.text, context)
    assert result.stuck_signal.detected
    assert result.exit_reason.startswith("stuck: ")
