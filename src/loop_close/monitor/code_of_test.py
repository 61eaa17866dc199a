"""The code of a test, with that of its fixtures."""

from __future__ import annotations

from types import CodeType
from typing import NamedTuple


class CodeOfTest(NamedTuple):
    """What a test is made of.

    :ivar file: of the test; its code may stand elsewhere.
    :ivar codes: of the test, its fixtures, and what sets up its class.
    """

    file: str
    codes: tuple[CodeType, ...]
