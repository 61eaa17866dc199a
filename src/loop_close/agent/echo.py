"""Whether a keyword is the agent's own, or the task's words said back."""

from __future__ import annotations

import re
from typing import Literal

from loop_close.agent.words import Mention

_LONGEST = 50_000
_WORD = re.compile(r"[\w']+")
#: So many words beside the keyword make it a phrase, as (before, after).
_BESIDE = ((2, 0), (1, 1), (0, 2))

#: ``phrase``: the words beside it are the task's, too. ``bare``: nothing stands beside it, and the task has it.
Echo = Literal["", "bare", "phrase"]


def words_of_task(task: str) -> str:
    """The words of a task, in lower case, a space before and behind each."""
    return f" {' '.join(_words(task[:_LONGEST]))} "


def echo_of(sentence: str, mention: Mention, task_words: str) -> Echo:
    """How far the sentence repeats the task's words around a keyword.

    :param task_words: what :func:`words_of_task` made.
    """
    if not task_words.strip():
        return ""
    before, after = _words(sentence[: mention.start]), _words(sentence[mention.end :])
    keyword = _words(sentence[mention.start : mention.end])
    if len(before) + len(after) < 2:
        return "bare" if len(keyword) > 1 and _is_in([*before, *keyword, *after], task_words) else ""
    for left, right in _BESIDE:
        if left <= len(before) and right <= len(after):
            phrase = [*before[len(before) - left :], *keyword, *after[:right]]
            if _is_in(phrase, task_words):
                return "phrase"
    return ""


def _is_in(phrase: list[str], task_words: str) -> bool:
    return f" {' '.join(phrase)} " in task_words


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))
