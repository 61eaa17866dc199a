"""The one way in for text from outside: cut, sanitized, redacted."""

from __future__ import annotations

from collections.abc import MutableMapping

from loop_close.text.redact import redact
from loop_close.text.sanitize import sanitize, stripped

_HEAD_SHARE = 0.6


def clean(text: str, limit: int | None = None, numbers: MutableMapping[str, int] | None = None) -> str:
    """Make a text fit to store and to show.

    :param limit: the most characters of the text to keep, three fifths of them from its start and the rest
        from its end, around a line ``… N characters left out …`` that does not count. None keeps all.
    :param numbers: the numbers of the credentials, shared with other texts.
    """
    # First visible, as escape sequences hide credentials; then redacted while each is still whole: half a
    # key no longer looks like one, and half a key is still a secret. Only then cut.
    shown = sanitize(text)
    # An invisible character in the middle hides them too: around a credential these characters are left out.
    bare = shown if text.isascii() else stripped(text)
    text = redact(bare if bare != shown and redact(bare) != bare else shown, numbers)
    if limit is None or len(text) <= limit:
        return text
    # The cut may put a CI command at the start of a line.
    return sanitize(_cut(text, max(limit, 0)))


def _cut(text: str, limit: int) -> str:
    head = int(limit * _HEAD_SHARE)
    tail = len(text) - (limit - head)
    return f"{text[:head]}\n… {tail - head} characters left out …\n{text[tail:]}"
