"""Hosts of coding agents: what they send to a hook, the answers they read, where they keep their hooks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from loop_close.text import open_fence

__all__ = ["NAMES", "Config", "ConfigError", "Host", "Payload", "PayloadError", "all_hosts", "host_named"]

#: The most bytes that are read of what a host sends.
MAX_INPUT = 10_000_000
#: In the order in which they are listed.
NAMES = (
    "claude",
    "codex",
    "gemini",
    "openhands",
    "cursor",
    "cline",
    "copilot",
)


def all_hosts() -> tuple[Host, ...]:
    """Every host."""
    return tuple(map(host_named, NAMES))


def host_named(name: str) -> Host:
    """The host of that name, loaded by itself: the hook of one has no time for the others.

    :raises ValueError: when there is none; the text lists those that there are.
    """
    match name:
        case "claude":
            from loop_close.hosts.claude import HOST
        case "codex":
            from loop_close.hosts.codex import HOST
        case "gemini":
            from loop_close.hosts.gemini import HOST
        case "openhands":
            from loop_close.hosts.openhands import HOST
        case "cursor":
            from loop_close.hosts.cursor import HOST
        case "cline":
            from loop_close.hosts.cline import HOST
        case "copilot":
            from loop_close.hosts.copilot import HOST
        case _:
            raise ValueError(f"unknown host {name!r}; known hosts: {', '.join(NAMES)}")
    return HOST


class PayloadError(ValueError):
    """What a host sent cannot be understood; the text names what was wrong."""


class ConfigError(ValueError):
    """A configuration that cannot be changed safely; the text says why, and what would be right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Payload:
    """What a host says when it calls its hook.

    :ivar session: what the host calls the conversation; never empty.
    :ivar cwd: the folder the agent works in; empty if the host does not say.
    :ivar event: in the host's own words, such as ``Stop``.
    :ivar is_stop: the agent is about to stop; otherwise it has just used a tool.
    :ivar is_start: the session begins, and no agent is to be answered.
    :ivar is_again: the agent only goes on because a hook sent it back; None if the host does not say, or not always.
    :ivar loop_count: how often hooks sent it back in this conversation; None if the host does not count.
    :ivar is_interrupted: a person ended the work, or it broke off: the agent is not to be sent back.
    :ivar is_waiting: work is under way in the background, and wakes the agent when it is done.
    :ivar message: what the agent said last; empty if the host does not say.
    :ivar is_all_said: the message is all that the agent said since the person did, and not only the last of it.
    """

    session: str
    event: str
    is_stop: bool
    cwd: str = ""
    is_again: bool | None = False
    loop_count: int | None = None
    is_interrupted: bool = False
    is_waiting: bool = False
    message: str = ""
    is_all_said: bool = False
    is_start: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """The file that makes a host call the hook; its text goes in and comes out, nothing is read or written.

    :ivar project: its path below the project's root; ``user`` below the home folder.
    :ivar fresh: the text of a new file.
    :ivar added: from its text to one that has the hook; the same text if it has it. Raises ``ConfigError``.
    :ivar removed: from its text to one without the hook; the same text if it has none, None if it has
        nothing else and the file can go. What ``added`` did to a text is undone to the byte. Raises
        ``ConfigError``.
    :ivar is_program: it is run, and has to be executable.
    :ivar home: an environment variable that moves the user's folder; empty if there is none.
    :ivar note: what else is left for a person to do; empty if it is nothing.
    """

    project: str
    user: str
    fresh: str
    added: Callable[[str], str]
    removed: Callable[[str], str | None]
    is_program: bool = False
    home: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Host:
    """A program that lets an agent work, and asks its hooks on the way.

    Answers are what to print on standard output, one line without its end, with exit code 0; empty if nothing is
    to be said, which always lets the agent do what it was about to.

    :ivar name: as users type it.
    :ivar title: as its makers write it.
    :ivar limit: the most bytes of a text that reach the agent uncut; answers keep to it.
    :ivar read: from the bytes on standard input to what they say. Raises ``PayloadError``, and nothing else.
    :ivar go_on: makes the agent go on, with the text as what it reads next. Empty for a blank text.
    :ivar inform: lets the agent read the text without sending it back; empty if the host has no way to do that.
    :ivar end: ends the run, and shows the text to the person; empty if the host has no way to do that.
    """

    name: str
    title: str
    limit: int
    read: Callable[[bytes], Payload]
    go_on: Callable[[Payload, str], str]
    config: Config
    inform: Callable[[Payload, str], str] = lambda payload, text: ""
    end: Callable[[Payload, str], str] = lambda payload, reason: ""


@dataclass(frozen=True, kw_only=True, slots=True)
class HookLocation:
    """Where a host keeps its hooks.

    :ivar host: its name.
    :ivar path: from the file's document to the keys that lead to the list of an event's hooks; raises
        ``ConfigError`` for a document that the host would not take.
    :ivar entry: what is put into that list.
    :ivar beside: what a new file holds after the hooks.
    :ivar is_at_top: the events may be at the top of the document, too, and not below ``hooks``.
    """

    host: str
    path: Callable[[Mapping[str, object]], tuple[str, ...]]
    entry: Mapping[str, object]
    beside: Mapping[str, object] = field(default_factory=dict)
    is_at_top: bool = False


