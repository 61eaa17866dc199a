"""Walk over the lines of a printed traceback."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field, replace

from loop_close.model import Raised
from loop_close.readers.paths import project_path
from loop_close.readers.printed_parts import (
    CONTINUED,
    ELIDED,
    FRAME,
    GROUP_LINE,
    HEADER,
    LINKS,
    LOG_LINE,
    MARKERS,
    OPEN_ENDS,
    OTHER,
    REPEATED,
    TOP,
    Printed,
    assemble,
    is_exception,
    link_texts,
    linked,
)

_HEADERS = (HEADER, f"Exception Group {HEADER}")
_MAX_LINKS = 8
_MAX_DEPTH = 10
_MAX_MEMBERS = 12
_MAX_SOURCE = 12
_MAX_MESSAGE_LINES = 300
_MAX_AHEAD = 20
_MEMBER = re.compile(r"(?:\+-|  )\+-{16} (?:\d{1,9}|\.\.\.) -{16}[ \t]*\Z")
_CLOSING = f"+{'-' * 36}"
_MORE = re.compile(r"and (?P<number>\d{1,9}) more exceptions?\Z")
_STRUCTURE = re.compile(r" *+(?:\||\+-)")


@dataclass(slots=True)
class Scanner:
    """A place in a text that only moves on, so that reading takes time linear in the text.

    :ivar is_whole: the text is nothing but tracebacks, so that every line belongs to one.
    :ivar heads: where each header begins.
    :ivar at: where the current line begins.
    :ivar end: where the line before it ends.
    """

    text: str
    root: str
    is_whole: bool = False
    heads: list[int] = field(default_factory=list)
    at: int = 0
    end: int = 0

    def __post_init__(self) -> None:
        self.heads = [found.start() for found in re.finditer(re.escape(HEADER), self.text)]

    def line(self) -> str | None:
        """The current line; None after the last."""
        if self.at >= len(self.text):
            return None
        end = self.text.find("\n", self.at)
        return self.text[self.at : end if end >= 0 else len(self.text)]

    def move(self) -> None:
        """Go to the next line."""
        end = self.text.find("\n", self.at)
        self.end = end if end >= 0 else len(self.text)
        self.at = self.end + 1

    def body(self, margin: str) -> str | None:
        """The current line without its margin; None when it has another."""
        line = self.line()
        if line is None or line.startswith(margin):
            return line[len(margin) :] if line is not None else None
        return "" if line == margin.rstrip() else None

    def chain(
        self, margin: str, depth: int, first: Raised, before: tuple[str, Raised] | None = None
    ) -> Raised:
        """The last of the exceptions that follow from each other, linked to those before it.

        :param first: the one that was just read.
        :param before: what that one came from, and how.
        """
        found = [("", before[1]), (before[0], first)] if before is not None else [("", first)]
        while kind := self._link(margin):
            following = self._one(margin, depth)
            if following is None:
                break
            found.append((kind, following))
        return linked(found[-_MAX_LINKS:])

    def _link(self, margin: str) -> str:
        for kind in LINKS:
            for text in link_texts(margin, kind):
                if self.text.startswith(text, self.at):
                    self.at += len(text)
                    return kind
        return ""

    def _one(self, margin: str, depth: int) -> Raised | None:
        """One exception with its header, or inside of a group also without."""
        body = self.body(margin)
        if body == GROUP_LINE:
            margin, depth, body = f"{margin}  | ", 1, HEADER
        if body in _HEADERS:
            self.move()
        elif not depth:
            return None
        return self.headless(margin, depth)

    def headless(self, margin: str, depth: int) -> Raised | None:
        """One exception from the first line after its header on.

        :param margin: what every line begins with.
        :param depth: how many groups it is in, itself among them.
        """
        frames, repeated = self._frames(margin)
        if not is_exception(self.body(margin) or ""):
            return None
        raised = assemble("\n".join(self._message(margin, depth)), frames, repeated, self.root)
        return self._with_members(raised, margin, depth) if depth else raised

    def _frames(self, margin: str) -> tuple[list[Printed], int]:
        printed: list[Printed] = []
        repeated = 0
        while body := self.body(margin):
            if found := FRAME.match(body):
                printed.append(Printed(found["file"], int(found["line"]), found["function"]))
                self.move()
                self._source(printed[-1], margin)
            elif printed and (again := REPEATED.match(body)):
                is_own = project_path(printed[-1].file, self.root) is not None
                repeated += int(again["times"]) if is_own else 0
                self.move()
            else:
                break
        return printed, repeated

    def _source(self, printed: Printed, margin: str) -> None:
        is_whole = True
        while (body := self.body(margin)) and body.startswith("    ") and not FRAME.match(body):
            if printed.lines and MARKERS.match(body):
                printed.markers = printed.markers or body[4:]
            else:
                is_whole = is_whole and not ELIDED.match(body) and len(printed.lines) < _MAX_SOURCE
                printed.lines += [body[4:]] if is_whole else []
            self.move()

    def _message(self, margin: str, depth: int) -> list[str]:
        """The line with the exception, and those that belong to its message."""
        said = [self.body(margin) or ""]
        self.move()
        stop = self._next_link(margin)
        while len(said) < _MAX_MESSAGE_LINES:
            body = self._continued(margin, depth, is_linked=self.at < stop)
            if body is None or self.at == stop:
                break
            said.append(body)
            self.move()
        return said

    def _next_link(self, margin: str) -> int:
        """Where the chain goes on, when nothing else does before; -1 when it does not."""
        at = bisect_left(self.heads, self.at)
        if at >= len(self.heads):
            return -1
        start = self.text.rfind("\n", self.at, self.heads[at]) + 1
        if self.text[start : self.heads[at]] not in (margin, f"{margin}Exception Group ", f"{margin}{TOP}"):
            return -1
        for text in (text for kind in LINKS for text in link_texts(margin, kind)):
            if self.text.startswith(text, max(start - len(text), self.at)):
                return start - len(text)
        return -1

    def _continued(self, margin: str, depth: int, is_linked: bool) -> str | None:
        """The current line as part of a message; None when the message has ended."""
        line, body = self.line(), self.body(margin)
        if line is None or (depth and body is None and _STRUCTURE.match(line)):
            return None
        if depth:
            return line if body is None else body  # Python 3.12 and before print it without its margin
        if is_linked:
            return body if body is not None and not OTHER.match(body) else None
        if not body or not body.strip() or OTHER.match(body):
            return None
        is_more = self.is_whole or CONTINUED.match(body) or self.text[self.end - 1 : self.end] in OPEN_ENDS
        return body if is_more or self._runs_to_a_log_line(margin) else None

    def _runs_to_a_log_line(self, margin: str) -> bool:
        """Whether the paragraph is followed at once by what cannot belong to it.

        Otherwise it may as well be what the program had printed before and Python wrote at its exit.
        """
        here, end = self.at, self.end
        for _ in range(_MAX_AHEAD):
            if not (body := self.body(margin)) or OTHER.match(body):
                break
            self.move()
        is_log = bool(body and LOG_LINE.match(body))
        self.at, self.end = here, end
        return is_log

    def _with_members(self, raised: Raised, margin: str, depth: int) -> Raised:
        """The group with what is in it; an exception that is no group as it is."""
        outer = margin.removesuffix("| ")
        members: list[Raised] = []
        omitted = 0
        while self._is_separator(outer):
            self.move()
            member, more = self._member(f"{outer}  | ", depth + 1)
            omitted += more
            if member is not None and len(members) < _MAX_MEMBERS:
                members.append(member)
            elif not more:
                omitted += 1
            self._skip(outer)
        if members and self.line() == f"{outer}  {_CLOSING}":
            self.move()
        return replace(raised, members=tuple(members), omitted_members=omitted)

    def _is_separator(self, outer: str) -> bool:
        line = self.line()
        return line is not None and line.startswith(outer) and _MEMBER.match(line, len(outer)) is not None

    def _member(self, margin: str, depth: int) -> tuple[Raised | None, int]:
        """One exception of a group with its chain; else how many the traceback says that it left out."""
        if more := _MORE.match(self.body(margin) or ""):
            self.move()
            return None, int(more["number"])
        first = self._one(margin, depth) if depth <= _MAX_DEPTH else None
        return (self.chain(margin, depth, first) if first is not None else None), 0

    def _skip(self, outer: str) -> None:
        """Pass over what is left of a member that could not be read."""
        while (line := self.line()) is not None and not self._is_separator(outer):
            if (
                not line.startswith(f"{outer}  ")
                or not _STRUCTURE.match(line)
                or line == f"{outer}  {_CLOSING}"
            ):
                break
            self.move()
