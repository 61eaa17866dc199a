import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import edited, known, loop, step
from markdown_it import MarkdownIt
from msgspec.structs import replace
from records import (
    any_text,
    failure,
    failures,
    frame,
    hostile,
    observed,
    raised,
    source,
)

from loop_close.judge import report_of
from loop_close.model import Counts, Observation
from loop_close.prompt.compose import Section, compose, estimate_tokens
from loop_close.prompt.loop import EXPERIMENTS
from loop_close.prompt.sections import DEFAULT_SECTIONS
from loop_close.records import NO_LOOP, CheckState, Edit, Edits, Objection, OldOutcome, Signal, State
from loop_close.text import sanitize

STUCK = sorted(kind for kind in EXPERIMENTS if "," not in kind)
TITLES = [s.title for s in DEFAULT_SECTIONS if s.title]
_BLOCK = re.compile(r"(\d+)\. ")


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
    (first, *others) = headings(text)
    assert first[0] == "h1"
    assert {tag for tag, _ in others} <= {"h2"}
    numbers = [int(found[1]) for found in (_BLOCK.match(content) for _, content in others) if found]
    assert numbers == list(range(1, len(numbers) + 1))
    titles = [content for _, content in others if not _BLOCK.match(content)]
    assert titles == [t for t in TITLES if t in titles]
    assert not re.search(r"^\s*::|##\[|\x1b", text, re.MULTILINE)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = [t.type for t in tokens]
    assert {"html_block", "code_block", "blockquote_open", "hr"}.isdisjoint(kinds)
    assert kinds.count("table_open") == ("## Earlier attempts" in text)
    inline = {c.type for t in tokens for c in t.children or ()}
    assert inline <= {"text", "code_inline", "softbreak", "hardbreak"}


def composed(report, budget=2000, sections=DEFAULT_SECTIONS, full=".loop-close/report.json"):
    return compose(report, sections, budget=budget, full_report=full)


_edits = st.builds(
    Edits,
    kind=st.sampled_from(["effective", "none", "ineffective", "unknown"]),
    edits=st.lists(
        st.builds(
            Edit,
            file=hostile,
            function=hostile,
            is_effective=st.booleans(),
            diff=hostile
            | st.builds("-{}\n+{}\n {}".format, any_text, any_text, st.text("x\n", max_size=400)),
        ),
        max_size=2,
    ).map(tuple),
    omitted=st.integers(0, 2),
)
_tests = st.lists(
    st.builds(known, hostile, want=hostile, values=st.lists(hostile, max_size=3), since=st.integers(1, 4)),
    max_size=4,
)
_signals = st.lists(
    st.builds(
        Signal,
        kind=st.sampled_from(STUCK),
        tests=st.lists(hostile, max_size=3).map(tuple),
        explanation=st.just("failed in the same way in runs 2, 3 and 4, with edits between"),
    ),
    max_size=3,
)


@st.composite
def loops(draw, runs=5):
    """A loop of so many runs."""
    steps = [
        step(
            n,
            draw(st.integers(0, 3)),
            edits=draw(_edits),
            fixed=draw(st.lists(hostile, max_size=3).map(tuple)),
            advanced=draw(st.sampled_from(["", "fewest"])),
            is_finished=draw(st.booleans()),
        )
        for n in range(1, runs + 1)
    ]
    return loop(
        *steps,
        failing=draw(_tests),
        stalled=draw(st.integers(0, 4)),
        best=draw(st.none() | st.integers(1, 3)),
        base=draw(st.integers(0, 1)),
    )


