"""What watching an agent costs: a long output against those kept, and a long result of a tool."""

from __future__ import annotations

import copy
import random
import statistics
import time
from collections.abc import Callable, Iterator

from benchmarks.rows import Bench, Row

_MEGABYTE = 1_000_000
_WINDOW = 5
_TIMES = 9


def guard(bench: Bench) -> Iterator[Row]:
    """Outputs of a megabyte, unlike and just not alike enough; then twice as much; then a tool's result."""
    size = bench.tests(_MEGABYTE)
    for what, share in (("unlike", 1.0), ("86 % alike", 0.14)):
        spent = _comparing([_text(number, size, share) for number in range(_WINDOW + 1)])
        note = f"{size / 1e6:.2f} MB against {_WINDOW} kept, none of them a repetition"
        yield Row("guard", f"an output {what}", f"{spent * 1000:.1f} ms", "< 50 ms", note)
    half, whole = (
        _comparing([_text(n, length, 1.0) for n in range(_WINDOW + 1)]) for length in (size, 2 * size)
    )
    yield Row("guard", "twice the output", f"x {whole / half:.2f}", "< x 2.5", "only its ends are compared")
    half, whole = _observing(_text(1, size // 2, 1.0)), _observing(_text(1, size, 1.0))
    note = f"{whole * 1000:.1f} ms for {size / 1e6:.2f} MB, the whole of which counts"
    yield Row("guard", "twice a tool's result", f"x {whole / half:.2f}", "< x 2.5", note)


def _text(number: int, size: int, share: float) -> str:
    """One text, of which each number has another share replaced."""
    common, own = random.Random(0), random.Random(number + 1)
    words = common.choices([f"word{n}" for n in range(5_000)], k=size // 8)
    return " ".join(f"own{own.random()}" if own.random() < share else word for word in words)[:size]


def _comparing(texts: list[str]) -> float:
    from loop_close.seeds.guard import SafetyGuard

    *kept, last = texts
    watching = SafetyGuard(max_recent_outputs=_WINDOW)
    for text in kept:
        watching.detect_loop(text)
    spent = watching.spent
    if len(spent.outputs) != _WINDOW:
        raise RuntimeError("two of the texts are too much alike to measure by")
    fresh = [SafetyGuard(spent=copy.deepcopy(spent)) for _ in range(_TIMES)]
    return _median([lambda g=g: g.detect_loop(last) for g in fresh])


def _observing(text: str) -> float:
    from loop_close.seeds.supervisor import Supervisor, ToolResult

    result = ToolResult(tool="t", content=text)
    return _median([lambda: Supervisor().observe(result)] * _TIMES)


def _median(calls: list[Callable[[], object]]) -> float:
    """CPU seconds; the first call is for what is imported with it."""
    spent = []
    for call in calls:
        begun = time.process_time()
        call()
        spent.append(time.process_time() - begun)
    return statistics.median(spent[1:])
