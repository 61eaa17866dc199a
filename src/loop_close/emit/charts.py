"""A timeline as a picture (SVG), and as text for places that show no picture, such as a step summary."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from loop_close.emit.timeline import FAILING, OUTCOMES, VERDICTS, Timeline
from loop_close.text import fence

#: How a picture of ours begins: no other file is replaced.
SVG_BEGINNING = '<svg xmlns="http://www.w3.org/2000/svg" data-by="loop-close"'
#: What a picture shows at most: runs, tests.
_RUNS, _TESTS = 60, 30
_CELL, _GAP, _LEFT, _TOP, _TREND, _LANE = 13, 1, 330, 58, 56, 16
_NAME = 52
#: Fill and glyph colour of an outcome, for light and for dark.
_COLOURS = {
    "F": ("#c4314b", "#ffffff", "#f0627a", "#1b0006"),
    "E": ("#7d1f7a", "#ffffff", "#d98bd6", "#200020"),
    "K": ("#e3b341", "#3b2a00", "#c69026", "#1c1400"),
    "P": ("#b7dfc3", "#1d5b32", "#1f4d31", "#a4e0b8"),
    "Q": ("#e6efe9", "#5b7566", "#22302a", "#7f9a8a"),
    "S": ("#d5dbe3", "#46536a", "#3a4352", "#b9c4d4"),
    "X": ("#d5dbe3", "#46536a", "#3a4352", "#b9c4d4"),
    "N": ("#f3f4f6", "#5c6470", "#20242b", "#8d96a3"),
}
_EDITS = {"effective": "▲", "ineffective": "△"}
_STYLE = (
    "text{font:11px ui-sans-serif,system-ui,sans-serif;fill:#24292f}.m{font:10px ui-monospace,monospace}"
    ".q{fill:#57606a}.b{fill:#c4314b}.a{fill:#0b5cad}.bg{fill:#ffffff}"
)
_DARK = "text{fill:#e6edf3}.q{fill:#9aa4af}.b{fill:#f0627a}.a{fill:#6cb6ff}.bg{fill:#0f1318}"
_BARS = " ▁▂▃▄▅▆▇"
#: What the step summary shows at most: runs; tests, and characters of their names.
TEXT_RUNS = 40
_TEXT_TESTS, _TEXT_NAME = 12, 60


def svg(timeline: Timeline) -> str:
    """The trend of failing tests and the heat map of the last runs as one SVG 1.1 picture, light and dark."""
    first = max(0, len(timeline.runs) - _RUNS)
    runs = timeline.runs[first:]
    tests = [test for test in timeline.tests if set(test.cells[first:]) & {"F", "E"}]
    columns, rows = max(len(runs), 1), min(len(tests), _TESTS)
    width = max(_LEFT + columns * (_CELL + _GAP) + 16, 660)
    heat = _TOP + _TREND + 3 * _LANE + 8
    legend = _legend(timeline, first, [test.cells[first:] for test in tests])
    foot = heat + rows * (_CELL + _GAP) + 24
    height = foot + len(legend) * _LANE - 2
    picture = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "data-by": "loop-close",
            "viewBox": f"0 0 {width} {height}",
            "width": f"{width}",
            "height": f"{height}",
            "role": "img",
            "aria-labelledby": "t d",
        },
    )
    _add(picture, "title", f"{timeline.project or 'Tests'}: {state_words(timeline)}", id="t")
    _add(picture, "desc", f"Failing tests and outcomes in the last {_count(len(runs), 'run')}.", id="d")
    _add(picture, "style", _style())
    _add(picture, "rect", width="100%", height="100%", rx="6", **{"class": "bg", "fill": "#ffffff"})
    _add(picture, "text", timeline.project or "Tests", x="14", y="24", style="font-size:14px;font-weight:600")
    _add(picture, "text", state_words(timeline), x="14", y="42", **{"class": "q"})
    _trend(picture, timeline, first)
    for row, test in enumerate(tests[:_TESTS]):
        y = heat + row * (_CELL + _GAP)
        name = _end(test.name, _NAME)
        _add(picture, "text", name, x=f"{_LEFT - 8}", y=f"{y + 10}", **{"class": "m", "text-anchor": "end"})
        _cells(picture, test.cells[first:], y)
    _foot(picture, legend, foot)
    return ElementTree.tostring(picture, encoding="unicode") + "\n"


def _style() -> str:
    light = "".join(f".{key}{{fill:{each[0]}}}.g{key}{{fill:{each[1]}}}" for key, each in _COLOURS.items())
    dark = "".join(f".{key}{{fill:{each[2]}}}.g{key}{{fill:{each[3]}}}" for key, each in _COLOURS.items())
    return f"{_STYLE}{light}@media (prefers-color-scheme:dark){{{_DARK}{dark}}}"


def _trend(picture: ElementTree.Element, timeline: Timeline, first: int) -> None:
    """Bars of failing tests, the verdicts, and what was edited and signalled."""
    runs = timeline.runs[first:]
    highest = max((run.failing or 0 for run in runs), default=0)
    base = _TOP + _TREND
    for label, y in (
        (f"failing tests, at most {highest:,}", base - 4),
        ("verdict", base + 12),
        ("edits", base + 28),
        ("signals", base + 44),
    ):
        _add(picture, "text", label, x=f"{_LEFT - 8}", y=f"{y}", **{"class": "q", "text-anchor": "end"})
    for column, run in enumerate(runs):
        x = _LEFT + column * (_CELL + _GAP)
        tall = round((_TREND - 8) * (run.failing or 0) / highest) if highest else 0
        if tall:
            size = {"x": f"{x}", "y": f"{base - tall}", "width": f"{_CELL}", "height": f"{tall}"}
            _add(picture, "rect", **size, **{"class": "b", "fill": "#c4314b"})
        _glyph(picture, VERDICTS[run.verdict], x, base + 12, "q")
        if run.edit in _EDITS:
            _glyph(picture, _EDITS[run.edit], x, base + 28, "a")
        if run.signals:
            _glyph(picture, "◆", x, base + 44, "a")


def _cells(picture: ElementTree.Element, cells: str, y: int) -> None:
    """A row: for each outcome the squares as one path, and its glyphs as one text."""
    for letter in dict.fromkeys(cells.replace(".", "")):
        fill, on, _, _ = _COLOURS[letter]
        left = [_LEFT + n * (_CELL + _GAP) for n, each in enumerate(cells) if each == letter]
        squares = "".join(f"M{x} {y}h{_CELL}v{_CELL}h-{_CELL}z" for x in left)
        _add(picture, "path", d=squares, **{"class": letter, "fill": fill})
        places = " ".join(f"{x + _CELL / 2:g}" for x in left)
        glyphs = OUTCOMES[letter][1] * len(left)
        kind = {"class": f"m g{letter}", "text-anchor": "middle", "fill": on}
        _add(picture, "text", glyphs, x=places, y=f"{y + 10}", **kind)


def _glyph(picture: ElementTree.Element, glyph: str, x: int, y: int, kind: str, **more: str) -> None:
    _add(
        picture,
        "text",
        glyph,
        x=f"{x + _CELL / 2}",
        y=f"{y}",
        **{"class": kind, "text-anchor": "middle", **more},
    )


def _foot(picture: ElementTree.Element, lines: Sequence[str], y: int) -> None:
    for number, line in enumerate(lines):
        at = {"x": "14", "y": f"{y + number * _LANE}"}
        _add(picture, "text", line, **at, **{"class": "q", "xml:space": "preserve"})


def _legend(timeline: Timeline, first: int, tests: Sequence[str]) -> list[str]:
    """What the glyphs mean, and what is not shown.

    :param tests: the cells of the tests that failed in the runs from ``first`` on; as many are drawn as there is room.
    """
    if not timeline.runs:
        return ["No test failed in these runs."]
    outcomes = [
        f"{glyph} {word}" for key, (word, glyph) in OUTCOMES.items() if key != "." and key in "".join(tests)
    ]
    runs = timeline.runs[first:]
    verdicts = [
        f"{VERDICTS[each]} {each.replace('-', ' ')}" for each in VERDICTS if each in {r.verdict for r in runs}
    ]
    words = {"effective": "edit", "ineffective": "only comments or formatting"}
    edits = [f"{glyph} {words[kind]}" for kind, glyph in _EDITS.items() if kind in {run.edit for run in runs}]
    marks = ["◆ signal"] if any(run.signals for run in runs) else []
    more = [f"{_count(len(tests) - _TESTS, 'more test')} not shown."] if len(tests) > _TESTS else []
    lines = [
        "   ".join(outcomes) or "No test failed in these runs.",
        "   ".join([*verdicts, *edits, *marks]),
        *more,
    ]
    return [line for line in lines if line]


def _add(parent: ElementTree.Element, tag: str, text: str = "", **attributes: str) -> None:
    ElementTree.SubElement(parent, tag, attributes).text = text or None


def _end(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"…{text[1 - limit :]}"


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'s' * (number != 1)}"


def state_words(timeline: Timeline) -> str:
    """The state of the last run, such as ``stuck after run 6 of pytest: 3 tests fail``."""
    if not timeline.runs:
        return "no runs recorded"
    last = timeline.runs[-1]
    number = last.failing
    fail = "" if number is None else "no test fails" if not number else f"{_count(number, 'test')} fail"
    words = last.verdict.replace("-", " ")
    said = f"{words} after run {last.number:,} of {timeline.sources[last.source]}"
    return f"{said}: {fail.replace('1 test fail', '1 test fails') if number == 1 else fail}" if fail else said


def history_lines(timeline: Timeline, source: str) -> list[str]:
    """The trend and heat map of a source as Markdown; empty if there is nothing to compare.

    GitHub shows no inline picture in a step summary: neither SVG elements nor data URLs pass its filter.
    """
    index = timeline.sources.index(source) if source in timeline.sources else -1
    columns = [number for number, run in enumerate(timeline.runs) if run.source == index][-TEXT_RUNS:]
    failing = [timeline.runs[number].failing or 0 for number in columns]
    if len(columns) < 2 or not any(failing):
        return []
    chosen = [(test.name, "".join(test.cells[number] for number in columns)) for test in timeline.tests]
    rows = [(name, cells) for name, cells in chosen if set(cells) & set(FAILING)]
    first, last = (timeline.runs[number].number for number in (columns[0], columns[-1]))
    trend = "".join(_BARS[-(-number * (len(_BARS) - 1) // max(failing))] for number in failing)
    lines = [_text_row(trend, f"failing tests, {failing[0]:,} → {failing[-1]:,}")]
    lines += [
        _text_row("".join(OUTCOMES[c][1] for c in cells), _end(n, _TEXT_NAME))
        for n, cells in rows[:_TEXT_TESTS]
    ]
    if len(rows) > _TEXT_TESTS:
        lines.append(f"… and {_count(len(rows) - _TEXT_TESTS, 'more test')}")
    used = [key for key in OUTCOMES if key != "." and any(key in cells for _, cells in rows[:_TEXT_TESTS])]
    legend = ", ".join(f"{OUTCOMES[key][1]} {OUTCOMES[key][0]}" for key in used)
    title = f"<details><summary>Runs {first:,} to {last:,}</summary>"
    return ["", title, "", *fence("\n".join([*lines, legend])), "", "</details>"]


def _text_row(cells: str, name: str) -> str:
    return f"{cells}  {name}".rstrip()
