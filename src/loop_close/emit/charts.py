"""A timeline as text, for places that show no page, such as a step summary."""

from __future__ import annotations

from loop_close.emit.timeline import FAILING, OUTCOMES, Timeline
from loop_close.text import fence

_BARS = " ▁▂▃▄▅▆▇"
#: What the step summary shows at most: runs; tests, and characters of their names.
TEXT_RUNS = 40
_TEXT_TESTS, _TEXT_NAME = 12, 60


def history_lines(timeline: Timeline, source: str) -> list[str]:
    """The trend and heat map of a source as Markdown; empty if there is nothing to compare."""
    index = timeline.sources.index(source) if source in timeline.sources else -1
    columns = [number for number, run in enumerate(timeline.runs) if run.source == index][-TEXT_RUNS:]
    failing = [timeline.runs[number].failing for number in columns]
    if len(columns) < 2 or not any(failing):
        return []
    chosen = [(test.name, "".join(test.cells[number] for number in columns)) for test in timeline.tests]
    rows = [(name, cells) for name, cells in chosen if set(cells) & set(FAILING)]
    first, last = (timeline.runs[number].number for number in (columns[0], columns[-1]))
    trend = "".join(_BARS[-(-number * (len(_BARS) - 1) // max(failing))] for number in failing)
    lines = [_text_row(trend, f"failing tests, {failing[0]:,} → {failing[-1]:,}")]
    lines += [
        _text_row(
            "".join(OUTCOMES[c][1] for c in cells), n if len(n) <= _TEXT_NAME else f"…{n[1 - _TEXT_NAME :]}"
        )
        for n, cells in rows[:_TEXT_TESTS]
    ]
    if (more := len(rows) - _TEXT_TESTS) > 0:
        lines.append(f"… and {more:,} more test{'s' * (more != 1)}")
    used = [key for key in OUTCOMES if key != "." and any(key in cells for _, cells in rows[:_TEXT_TESTS])]
    legend = ", ".join(f"{OUTCOMES[key][1]} {OUTCOMES[key][0]}" for key in used)
    title = f"<details><summary>Runs {first:,} to {last:,}</summary>"
    return ["", title, "", *fence("\n".join([*lines, legend])), "", "</details>"]


def _text_row(cells: str, name: str) -> str:
    return f"{cells}  {name}".rstrip()
