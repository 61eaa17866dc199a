"""What other people's code raised, in words."""

from __future__ import annotations


def fault_text(fault: BaseException) -> str:
    """``Type: message``; the type alone where the message cannot be made."""
    try:
        return f"{type(fault).__name__}: {fault}"
    except Exception:
        return type(fault).__name__
