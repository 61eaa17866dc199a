"""Some node ids out of many by lot, as tests that stand together are alike, but always the same ones."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest
from zlib import crc32


def drawn(nodeids: Iterable[str], number: int) -> list[str]:
    """At most so many of them, whichever comes first and whichever process asks."""
    return nsmallest(number, nodeids, key=turn)


def turn(nodeid: str) -> tuple[int, str]:
    """Its turn: those with the smallest are drawn."""
    return crc32(nodeid.encode("utf-8", "backslashreplace")), nodeid