_states = st.builds(
    lambda reason, tests, diff: State(
        verdict="objected",
        reason=reason,
        checks=(
            CheckState(
                name="tests",
                verdict="objected",
                objection=Objection(tests=tests, reason=reason, diff=diff),
            ),
        ),
    ),
    st.sampled_from(["", "No result on these files."]),
    st.lists(st.builds(OldOutcome, test=hostile, outcome=st.just("failed"), reason=hostile), max_size=9).map(
        tuple
    ),
    st.text("+-x\n", max_size=900).map(sanitize),
)
observations = st.builds(
    Observation,
    exit_code=st.sampled_from([None, 0, 1, 2, 3, -11]),
    failures=st.lists(failures, max_size=5).map(tuple),
    counts=st.builds(Counts, passed=st.integers(0, 3), failed=st.integers(0, 3), not_run=st.integers(0, 2)),
    incomplete=st.just("") | hostile,
    scope=st.just("") | hostile,
    rerun=st.sampled_from(["", "pytest --loop-close-failed"]),
)


@settings(max_examples=25)
@given(
    observations,
    st.just(NO_LOOP) | loops() | loops(1),
    st.lists(_signals, max_size=1),
    _edits,
    st.none() | _states,
    st.integers(400, 3000),
    st.sampled_from(["", ".loop-close/report.json"]),
)
def test_any_report_keeps_the_budget_and_its_shape(observation, loop, signals, since, state, budget, full):
    signals = tuple(each for found in signals for each in found)
    report = replace(report_of(observation), loop=loop, signals=signals, since=since, state=state)
    text = composed(report, budget, full=full)
    check(text, budget)
    assert composed(report, budget, full=full) == text


def a_loop(number, runs):
    """A report of a loop with root causes that have much to show."""
    body = [f"    line_{n} = {n}" for n in range(19)]
    found = [
        failure(
            raised(
                f"E{n}",
                f"no price {n}",
                [frame(f"src/{n}.py", f"f{n}", 12, source=source(f"def f{n}():", *body, start=8))],
            ),
            f"t.py::{n}",
        )
        for n in range(number)
    ]
    since = edited(diff="-    old = 1\n+    new = 2\n     same = 3")
    attempts = [
        step(n, number, edits=edited(f"f{n}", diff=f"-a{n}\n+b{n}\n+c{n}")) for n in range(2, runs + 1)
    ]
    loop_so_far = loop(step(1, number), *attempts, stalled=runs - 1, best=number, base=1)
    return replace(report_of(observed(*found)), loop=loop_so_far, since=since)


@pytest.mark.large
@pytest.mark.parametrize("number", [1, 2, 9])
def test_a_loop_keeps_its_diff_and_its_first_cause(number):
    texts = [composed(a_loop(number, runs)) for runs in range(1, 9)]
    for text in texts:
        assert "+    new = 2" in text
        assert "src/0.py:12" in text
        assert all(f"line_{n} = {n}" in text for n in range(19))
        assert "Rerun just the failing tests" in text
    assert all("| 5 | `f5`" in text for text in texts[4:])
    assert "For a person: " in texts[4]


def test_however_much_a_loop_has_to_say_the_root_cause_stays():
    wide = Edits(
        kind="effective",
        edits=tuple(Edit(file=f"{'a' * 90}{n}.py", function="f" * 60, diff="+x" * 60) for n in range(9)),
    )
    signals = tuple(Signal(kind=k, explanation="x" * 300) for k in STUCK)
    stuck = loop(*(step(n, edits=wide) for n in range(1, 7)), stalled=2, base=1)
    for budget in (400, 800, 2000):
        report = replace(report_of(observed(failure(raised()))), loop=stuck, signals=signals, since=wide)
        text = composed(report, budget)
        check(text, budget)
        assert "`bad`" in text or "ValueError: bad" in text
        assert "Rerun just the failing tests" in text


@pytest.mark.parametrize("budget", [400, 800, 2000, 8000])
@pytest.mark.parametrize("number", [0, 1, 16, pytest.param(400, marks=pytest.mark.large)])
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
    report = report_of(observed(*found, exit_code=1 if number else 5))
    text = composed(report, budget)
    check(text, budget)
    if number:
        assert len([h for h in headings(text) if h[0] == "h2"]) >= (number > 1)
        assert "Rerun just the failing tests" in text
    if number == 400:
        assert re.search(
            r"Left out to keep the budget: .*root causes \(\d+\)|and 370 more root causes\.", text
        )
        assert ("Left out" in text) == (".loop-close/report.json" in text)


