"""What a host sends: JSON of which only what is used is looked at, as its keys come and go."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from loop_close.hosts.contract import MAX_INPUT, PayloadError

Document = Mapping[str, object]

_LONGEST_PATH = 4_096


def document_of(data: bytes) -> Document:
    """The JSON object in the bytes; a byte-order mark before it is no fault.

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
    except (ValueError, RecursionError) as error:  # also for numbers and depths that nobody reads
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
    """The conversation; a subagent's own where it is one that asks, as each is sent back by itself.

    :raises PayloadError: where it is missing.
    """
    return " ".join(filter(None, (needed(document, "session_id"), text(document, "agent_id"))))


def text(document: Document, key: str) -> str:
    """A text; empty where the key is missing or null.

    :raises PayloadError: for another type.
    """
    value = _typed(document, key, str, "a string")
    return _whole(value) if isinstance(value, str) else ""


def folder(document: Document, key: str) -> str:
    """A path; empty where the key is missing or null.

    :raises PayloadError: for another type, and for what no path can be.
    """
    found = text(document, key)
    if "\0" in found:
        raise PayloadError(f"{key} is not a path: it contains a NUL byte")
    if len(found) > _LONGEST_PATH:
        raise PayloadError(f"{key} is not a path: it has {len(found):,} characters")
    return found


def first_folder(document: Document, key: str) -> str:
    """The first path of a list; empty where there is none.

    :raises PayloadError: for another type.
    """
    for item in items(document, key)[:1]:
        return folder({key: item}, key)
    return ""


def flag(document: Document, key: str) -> bool:
    """A boolean; False where the key is missing or null.

    :raises PayloadError: for another type.
    """
    return _typed(document, key, bool, "a boolean") is True


def count(document: Document, key: str) -> int | None:
    """A number of times; None where the key is missing or null.

    :raises PayloadError: for another type, and below 0.
    """
    value = _typed(document, key, int, "a whole number")
    if not isinstance(value, int):
        return None
    if isinstance(value, bool) or value < 0:
        raise PayloadError(f"{key} is {_shown(value)}, not a whole number of at least 0")
    return value


def items(document: Document, key: str) -> Sequence[object]:
    """A list; empty where the key is missing or null.

    :raises PayloadError: for another type.
    """
    value = _typed(document, key, list, "a list")
    return value if isinstance(value, list) else ()


def inner(document: Document, key: str) -> Document:
    """An object; empty where the key is missing or null.

    :raises PayloadError: for another type.
    """
    value = _typed(document, key, dict, "an object")
    return value if isinstance(value, dict) else {}


def command_in(parameters: Document) -> str:
    """The shell command among a tool's parameters; empty where there is none, whatever else they are."""
    texts = (parameters.get(key) for key in ("command", "commands"))
    return next((_whole(value) for value in texts if isinstance(value, str)), "")


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
