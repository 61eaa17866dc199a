"""Failures that speak of None: any function that gave it may be behind them, and not only one that owes a value."""

from __future__ import annotations

import re
from collections.abc import Collection

from loop_close.facts import links
from loop_close.model import Failure

_NONE = re.compile(r"\bNone(Type)?\b")


def is_about_none(failures: Collection[Failure]) -> bool:
    """Whether at least half of the failures have a message that does."""
    return 2 * sum(map(_is_about_none, failures)) >= max(1, len(failures))


def _is_about_none(failure: Failure) -> bool:
    return any(_NONE.search(raised.message) for raised in links(failure.raised))
