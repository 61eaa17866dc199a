"""The agent's command for one turn: its words, and what it reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loop_close.drive.plan import PROMPT, PROMPT_FILE


def prepared(words: Sequence[str], text: str, path: Path) -> tuple[list[str], bytes | None]:
    """The words with the prompt in its place, and what goes to the standard input.

    The prompt is given once: in the words, as a file, or else on the standard input. No shell reads it.

    :param path: of the file that holds the text.
    :returns: None for the standard input where nothing goes there.
    """
    argument = text.replace("\0", "")
    given = [word.replace(PROMPT_FILE, str(path)).replace(PROMPT, argument) for word in words]
    is_named = any(PROMPT in word or PROMPT_FILE in word for word in words)
    return given, None if is_named else text.encode("utf-8", "replace")


def failure(exit_code: int, *, is_late: bool, seconds: float) -> str:
    """Why a turn failed; empty where it did not."""
    if is_late:
        return f"the agent was stopped after {seconds:.0f} seconds"
    return f"the agent exited with code {exit_code}" if exit_code else ""
