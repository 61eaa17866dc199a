"""What a section of the prompt is: the record that the built-in ones and those of third parties share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from loop_close.model import Report


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A part of the next prompt.

    :ivar id: unique name.
    :ivar position: where it stands; the built-in ones go by tens from 10.
    :ivar render: lines of markdown for a report, given how many tokens they may cost. None when it has nothing
        to say. Text from outside has to pass :mod:`loop_close.prompt.show`.
    :ivar title: its heading, empty for none.
    :ivar tokens: the most it may cost; 0 for "all that the others leave".
    :ivar keep: it is given its tokens before those that are not kept. A third of the budget is for the section with
        the root causes alone.
    """

    id: str
    position: int
    render: Callable[[Report, int], Iterable[str]]
    title: str = ""
    tokens: int = 200
    keep: bool = False