def command_line(host: str) -> str:
    """What a host is to run."""
    return f"loop-close hook --host {host}"


def group_of(handler: Mapping[str, object], **beside: object) -> dict[str, object]:
    """An entry as most hosts have it: a list of handlers, and what they are for."""
    return {**beside, "hooks": [dict(handler)]}


def json_config(slot: HookLocation, *, project: str, user: str, home: str = "", note: str = "") -> Config:
    """The configuration of a host that keeps its hooks in a JSON file."""
    return Config(
        project=project,
        user=user,
        home=home,
        note=note,
        fresh=fresh(slot),
        added=lambda text: _added(slot, text),
        removed=lambda text: _removed(slot, text),
    )


def _added(slot: HookLocation, text: str) -> str:
    from loop_close.hosts.config_file import added

    return added(slot, text)


def _removed(slot: HookLocation, text: str) -> str | None:
    from loop_close.hosts.config_file import removed

    return removed(slot, text)


def fresh(slot: HookLocation) -> str:
    """The text of a file that holds nothing but our hook."""
    # Ours goes first and not where a person would add it: so a file that we made differs from one that had the rest.
    first, *rest = slot.path(slot.beside)
    document = {first: nested(tuple(rest), slot.entry), **slot.beside}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def nested(path: tuple[str, ...], entry: Mapping[str, object]) -> object:
    """The entry in a list, below these keys."""
    value: object = [entry]
    for name in reversed(path):
        value = {name: value}
    return value


# --- the payload: a JSON object, its fields checked for their types

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
    return event == START and text_in(document, "source") != "compact"


def needed(document: Document, *keys: str) -> str:
    """The text of the first of the keys that has one.

    :raises PayloadError: when none has, or another type.
    """
    for key in keys:
        if found := text_in(document, key):
            return found
    raise PayloadError(f"{' and '.join(keys)} is missing or empty")


def session_of(document: Document) -> str:
    """The conversation; for a subagent its own, as each is sent back by itself.

    :raises PayloadError: if it is missing.
    """
    return " ".join(filter(None, (needed(document, "session_id"), text_in(document, "agent_id"))))


def text_in(document: Document, key: str) -> str:
    """A text; empty if the key is missing or null.

    :raises PayloadError: for another type.
    """
    value = _typed(document, key, str, "a string")
    return _whole(value) if isinstance(value, str) else ""


def folder_in(document: Document, key: str) -> str:
    """A path; empty if the key is missing or null.

    :raises PayloadError: for another type, and for what no path can be.
    """
    found = text_in(document, key)
    if "\0" in found:
        raise PayloadError(f"{key} is not a path: it contains a NUL byte")
    if len(found) > _LONGEST_PATH:
        raise PayloadError(f"{key} is not a path: it has {len(found):,} characters")
    return found


def first_folder_in(document: Document, key: str) -> str:
    """The first path of a list; empty if there is none.

    :raises PayloadError: for another type.
    """
    for item in items_in(document, key)[:1]:
        return folder_in({key: item}, key)
    return ""


def flag_in(document: Document, key: str) -> bool:
    """A boolean; False if the key is missing or null.

    :raises PayloadError: for another type.
    """
    return _typed(document, key, bool, "a boolean") is True


def count_in(document: Document, key: str) -> int | None:
    """A number of times; None if the key is missing or null.

    :raises PayloadError: for another type, and below 0.
    """
    value = _typed(document, key, int, "a whole number")
    if not isinstance(value, int):
        return None
    if isinstance(value, bool) or value < 0:
        raise PayloadError(f"{key} is {_shown(value)}, not a whole number of at least 0")
    return value


def items_in(document: Document, key: str) -> Sequence[object]:
    """A list; empty if the key is missing or null.

    :raises PayloadError: for another type.
    """
    value = _typed(document, key, list, "a list")
    return value if isinstance(value, list) else ()


def object_in(document: Document, key: str) -> Document:
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


# --- the answer: one line of JSON, its texts within the limit of the host

_CUT = "…"
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


#: The most bytes of a text that reach the agent uncut, where a host has no limit of its own.
LIMIT = 9_000


def answer_with(
    build: Callable[[str], Mapping[str, object]], limit: int = LIMIT
) -> Callable[[Payload, str], str]:
    """A way to answer: the object that ``build`` makes of the fitted text; empty for a blank text."""
    return lambda payload, text: answer_line(build(fitted(text, limit))) if text.strip() else ""


def end_run(payload: Payload, reason: str) -> str:
    """End the run as Claude Code and those after its model do; the person sees the reason."""
    return answer_line({"continue": False, "stopReason": fitted(reason, LIMIT)})


def answer_line(answer: Mapping[str, object]) -> str:
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
