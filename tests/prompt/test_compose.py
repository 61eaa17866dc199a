import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from records import any_text, failure, failures, frame, hostile, observed, raised, source

from loop_close.app import close
from loop_close.model import Counts, Observation, Report
from loop_close.prompt.compose import compose
from loop_close.prompt.section import Section
from loop_close.prompt.sections import DEFAULT_SECTIONS
from loop_close.text.budget import estimate_tokens
from loop_close.text.sanitize import sanitize

TITLES = [s.title for s in DEFAULT_SECTIONS if s.title]
_CAUSE = re.compile(r"(\d+)\. ")


def headings(text):
    """(level, content) of every heading that a reader of Markdown sees."""
    tokens = MarkdownIt("commonmark").parse(text)
    pairs = itertools.pairwise(tokens)
    return [(a.tag, b.content) for a, b in pairs if a.type == "heading_open"]


def check(text, budget):
    """What every prompt keeps to."""
    assert estimate_tokens(text) <= budget
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert text == sanitize(text)
    found = headings(text)
    assert found[0][0] == "h1"
    assert re.match(r"No stall detected: |Stall detected: ", found[0][1])
    titles = [content for tag, content in found if tag == "h2"]
    assert titles == [t for t in TITLES if t in titles]
    causes = [content for tag, content in found if tag == "h3"]
    assert [int(_CAUSE.match(c)[1]) for c in causes] == list(range(1, len(causes) + 1))
    assert len(found) == 1 + len(titles) + len(causes)
    assert not re.search(r"^\s*::|##\[|\x1b", text, re.MULTILINE)
    tokens = MarkdownIt("commonmark").parse(text)
    assert "html_block" not in {t.type for t in tokens}
    inline = {c.type for t in tokens for c in t.children or ()}
    assert inline <= {"text", "code_inline", "softbreak", "hardbreak"}


def composed(report, budget=2000, sections=DEFAULT_SECTIONS, full=".loop-close/report.json"):
    return compose(report, sections, budget=budget, full_report=full)


observations = st.builds(
    Observation,
    exit_code=st.sampled_from([None, 0, 1, 2, 3, -11]),
    failures=st.lists(failures, max_size=5).map(tuple),
    counts=st.builds(Counts, passed=st.integers(0, 3), failed=st.integers(0, 3), not_run=st.integers(0, 2)),
    incomplete=st.just("") | hostile,
    selection=st.just("") | hostile,
    rerun=st.just(("pytest", "--loop-close")) | st.lists(hostile, max_size=3).map(lambda w: ("pytest", *w)),
    can_rerun_last_failed=st.booleans(),
)


@settings(max_examples=60)
@given(observations, st.integers(400, 3000), st.sampled_from(["", ".loop-close/report.json"]))
def test_any_report_keeps_the_budget_and_its_shape(observation, budget, full):
    report = close(observation)
    text = composed(report, budget, full=full)
    check(text, budget)
    assert composed(report, budget, full=full) == text


@settings(max_examples=30)
@given(st.lists(any_text, min_size=1, max_size=8), st.integers(400, 1200))
def test_many_long_messages(messages, budget):
    found = [
        failure(
            raised(message=m * 30, frames=[frame(f"src/{n}.py", f"f{n}", source=source(*m.split("\n")))]),
            f"t.py::{n}",
        )
        for n, m in enumerate(messages)
    ]
    check(composed(close(observed(*found)), budget), budget)


@pytest.mark.parametrize("budget", [400, 800, 2000, 8000])
@pytest.mark.parametrize("number", [0, 1, 16, 400])
@pytest.mark.parametrize("word", ["no price for tea ", "漢字の値段", "`", "```\n# h\n", "x"])
def test_budget(number, budget, word):
    found = [
        failure(
            raised(
                f"Error{n}",
                word * 40,
                [frame(f"src/{word.strip()}{n}.py", f"f{n}", source=source(*[word] * 9))],
            ),
            f"tests/test_{n}.py::test_{word}[{word * 3}]",
        )
        for n in range(number)
    ]
    report = close(observed(*found, exit_code=1 if number else 5))
    text = composed(report, budget)
    check(text, budget)
    if number:
        assert len([h for h in headings(text) if h[0] == "h3"]) >= 1
        assert "## Next step" in text
    if number == 400:
        assert "more root causes" in text
        assert ".loop-close/report.json" in text


def test_a_larger_budget_says_no_less():
    found = [failure(raised(f"Error{n}", f"no {n} " * 30), f"tests/test_{n}.py::test_x") for n in range(16)]
    report = close(observed(*found))
    sizes = [composed(report, budget).count("no ") for budget in range(400, 4000, 200)]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 16


