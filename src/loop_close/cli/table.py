"""Rows under headings: with rich at a terminal where it is installed, else aligned text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from loop_close.cli.streams import Streams

_NARROW = 100
_STYLES = {
    "green": "green",
    "progress": "green",
    "stuck": "bold red",
    "open": "bold red",
    "half": "yellow",
    "no-progress": "yellow",
    "killed": "yellow",
    "error": "red",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """What to show.

    :ivar rows: cells of safe text, as many as there are headings; the last may be long.
    :ivar numbers: the headings of columns that go to the right.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()


def show_table(table: Table, streams: Streams) -> None:
    """Print the table, as wide as the terminal at most."""
    if streams.output.isatty():
        streams.put(_rich(table, streams) or _plain(table, width_of(streams)))
    else:
        streams.put(_plain(table, None))


def can_show(streams: Streams, text: str) -> bool:
    """Whether the encoding of the output has these characters."""
    try:
        text.encode(getattr(streams.output, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def width_of(streams: Streams) -> int | None:
    """The terminal's; None where there is none, or it does not tell, as some that are recorded."""
    if not streams.output.isatty():
        return None
    try:
        return os.get_terminal_size(streams.output.fileno()).columns or None
    except OSError:
        return None


def is_narrow(streams: Streams) -> bool:
    """Whether there is a terminal, and columns have to be short to fit it."""
    return (width_of(streams) or _NARROW) < _NARROW


def _plain(table: Table, width: int | None) -> str:
    columns = list(zip(table.headings, *table.rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for cells in (table.headings, *table.rows):
        padded = [
            cell.rjust(size) if heading in table.numbers else cell.ljust(size)
            for heading, cell, size in zip(table.headings, cells, widths, strict=True)
        ]
        lines.append(_cut("  ".join(padded).rstrip(), width))
    return "".join(f"{line}\n" for line in lines)


def _cut(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else f"{line[: max(width - 3, 0)]}..."


def _rich(table: Table, streams: Streams) -> str:
    """The table in colour, its last column folded; empty where rich is not installed."""
    try:  # by name, as nothing else needs it: not even a check of types
        rich, rich_table, text = map(import_module, ("rich.console", "rich.table", "rich.text"))
    except ImportError:
        return ""
    console = rich.Console(file=streams.output, highlight=False, width=width_of(streams))
    gap = 1 if is_narrow(streams) else 2
    shown = rich_table.Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    for heading in table.headings:
        justify = "right" if heading in table.numbers else "left"
        is_last = heading == table.headings[-1]
        shown.add_column(
            text.Text(heading, style="bold"), justify=justify, no_wrap=not is_last, overflow="fold"
        )
    for row in table.rows:
        shown.add_row(*(text.Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    # Into a text and not to the terminal: where nobody reads any more, rich ends the process itself.
    with console.capture() as capture:
        console.print(shown)
    return str(capture.get())
