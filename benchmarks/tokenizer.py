"""Tokens of a text by a real vocabulary: o200k_base, as ``rs-bpe`` carries it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from loop_close.prompt.compose import estimate_tokens

VOCABULARY = "o200k_base"


@cache
def _counter() -> Callable[[str], int] | None:
    try:
        from rs_bpe.bpe import openai
    except ModuleNotFoundError:
        return None
    count: Callable[[str], int] = openai.o200k_base().count
    return count


def is_exact() -> bool:
    """Whether the package is installed (the extra ``bench``); else tokens are estimated as the prompt's budget does."""
    return _counter() is not None


def count_tokens(text: str) -> int:
    """The number of tokens; lone surrogates are left out."""
    count = _counter() or estimate_tokens
    return count(text.encode("utf-8", "ignore").decode())
