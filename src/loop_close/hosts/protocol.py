"""What the hosts share: reading a payload, and fitting an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from loop_close.hosts import MAX_INPUT, Payload, PayloadError
from loop_close.text.sanitize import open_fence

Document = Mapping[str, object]

_LONGEST_PATH = 4_096


def document_of(data: bytes) -> Document:
    """The JSON object in the bytes; a byte-order mark before it is allowed.

    :raises PayloadError: when there is none.
    """
    if len(data) > MAX_INPUT:
        raise PayloadError(f"the input is longer than {MAX_INPUT:,} bytes")
    if not data.strip():
        raise PayloadError("the input is empty; expected JSON from a coding agent")
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise PayloadError(f"the input is invalid UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:  # also for numbers and depths that Python refuses
        raise PayloadError(f"the input is invalid JSON: {error}") from None
    if not isinstance(document, dict):
        raise PayloadError(f"the input is {_kind(document)}, not an object")
    return document


def event_of(document: Document, key: str, known: Sequence[str]) -> str:
    """What happened.

    :param known: the events that there is an answer to.
    :raises PayloadError: for any other.
    """
    event = needed(document, key)
    if event not in known:
        raise PayloadError(f"{key} is {_shown(event)}; loop-close handles {' and '.join(known)}")
    return event


#: The event of a session that begins, in the words of the hosts that have one.
START = "SessionStart"


def is_start(document: Document, event: str) -> bool:
    """Whether the session begins, or goes on after a break: hosts say the same when they shorten its context."""
    return event == START and text(document, "source") != "compact"


def needed(document: Document, *keys: str) -> str:
    """The text of the first of the keys that has one.

    :raises PayloadError: when none has, or another type.
    """
    for key in keys:
        if found := text(document, key):
            return found
    raise PayloadError(f"{' and '.join(keys)} is missing or empty")


def session_of(document: Document) -> str:
    """The conversation; for a subagent its own, as each is sent back by itself.

    :raises PayloadError: if it is missing.
    """
    return " ".join(filter(None, (needed(document, "session_id"), text(document, "agent_id"))))


def text(document: Document, key: str) -> str:
    """A text; empty if the key is missing or null.

    :raises PayloadError: for another type.
    """
    value = _typed(document, key, str, "a string")
    return _whole(value) if isinstance(value, str) else ""


def folder(document: Document, key: str) -> str:
    """A path; empty if the key is missing or null.

    :raises PayloadError: for another type, and for what no path can be.
    """
    found = text(document, key)
    if "\0" in found:
        raise PayloadError(f"{key} is not a path: it contains a NUL byte")
    if len(found) > _LONGEST_PATH:
        raise PayloadError(f"{key} is not a path: it has {len(found):,} characters")
    return found


def first_folder(document: Document, key: str) -> str:
    """The first path of a list; empty if there is none.

    :raises PayloadError: for another type.
    """
    for item in items(document, key)[:1]:
        return folder({key: item}, key)
    return ""


def flag(document: Document, key: str) -> bool:
    """A boolean; False if the key is missing or null.

    :raises PayloadError: for another type.
    """
    return _typed(document, key, bool, "a boolean") is True


def count(document: Document, key: str) -> int | None:
    """A number of times; None if the key is missing or null.

    :raises PayloadError: for another type, and below 0.
    """
    value = _typed(document, key, int, "a whole number")
    if not isinstance(value, int):
        return None
    if isinstance(value, bool) or value < 0:
        raise PayloadError(f"{key} is {_shown(value)}, not a whole number of at least 0")
    return value


def items(document: Document, key: str) -> Sequence[object]:
    """A list; empty if the key is missing or null.

    :raises PayloadError: for another type.
    """
    value = _typed(document, key, list, "a list")
    return value if isinstance(value, list) else ()


def inner(document: Document, key: str) -> Document:
    """An object; empty if the key is missing or null.

    :raises PayloadError: for another type.
    """
    value = _typed(document, key, dict, "an object")
    return value if isinstance(value, dict) else {}


def _typed(document: Document, key: str, kind: type, wanted: str) -> object:
    value = document.get(key)
    if value is not None and not isinstance(value, kind):
        raise PayloadError(f"{key} is {_kind(value)}, not {wanted}")
    return value


def _whole(value: str) -> str:
    """Half a surrogate pair can be written in JSON, and nowhere else."""
    return value.encode("utf-8", "replace").decode()


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")


def _shown(value: object) -> str:
    return ascii(value)[:60]


# What a host is answered: one line of JSON, its texts within what the host lets through.

_CUT = "…"
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


#: The most bytes of a text that reach the agent uncut, where a host has no limit of its own.
LIMIT = 9_000


def answer_with(
    build: Callable[[str], Mapping[str, object]], limit: int = LIMIT
) -> Callable[[Payload, str], str]:
    """A way to answer: the object that ``build`` makes of the fitted text; empty for a blank text."""
    return lambda payload, text: line(build(fitted(text, limit))) if text.strip() else ""


def end_run(payload: Payload, reason: str) -> str:
    """End the run as Claude Code and those after its model do; the person sees the reason."""
    return line({"continue": False, "stopReason": fitted(reason, LIMIT)})


def line(answer: Mapping[str, object]) -> str:
    """The answer as compact JSON in ASCII: whatever the encoding of standard output, it arrives."""
    return json.dumps(answer, separators=(",", ":"))


def fitted(text: str, limit: int) -> str:
    """The text, or as many of its first lines as fit with its last one, which says where all of it is.

    :param limit: the most bytes, in UTF-8.
    :returns: at most so many bytes. What is cut inside a code block ends the block before the last line.
    """
    text = text.strip("\n")
    if _size(text) <= limit:
        return _readable(text)
    body, _, last = text.rpartition("\n")
    longest = max(_FENCE.findall(body), key=len, default="")
    room = limit - _size(last) - len(longest) - _size(f"\n{_CUT}\n\n")
    if room <= 0:
        return _beginning(last, limit)
    head = _whole_lines(_beginning(body, room))
    return "\n".join(filter(None, (head, open_fence(head.split("\n")), _CUT, _readable(last))))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _beginning(text: str, limit: int) -> str:
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def _whole_lines(text: str) -> str:
    whole = text.rpartition("\n")[0]
    return whole or text
