"""How well a tool names the faulty function: one score for each fault and tool, the same rule for all tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.localize.faults import Fault
from benchmarks.localize.reading import NEAR, Named, Said, Scene, names_file, shows_line
from benchmarks.localize.spans import MODULE
from benchmarks.tokenizer import count_tokens

_NAMES = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """What one tool's words on one fault are worth.

    :ivar rank: of the faulty function among those named, from 1; None where it is not named.
    :ivar named: how many functions are named; ``names`` are the first of them, as ``file:function``.
    :ivar read: of the faulty function the rank in the reading order of the text; ``is_read`` where that is compared.
    :ivar chances: of each place with a stated probability that, and whether it is the right one.
    :ivar has_file: the faulty file is named; ``has_line``: the faulty line is, or is shown, or one near it.
    :ivar tokens: of what the reader gets.
    :ivar seconds: that the run took; 0 where nothing was run.
    """

    fault: str
    tool: str
    rank: int | None
    named: int
    names: tuple[str, ...]
    has_file: bool
    has_line: bool
    tokens: int
    groups: int | None
    seconds: float = 0.0
    read: int | None = None
    is_read: bool = False
    chances: tuple[tuple[float, bool], ...] = ()


def score(scene: Scene, fault: Fault, tool: str, said: Said, seconds: float = 0.0) -> Score:
    """Compare what was said with the fault that was put in."""
    return Score(
        fault=fault.id,
        tool=tool,
        rank=rank_of(fault, said.named),
        named=len(said.named),
        names=tuple(f"{named.file}:{named.function}" for named in said.named[:_NAMES]),
        has_file=names_file(scene, said.text, fault.file),
        has_line=shows_line(scene, said.text, fault.file, fault.faulty),
        tokens=count_tokens(said.text),
        groups=said.groups,
        seconds=round(seconds, 2),
        read=rank_of(fault, said.read or ()),
        is_read=said.read is not None,
        chances=tuple((chance, _is_named(fault, named)) for chance, named in said.chances),
    )


def rank_of(fault: Fault, named: Iterable[Named]) -> int | None:
    """The place of the faulty function among those named, from 1; None where it is not named."""
    return next((rank for rank, one in enumerate(named, start=1) if _is_named(fault, one)), None)


def _is_named(fault: Fault, named: Named) -> bool:
    """Outside of functions there is none to name: the file or the class as a whole is named, or the lines."""
    if named.file != fault.file:
        return False
    distance = min(abs(named.line - line) for line in fault.faulty)
    is_near = (fault.function == MODULE and distance <= NEAR) or (fault.kind == "class" and distance == 0)
    return named.function == fault.function or is_near
