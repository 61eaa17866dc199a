"""How much text there is."""

from __future__ import annotations


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model reads the text as.

    An estimate that needs no tokenizer: the UTF-8 bytes divided by 4, rounded up. For ASCII that is the usual
    "four characters a token"; bytes rather than characters, as other scripts cost more. Lone surrogates have
    no bytes and count nothing.
    """
    return -(-len(text.encode("utf-8", "ignore")) // 4)
