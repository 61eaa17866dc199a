"""What an exception is about beyond its message: the nearest to what is missing, import cycles, code without a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loop_close.facts import import_cycle, is_a, is_about_a_file
from loop_close.model import Raised
from loop_close.prompt.show import safe, span, spans
from loop_close.text.sanitize import fence

_MOST = 3
_MOST_FILES = 8
_LONGEST = 160
_MARGIN = 6  # what is in front of a source line: the mark, the number, a space


def missing_lines(raised: Raised) -> Iterator[str]:
    """One line of at most two sentences on what is missing: the nearest existing names and the file to look at.

    Of an import cycle it is the files in the order in which they were imported.
    """
    cycle = import_cycle(raised)
    if cycle:
        yield f"Import cycle: {_chain(cycle)}."
        return
    near = f"{_kind(raised)}: {spans(raised.nearest[:_MOST], _MOST, 100)}." if raised.nearest else ""
    told = " ".join(filter(None, (near, _home(raised))))
    if told:
        yield told


def _chain(cycle: Sequence[str]) -> str:
    more = ["…"] * (len(cycle) > _MOST_FILES)
    return " -> ".join([*map(span, cycle[:_MOST_FILES]), *more, span(cycle[0])])


def _kind(raised: Raised) -> str:
    if "environment" in raised.details:
        return "Nearest environment variables"
    if "fixture" in raised.details:
        return "Nearest fixtures"
    if is_a(raised, "ModuleNotFoundError"):
        return "Nearest modules"
    if is_a(raised, "TypeError"):
        return f"Nearest parameters of {span(raised.details.get('owner', ''), 80)}"
    return "Nearest existing keys" if is_a(raised, "KeyError") else "Nearest existing names"


def _home(raised: Raised) -> str:
    """The file that should define what is missing; of an argument the file of the function."""
    if "home" not in raised.details:
        return ""
    home, wanted = span(raised.details["home"]), raised.details.get("name", "")
    if is_a(raised, "ModuleNotFoundError"):
        return f"{home} does not exist." if "." in wanted else f"{home} exists, but not on the import path."
    if is_a(raised, "TypeError"):
        return f"{span(raised.details.get('owner', ''), 80)} is defined in {home}."
    if is_a(raised, "KeyError"):
        return f"The dictionary is in {home}."
    if is_a(raised, "NameError"):
        return f"{home} neither defines nor imports {span(wanted, 80)}."
    return f"{home} does not define {span(wanted, 80)}."


def generated_lines(raised: Raised) -> Iterator[str]:
    """Where in code without a file the exception was raised, and the line of such code that cannot be parsed."""
    details = raised.details
    *above, made = details.get("generated", "").split("\n")
    if made:
        called = f", called from {span(above[-1], 160)}" if above else ""
        yield f"Raised in generated code {span(made, 160)}{called}."
    text = details.get("text", "").split("\n")[0].rstrip()
    if is_a(raised, "SyntaxError") and not is_about_a_file(raised) and text:
        line, column = _number(details.get("line")), _number(details.get("column"))
        name = f", {span(details['path'])}" if "path" in details else ""
        yield f"The text that cannot be parsed{name}:"
        row = f">{line or 1:4} {safe(text)[:_LONGEST]}"
        caret = [" " * (_MARGIN + column - 1) + "^"] if 0 < column <= _LONGEST else []
        yield from fence("\n".join([row, *caret]), "python")


def _number(text: str | None) -> int:
    return int(text[:9]) if text and text.isdecimal() else 0
