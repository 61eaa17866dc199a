"""The rulers of runs without a start (``-q``), apart from the starts and ends that their tests printed."""

from __future__ import annotations

from loop_close.readers.pytest_output.rulers import (
    BLOCKS,
    PASSED,
    PROGRESS,
    SUMMARY,
    WARNINGS,
    Ruler,
    goes_on,
    is_deep,
    is_red,
)


def without_printed(text: str, found: list[Ruler]) -> list[Ruler]:
    """The rulers without the starts and ends that tests of a run without a start (``-q``) printed."""
    scan = _Quiet(text, found)
    for index in range(len(found)):
        scan.take(index)
    scan.end()
    return [ruler for index, ruler in enumerate(found) if index not in scan.dropped]


class _Quiet:
    """Goes through the rulers, and knows whether it is in the failures of a run without a start.

    :ivar head: the ruler above the failures of such a run.
    :ivar lone: the line of counts before it without anything of a run above.
    :ivar starts: printed starts that have no end yet.
    :ivar pending: the first and last of what goes once it is known how the run ends.
    """

    def __init__(self, text: str, found: list[Ruler]) -> None:
        self.text, self.found = text, found
        self.dropped: set[int] = set()
        self.head: Ruler | None = None
        self.lone: int | None = None
        self.is_headed = False
        self.starts: list[int] = []
        self.pending: list[tuple[int, int]] = []
        self.at = 0
        self.after = _after_counts(found)

    def take(self, index: int) -> None:
        ruler = self.found[index]
        if ruler.is_start:
            self._start(index)
        elif ruler.is_final:
            self._ruled(index)
        elif not ruler.char:
            self._bare(index)
        elif ruler.title in (*BLOCKS, *PASSED) and ruler.char == "=" and not self.is_headed:
            self.head = self.head or ruler

    def _start(self, index: int) -> None:
        is_within = bool(self.starts) or self._is_below(index)
        if self.head is not None and is_within:
            self.starts.append(index)
        elif self._is_too_narrow(index):
            self.dropped.add(index)
        else:
            self.end()
            self.is_headed = True

    def _is_too_narrow(self, index: int) -> bool:
        """Whether what follows a start is a run with rulers of another width."""
        after = self.found[index + 1] if index + 1 < len(self.found) else None
        is_section = after is not None and after.char == "=" and after.title in (*BLOCKS, *WARNINGS, SUMMARY)
        return after is not None and is_section and not after.fits(self.found[index].width)

    def _ruled(self, index: int) -> None:
        if self.head is None:
            between = PROGRESS.search(self.text, self.at, self.found[index].start)
            is_lone = not self.is_headed and between is None and not is_red(self.found[index])
            self.lone = index if is_lone else None
            self.is_headed, self.at = False, self.found[index].end
        elif self.starts:
            first = self.starts.pop()
            while self.pending and self.pending[-1][0] >= first:
                self.pending.pop()
            self.pending.append((first, index))
        elif not self.found[index].fits(self.head.width) or self._is_printed(index):
            self.pending.append((index, index))
        else:
            self.end()
            self.at = self.found[index].end

    def _is_below(self, index: int) -> bool:
        """Whether it is below a heading, or below text there that is not part of the run."""
        return is_deep(self.found, index, 0) or (bool(self.pending) and self.pending[-1][1] == index - 1)

    def _is_printed(self, index: int) -> bool:
        """Whether a line of counts below captured output is not the last that is said of its run."""
        following = self.after[index]
        is_repeated = following - 1 > index and not self.found[following - 1].char
        return self._is_below(index) and (is_repeated or goes_on(self.found, following - 1))

    def _bare(self, index: int) -> None:
        if self.head is None:
            return
        if self._is_below(index) and goes_on(self.found, self.after[index] - 1):
            self.pending.append((index, index))
            return
        if is_red(self.found[index]) or self.head.title in PASSED:
            self.dropped.update(self.starts, [self.lone] if self.lone is not None else [])
            for first, last in self.pending:
                self.dropped.update(range(first, last + 1))
            self.starts = []
        self.end()
        self.at = self.found[index].end

    def end(self) -> None:
        """Nothing more of this run."""
        if self.head is not None:
            self.dropped.update(i for i in self.starts if not self.found[i].fits(self.head.width))
        self.head = self.lone = None
        self.is_headed = False
        self.starts, self.pending = [], []


def _after_counts(found: list[Ruler]) -> list[int]:
    """For each ruler the index of the next one that is not a line of counts."""
    after, following = [], len(found)
    for index in range(len(found) - 1, -1, -1):
        after.append(following)
        if found[index].char and not found[index].is_final:
            following = index
    return after[::-1]
