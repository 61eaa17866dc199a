"""Tables of patterns: text files beside this module, one form a line, columns apart by two spaces or more."""

from __future__ import annotations

import pkgutil
import re
from functools import cache

#: Patterns are compiled when they are first needed: most texts need few of them.
compiled = cache(re.compile)


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as text."""
    return frozenset(text.split())


@cache
def rows(name: str) -> dict[str, list[list[str]]]:
    """The rows of a table by section, each with its columns.

    ``{NAME}`` in a row is what the section ``macros`` has for it. Lines that begin with ``#`` are comments.
    """
    sections: dict[str, list[list[str]]] = {}
    macros: dict[str, str] = {}
    # By the loader, as a program under test may have replaced "open".
    for line in (pkgutil.get_data("loop_close.text", name) or b"").decode().splitlines():
        if re.fullmatch(r"\[\w+\]", line):
            section = sections.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            row = re.split("  +", re.sub("{([A-Z]+)}", lambda found: macros[found[1]], line))
            section.append(row)
            if section is sections["macros"]:
                macros[row[0]] = row[1]
    return sections


def guards(column: str) -> tuple[str, ...]:
    """The parts of a column of guards, one of which a text must hold to be searched."""
    return tuple(column.replace("\\s", " ").split("|"))