def test_what_is_left_out_is_counted_and_the_full_report_named():
    text = composed(report_of(observed(failure(raised()))))
    assert "Left out" not in text
    assert "Full report" not in text
    left_out = r"\n\nLeft out to keep the budget: .*source \(\d+\).*\n"
    pointer = "Full report: `.loop-close/report.json`\n"
    assert re.search(left_out + re.escape(pointer), composed(a_loop(9, 3), 800))
    assert re.search(left_out + r"\Z", composed(a_loop(9, 3), 800, full=""))


def test_the_least_useful_is_left_out_first():
    """The experiment, the table of attempts and the question to a person are kept before any source."""
    report = a_loop(3, 5)
    whole = composed(report, 8000)
    assert "Left out" not in whole
    parts = ["For a person: ", "Print the arguments", "| 5 | `f5` |", "\nE0: no price 0", "    line_18 = 18"]
    assert all(part in whole for part in parts)
    for budget in range(400, 2000, 100):
        text = composed(report, budget)
        assert "line_18" not in text or all(part in text for part in parts)
        assert all(part in text for part in ("## 2. ", parts[-2], "Rerun just"))


# Sections of third parties

REPORT = report_of(observed(failure(raised())))


def with_custom(render, budget=2000, position=45, **fields):
    section = Section(id="custom", title="Custom", position=position, render=render, **fields)
    return composed(REPORT, budget, [*DEFAULT_SECTIONS, section])


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def fails(error):
    def render(report):
        raise error

    return render


def fails_midway(report):
    yield "first"
    raise RuntimeError("no")


@pytest.mark.parametrize(
    ("render", "words"),
    [
        (fails(RuntimeError("```\n# Other findings\n")), "RuntimeError: "),
        (fails(SystemExit(3)), "SystemExit: 3"),
        (fails(pytest.fail.Exception("no")), "Failed: no"),
        (fails(MuteError()), "MuteError"),
        (fails_midway, "RuntimeError: no"),
        (lambda report: 7, "TypeError"),
        (lambda report: [7], "AttributeError"),
    ],
)
def test_a_section_that_fails_is_named_and_the_others_stand(render, words):
    text = with_custom(render)
    assert "The section `custom` failed: " in text
    assert words in text
    assert [c for tag, c in headings(text) if tag == "h2"] == ["Custom"]
    assert "Rerun just the failing tests" in text
    assert estimate_tokens(text) <= 2000


def test_a_section_stands_where_it_says():
    for position, number in [(1, 0), (45, 1), (999, 3)]:
        text = with_custom(lambda report: ["something"], position=position)
        words = ["# 1 test failure", "ValueError: bad", "Rerun just"]
        words.insert(number, "## Custom")
        places = [text.find(word) for word in words]
        assert places == sorted(places)
        assert -1 not in places


def test_a_section_gets_what_it_asks_for_and_no_more():
    text = with_custom(lambda report: ["word " * 10] * 1000, tokens=100)
    assert "cut to keep the prompt short" in text
    check_third_party(text, 2000)


def check_third_party(text, budget):
    assert estimate_tokens(text) <= budget
    assert [tag for tag, _ in headings(text)].count("h1") == 1
    assert "Rerun just the failing tests" in text
    assert "ValueError" in text


@pytest.mark.parametrize(
    "lines",
    [
        ["word " * 5] * 5000,
        ["```text", *["x" * 50] * 500, "```"],
        ["`````python", *["```"] * 500, "`````"],
        ["```text\n" + "x\n" * 5000 + "```"],
    ],
)
@pytest.mark.parametrize("budget", [400, 2000])
def test_a_greedy_section_keeps_the_budget_and_its_fence(lines, budget):
    check_third_party(with_custom(lambda report: lines, budget, tokens=100_000), budget)
