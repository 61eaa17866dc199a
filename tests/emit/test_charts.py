"""A timeline as a picture, and as text."""

from xml.etree import ElementTree

import pytest
from emit_harness import FORGED, document
from markdown_it import MarkdownIt
from records import failure, raised
from timelines import edited, entry, flickering, mark

from loop_close.emit.charts import SVG_BEGINNING, history_lines, state_words, svg
from loop_close.emit.formats import LIMIT, summary
from loop_close.emit.timeline import timeline_of

SPACE = "{http://www.w3.org/2000/svg}"
RED = (entry(1, mark("t.py::a"), mark("t.py::b")), entry(2, mark("t.py::a"), outcomes={"t.py::b": "passed"}))


def drawn(*entries, project="shop"):
    return ElementTree.fromstring(svg(timeline_of(entries, project)))


def texts(picture):
    return [each.text for each in picture.iter(f"{SPACE}text")]


def test_the_picture_has_a_bar_a_run_and_a_cell_an_outcome():
    picture = drawn(*RED)
    bars = [each for each in picture.iter(f"{SPACE}rect") if each.get("class") == "b"]
    cells = [(each.get("class"), each.get("d").count("M")) for each in picture.iter(f"{SPACE}path")]
    assert len(bars) == 2
    assert cells == [("F", 2), ("F", 1), ("P", 1)]
    assert {"t.py::a", "t.py::b", "××", "×", "✓", "shop"} <= set(texts(picture))


def test_the_picture_shows_verdicts_edits_and_signals():
    edits, signals = edited("f"), [("no-edit", "x")]
    picture = drawn(
        entry(1),
        entry(2, mark("a"), edits=edited("f", kind="ineffective")),
        entry(3, mark("a"), edits=edits, signals=signals, verdict="stuck"),
    )
    assert [each for each in texts(picture) if each in ("✓", "→", "■", "▲", "△", "◆")] == [
        "✓",
        "→",
        "△",
        "■",
        "▲",
        "◆",
    ]


def test_the_picture_explains_each_glyph_in_it():
    edits, signals = edited("f"), [("no-edit", "x")]
    picture = drawn(entry(1), entry(2, mark("a"), edits=edits, signals=signals, verdict="stuck"))
    assert texts(picture)[-2:] == ["× failed   · did not fail", "✓ green   ■ stuck   ▲ edit   ◆ signal"]
    lowest = max(float(each.get("y")) for each in picture.iter(f"{SPACE}text"))
    assert lowest < float(picture.get("height"))


def test_the_picture_says_what_it_shows():
    picture = drawn(*RED)
    assert picture.get("role") == "img"
    assert picture.find(f"{SPACE}title").text == "shop: no progress after run 2 of pytest: 1 test fails"


@pytest.mark.parametrize("entries", [(), (entry(1),)])
def test_a_picture_without_a_failure(entries):
    assert "No test failed in these runs." in texts(drawn(*entries))


def test_the_picture_of_many_runs_is_bounded():
    text = svg(timeline_of(flickering(70, 200)))
    assert len(text) < 150_000
    assert "more tests not shown" in text


def test_the_picture_begins_so_that_it_is_known_as_ours():
    assert svg(timeline_of(RED)).startswith(SVG_BEGINNING)


@pytest.mark.parametrize("text", FORGED)
def test_a_picture_of_any_text_is_xml_without_markup_of_others(text):
    picture = drawn(entry(1, mark(f"t.py::a[{text}]"), source=text or "x"), project=text)
    kinds = {each.tag.removeprefix(SPACE) for each in picture.iter()}
    assert kinds <= {"svg", "title", "desc", "style", "rect", "path", "text"}


def test_the_same_runs_give_the_same_bytes():
    assert svg(timeline_of(RED)) == svg(timeline_of(RED))


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ((), "no runs recorded"),
        ((entry(1),), "green after run 1 of pytest: no test fails"),
        ((entry(3, mark("a"), mark("b"), verdict="stuck"),), "stuck after run 3 of pytest: 2 tests fail"),
        ((entry(4, state="running"),), "running after run 4 of pytest"),
    ],
)
def test_where_the_last_run_stands(entries, said):
    assert state_words(timeline_of(entries)) == said


def test_history_as_text():
    assert history_lines(timeline_of(RED), "pytest") == [
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
    assert history_lines(timeline_of(entries), "pytest") == []


def test_history_as_text_is_of_one_source():
    lines = history_lines(timeline_of([*RED, entry(1, mark("x"), source="mypy")]), "pytest")
    assert not any("x" in line.split() for line in lines)
    assert history_lines(timeline_of(RED), "mypy") == []


def test_history_as_text_is_short():
    lines = history_lines(timeline_of(flickering(70, 300)), "pytest")
    assert len(lines) < 30
    assert max(map(len, lines)) < 130


@pytest.mark.parametrize("text", FORGED)
def test_history_as_text_stays_in_its_fence(text):
    lines = history_lines(timeline_of([entry(n, mark(f"t[{text}]")) for n in (1, 2)]), "pytest")
    tokens = [token.type for token in MarkdownIt().parse("\n".join(lines))]
    assert tokens == ["html_block", "fence", "html_block"]


def test_the_step_summary_ends_in_the_history_if_there_is_room():
    report = document(failure(raised("ValueError"), "t.py::a"))
    plain, lines = summary(report), history_lines(timeline_of(RED), "pytest")
    assert summary(report, 0, lines) == plain + "".join(f"{line}\n" for line in lines)
    assert summary(report, 0, ["x" * LIMIT]) == plain
