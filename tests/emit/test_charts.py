"""A timeline as text."""

import pytest
from emit_harness import FORGED, document
from markdown_it import MarkdownIt
from records import failure, raised
from timelines import entry, flickering, mark

from loop_close.emit.charts import history_lines
from loop_close.emit.formats import LIMIT, summary
from loop_close.emit.timeline import timeline

RED = (entry(1, mark("t.py::a"), mark("t.py::b")), entry(2, mark("t.py::a"), passed=["t.py::b"]))


def test_history_as_text():
    assert history_lines(timeline(RED), "pytest") == [
        "",
        "<details><summary>Runs 1 to 2</summary>",
        "",
        "```text",
        "▇▄  failing tests, 2 → 1",
        "××  t.py::a",
        "×✓  t.py::b",
        "× failed, ✓ passed",
        "```",
        "",
        "</details>",
    ]


@pytest.mark.parametrize("entries", [(), RED[:1], (entry(1), entry(2))])
def test_nothing_to_compare_has_no_lines(entries):
    assert history_lines(timeline(entries), "pytest") == []


def test_history_as_text_is_of_one_source():
    lines = history_lines(timeline([*RED, entry(3, mark("x", source="mypy"))]), "pytest")
    assert not any("x" in line.split() for line in lines)
    assert history_lines(timeline(RED), "mypy") == []


def test_history_as_text_is_short():
    lines = history_lines(timeline(flickering(70, 300)), "pytest")
    assert len(lines) < 30
    assert max(map(len, lines)) < 130


@pytest.mark.parametrize("text", FORGED)
def test_history_as_text_stays_in_its_fence(text):
    lines = history_lines(timeline([entry(n, mark(f"t[{text}]")) for n in (1, 2)]), "pytest")
    tokens = [token.type for token in MarkdownIt().parse("\n".join(lines))]
    assert tokens == ["html_block", "fence", "html_block"]


def test_the_step_summary_ends_in_the_history_if_there_is_room():
    report = document(failure(raised("ValueError"), "t.py::a"))
    plain, lines = summary(report), history_lines(timeline(RED), "pytest")
    assert summary(report, 0, lines) == plain + "".join(f"{line}\n" for line in lines)
    assert summary(report, 0, ["x" * LIMIT]) == plain