def test_green():
    report = close(observed(exit_code=0, counts=Counts(passed=3)))
    text = composed(report)
    check(text, 2000)
    assert headings(text) == [("h1", "No stall detected: the tests pass (exit 0)")]


def test_where_nothing_is_left_out_nothing_more_is_pointed_at():
    text = composed(close(observed(failure(raised()))))
    assert "report.json" not in text
    long = composed(close(observed(failure(raised(message="a line\n" * 500)))))
    assert long.count("`.loop-close/report.json`") == 1


# Sections of third parties

REPORT = close(observed(failure(raised())))


def section(render, position=45, **fields):
    return Section(**{"id": "custom", "title": "Custom", **fields}, position=position, render=render)


def with_custom(render, budget=2000, **fields):
    return composed(REPORT, budget, [*DEFAULT_SECTIONS, section(render, **fields)])


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def fails(error):
    def render(report, tokens):
        raise error

    return render


def fails_midway(report, tokens):
    yield "first"
    raise RuntimeError("no")


@pytest.mark.parametrize(
    ("render", "words"),
    [
        (fails(RuntimeError("no")), "RuntimeError: no"),
        (fails(RuntimeError("```\n# Next step\n")), "RuntimeError: "),
        (fails(SystemExit(3)), "SystemExit: 3"),
        (fails(pytest.fail.Exception("no")), "Failed: no"),
        (fails(MuteError()), "MuteError"),
        (fails_midway, "RuntimeError: no"),
        (lambda report, tokens: None, "TypeError"),
        (lambda report, tokens: 7, "TypeError"),
        (lambda report, tokens: [7], "TypeError"),
        (list, "TypeError"),
    ],
)
def test_a_section_that_fails_is_named_and_the_others_stand(render, words):
    text = with_custom(render)
    assert "The section `custom` failed: " in text
    assert words in text
    assert [c for tag, c in headings(text) if tag == "h2"] == [
        "Custom",
        *(t for t in TITLES[1:] if f"## {t}\n" in text),
    ]
    assert estimate_tokens(text) <= 2000


@pytest.mark.parametrize("lines", [[], [""], ["", ""]])
def test_a_section_with_nothing_to_say_is_left_out(lines):
    assert "Custom" not in with_custom(lambda report, tokens: lines)


def test_a_section_stands_where_it_says():
    for position, before, after in [
        (1, None, "# Stall"),
        (45, "## Fix by", "## Primary"),
        (999, "## Next step", ""),
    ]:
        text = with_custom(lambda report, tokens: ["something"], position=position)
        assert (
            (text.find(before) if before else -1)
            < text.find("## Custom")
            <= (text.find(after, 12) if after else len(text))
        )


def test_a_section_gets_what_it_asks_for_and_no_more():
    asked = []
    with_custom(lambda report, tokens: asked.append(tokens) or ["x"], tokens=77)
    assert asked == [77]
    text = with_custom(lambda report, tokens: ["word " * 10] * 1000, tokens=100)
    assert "cut to keep the budget" in text
    check_third_party(text, 2000)


def check_third_party(text, budget):
    assert estimate_tokens(text) <= budget
    assert [h for h in headings(text) if h[0] == "h1"]
    assert headings(text)[-1] == ("h2", "Next step")


@pytest.mark.parametrize(
    "lines",
    [
        ["word " * 5] * 5000,
        ["word " * 50_000],
        ["```text", *["x" * 50] * 500, "```"],
        ["`````python", *["```"] * 500, "`````"],
        ["```text\n" + "x\n" * 5000 + "```"],
        ["~~~", *["x" * 50] * 500, "~~~"],
        ["x"] * 100_000,
    ],
)
@pytest.mark.parametrize("budget", [400, 2000])
def test_a_greedy_section_keeps_the_budget_and_its_fence(lines, budget):
    check_third_party(with_custom(lambda report, tokens: lines, budget, tokens=100_000), budget)


@pytest.mark.parametrize("budget", [400, 2000])
def test_many_sections_keep_the_budget(budget):
    many = [
        section(lambda report, tokens: ["word " * 20] * 20, id=f"s{n}", title=f"S{n}") for n in range(200)
    ]
    text = composed(REPORT, budget, [*DEFAULT_SECTIONS, *many])
    check_third_party(text, budget)


def test_two_sections_of_one_id():
    both = [section(lambda report, tokens: ["one"]), section(lambda report, tokens: ["two"])]
    text = composed(REPORT, 2000, [*DEFAULT_SECTIONS, *both])
    assert text.count("## Custom") == 2
    assert "one" in text
    assert "two" in text


def test_no_sections_at_all():
    assert (
        compose(Report(observation=Observation(), verdict="error", stall_reason="x"), [], budget=400).strip()
        == ""
    )
