"""Fuzz :func:`loop_close.library.close_loop` with atheris; see ``README.md`` for the commands."""

from __future__ import annotations

import re
import sys
import time
import zlib

import atheris

with atheris.instrument_imports(include=["loop_close"]):
    from loop_close.library import LoopClosureReport, close_loop
    from loop_close.prompt import compose, place, sections  # noqa: F401  loaded where they can be instrumented
    from loop_close.readers import DEFAULT_READERS
    from loop_close.text import normalize, redact  # noqa: F401

    for reader in DEFAULT_READERS:
        reader.load()

_SECONDS = 2.0
_CODES = (1, None, 0, 2, 1, 139, None)
_BUDGETS = (2_000, 2_000, 300, 8_000)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def check(data: bytes) -> None:
    """One input: the bytes are the output, their checksum says with which exit code and on which stream."""
    how = zlib.crc32(data)
    middle = len(data) // 2 if how & 3 == 0 else len(data)
    budget = _BUDGETS[(how >> 2) & 3]
    begun = time.process_time()
    report = close_loop(data[:middle], data[middle:], _CODES[(how >> 4) % len(_CODES)], budget=budget)
    spent = time.process_time() - begun
    assert len(data) > 100_000 or spent < _SECONDS, f"{spent:.1f} s for {len(data)} bytes"
    _check_report(report, budget)


def _check_report(report: LoopClosureReport, budget: int) -> None:
    prompt = report.next_prompt
    assert prompt.startswith(("# Stall detected: ", "# No stall detected")), prompt[:80]
    assert prompt.endswith("\n")
    assert (report.verdict == "green") == (report.stall_reason == "no-stall-detected"), report.stall_reason
    unseen = _UNSEEN.search(prompt)
    assert unseen is None, repr(unseen)
    assert -(-len(prompt.encode()) // 4) <= budget, len(prompt)
    assert _open_fence(prompt) == "", prompt


def _open_fence(prompt: str) -> str:
    """The marks of the fence that the text ends in, by CommonMark 0.31, section 4.5."""
    marks = ""
    for line in prompt.split("\n"):
        found = _FENCE.fullmatch(line)
        if found is None:
            continue
        if not marks:
            marks = "" if found[1][0] == "`" and "`" in found[2] else found[1]
        elif found[1].startswith(marks) and not found[2].strip(" \t"):
            marks = ""
    return marks


def main() -> None:
    """Hand over to libFuzzer."""
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
