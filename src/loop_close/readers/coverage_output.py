"""Coverage below the limit, as coverage and pytest-cov print it."""

from __future__ import annotations

import re

from loop_close.model import Failure
from loop_close.readers.contract import Reader, Reading, is_at_end

_MAX_TABLE = 16_000
_SHORT = re.compile(
    r"^(?:(?:FAIL|ERROR:) )?(?P<message>Required test coverage of [\d.]{1,12}% not reached\. "
    r"Total coverage: [\d.]{1,12}%)$"
    r"|^(?:ERROR: )?Coverage failure: (?P<total>total of [\d.]{1,12} is less than fail-under=[\d.]{1,12})$",
    re.MULTILINE,
)
_TABLE = re.compile(r"^Name +Stmts +Miss\b[^\n]{0,200}\n-{5,400}\n", re.MULTILINE)
_TOTAL = re.compile(r"^TOTAL +\d{1,12} [^\n]{0,200}%[^\n]{0,20}$", re.MULTILINE)


def read(text: str, root: str) -> Reading:
    """One failure with the table of the files, where it was printed; nothing for coverage that is enough."""
    if "% not reached." not in text and "Coverage failure: total of " not in text:
        return Reading()
    found = list(_SHORT.finditer(text))
    if not found:
        return Reading()
    # pytest-cov says it twice; its second sentence has the digits
    told = next((m["message"] for m in found if m["message"]), None) or found[0]["total"]
    table = _table(text)
    is_certain = bool(table) or is_at_end(text, found[-1].end())
    failure = Failure(
        nodeid="", phase="check", message=told, tool="coverage", code="fail-under", sections=table
    )
    return Reading(failures=(failure,), spans=tuple(m.span() for m in found), is_certain=is_certain)


def _table(text: str) -> tuple[tuple[str, str], ...]:
    """The table of the files up to its total, bounded; of several the last."""
    heads = list(_TABLE.finditer(text))
    total = _TOTAL.search(text, heads[-1].end()) if heads else None
    if total is None:
        return ()
    return (("coverage", text[heads[-1].start() : total.end()][-_MAX_TABLE:]),)


READER = Reader(
    id="coverage",
    description="coverage below the limit, by coverage report or pytest-cov",
    read=read,
)
