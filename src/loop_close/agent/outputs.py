"""What an agent said last, and whether it says so again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loop_close.text import cut
from loop_close.text.normalize import ratio
from loop_close.text.redact import clean

# With the line about what was left out it stays below what ``ratio`` compares whole.
_LONGEST = 9_900


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """An output as it is kept: made safe, and of a long one the head and the tail.

    :ivar length: characters that it had.
    """

    text: str
    length: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LoopFound:
    """An output that says what an earlier one said.

    :ivar similarity: from the threshold to 1.
    :ivar back: which of the kept outputs it is like, 1 for the last of them.
    """

    similarity: float
    back: int


def output_of(text: str) -> Output:
    """What to keep of an output: credentials go, and so does what is not seen; linear, whatever the text."""
    return Output(text=clean(cut(text, _LONGEST)), length=len(text))


def find_loop(output: Output, kept: Iterable[Output], threshold: float) -> LoopFound | None:
    """The first of the kept outputs, the last one first, that is at least as alike as the threshold."""
    for back, earlier in enumerate(reversed(list(kept)), 1):
        if _may_be_alike(output, earlier, threshold):
            similarity = ratio(output.text, earlier.text, cutoff=threshold)
            if similarity >= threshold:
                return LoopFound(similarity=similarity, back=back)
    return None


def _may_be_alike(a: Output, b: Output, threshold: float) -> bool:
    """Of long texts only the ends are kept: their lengths bound how alike the whole of them can be."""
    if max(a.length, b.length) <= _LONGEST:
        return True
    return 2 * min(a.length, b.length) >= threshold * (a.length + b.length)
