"""Read the short test summary and the progress lines: node ids, and the first words of each failure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(
    r"\n(?:(?P<word>FAILED|ERROR|SUBFAILED|SUBFAIL) "
    r"|SUBFAILED(?P<after>[\[(<][^\n]{0,500}?[\])>]) (?![\[(])"
    r"|(?P<before>[\[(<][^\n]{0,500}?[\])>]) SUBFAIL (?![\[(])"
    r"|(?P<other>PASSED|SKIPPED|XFAIL|XPASS|RERUN|SUBPASS|SUBSKIP|\[[^\n]{0,500}?SUB(?:PASS|SKIP)))(?P<rest>[^\n]*)"
)
_PROGRESS = re.compile(
    r"\n(?:\[gw\d{1,6}\] +(?:\[ *\d{1,3}%\] +)?(?P<worker>FAILED|ERROR|SUBFAIL\w*) (?P<remote>[^\n]{1,2000}?) *"
    r"|(?P<id>[^\s\[][^\n]{0,2000}?) (?P<word>FAILED|ERROR)(?: +\[ *\d{1,3}%\]| +\d[\d.]*[mu]?s)?)(?=\n)"
)
_NAME = re.compile(r"(?P<path>[^\n]{1,1000}?)::(?P<name>[^\s\[]{1,500})")
CUT = "..."


@dataclass(slots=True)
class Entry:
    """One failure as the summary or a progress line names it.

    :ivar word: ``FAILED`` or ``ERROR``.
    :ivar rest: the node id, then ``" - "`` and words, which may both hold ``" - "`` themselves.
    :ivar subtest: pytest's description of the subtest.
    :ivar more: the words' further lines.
    """

    word: str
    rest: str
    subtest: str = ""
    more: str = ""
    is_used: bool = False

    def split(self, nodeid: str = "") -> tuple[str, str]:
        """The node id and the words.

        :param nodeid: what is known of it; else it is found by its brackets.
        """
        end = len(nodeid) or _end_of_id(self.rest)
        words = self.rest[end:].removeprefix(" - ")
        return self.rest[:end], words + self.more

    def id_of(self, name: str) -> str:
        """The node id, if its part below the file is this; else empty."""
        at = self.rest.find(f"::{name}")
        end = at + 2 + len(name)
        is_whole = at > 0 and (len(self.rest) == end or self.rest.startswith(" - ", end))
        return self.rest[:end] if is_whole and "::" not in self.rest[:at] else ""

    def is_of(self, path: str) -> bool:
        """Whether it is about this file or folder as a whole."""
        return self.rest == path or self.rest.startswith(f"{path} - ")


def _end_of_id(rest: str) -> int:
    named = _NAME.match(rest)
    if named is None or " - " in named["path"]:
        return (rest.find(" - ") + len(rest) + 1) % (len(rest) + 1) if " - " in rest else len(rest)
    if rest[named.end() : named.end() + 1] != "[":
        at = rest.find(" - ", named.end())
        return at if at >= 0 else len(rest)
    at = rest.find("] - ", named.end())
    return at + 1 if at >= 0 else len(rest)


def entries(text: str, start: int, end: int, *, has_end: bool) -> list[Entry]:
    """The failures that the summary lists, in order.

    :param has_end: the summary is complete, so that the last one's words may go on over several lines.
    """
    found: list[Entry] = []
    last: Entry | None = None
    at = start
    for match in _LINE.finditer(text, start, end):
        if last is not None:
            last.more = text[at : match.start()]
        last = _entry(match)
        found += [last] if last is not None else []
        at = match.end()
    if last is not None and has_end:
        last.more = text[at:end].rstrip("\n")
    if found and found[-1] is last and at == len(text):
        found.pop()  # the text was cut within its name
    return found


def _entry(match: re.Match[str]) -> Entry | None:
    if match["other"]:
        return None
    subtest = match["after"] or match["before"] or ""
    word = "ERROR" if match["word"] == "ERROR" else "FAILED"
    return Entry(
        word, match["rest"], subtest or ("(<subtest>)" if match["word"] in ("SUBFAIL", "SUBFAILED") else "")
    )


def end_of_entries(text: str, start: int, end: int) -> int:
    """Where a summary that nothing follows leaves off."""
    last = start
    for match in _LINE.finditer(text, start, end):
        last = match.end()
    return last


def progress(text: str, start: int, end: int) -> Iterator[Entry]:
    """The failures that ``-v`` shows as they happen."""
    if all(text.find(word, start, end) < 0 for word in (" FAILED", " ERROR", " SUBFAIL")):
        return
    for match in _PROGRESS.finditer(text, start, end):
        nodeid = (match["remote"] or match["id"]).rstrip()
        if "::" in nodeid:
            word = match["worker"] or match["word"]
            yield Entry("ERROR" if word == "ERROR" else "FAILED", nodeid)
