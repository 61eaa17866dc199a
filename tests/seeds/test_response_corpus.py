from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from loop_close.seeds.analyzer import ENOUGH, AnalysisContext, ResponseAnalyzer

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


def test_corpus_is_large_and_each_name_is_there_once():
    assert len(ENTRIES) >= 200
    assert len({entry[:2] for entry in ENTRIES}) == len(ENTRIES)


#: Of the entries of each kind that the page of patterns takes for completed: what it found when this was written.
FOUND = {"completed": 81, "partial": 8, "asides": 13, "echoes": 0, "working": 0, "test_only": 0}


@pytest.mark.parametrize("kind", FOUND)
def test_as_many_claims_are_found_as_the_docs_say(kind):
    detected = [e for e in ENTRIES if e.kind == kind and ANALYZER.detect_completion(e.text, e.task).detected]
    assert len(detected) == FOUND[kind], [entry.name for entry in detected]


@pytest.mark.parametrize("entry", ENTRIES, ids=[f"{e.kind}: {e.name}" for e in ENTRIES])
def test_signal_agrees_with_itself(entry):
    result = ANALYZER.analyze(entry.text, entry.context)
    signal = result.completion_signal
    assert result.should_exit is signal.detected
    if signal.detected:
        assert signal.confidence >= ENOUGH
        assert result.confidence >= 40
        assert signal.keywords
        assert signal.qualifiers == ()
        assert result.exit_reason.startswith("completion: ")


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.kind == "test_only"])
def test_third_response_of_test_output_is_stuck(entry):
    assert ANALYZER.detect_completion(entry.text).test_only
    context = AnalysisContext(previous_responses=(entry.text, entry.text))
    result = ANALYZER.analyze(entry.text, context)
    assert result.stuck_signal.detected
    assert result.exit_reason.startswith("stuck: ")
