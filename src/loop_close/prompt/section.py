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
    :ivar keep: it is given its tokens before the others; those have to leave a third of the budget to the one
        with the root causes.
    :ivar is_of_loop: it exists from the second run of a loop on: then the root causes are shown in fewer words, so that
        the prompt does not grow.
    """

    id: str
    position: int
    render: Callable[[Report, int], Iterable[str]]
    title: str = ""
    tokens: int = 200
    keep: bool = False
    is_of_loop: bool = False
