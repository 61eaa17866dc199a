"""Hosts of coding agents: the payload of a hook, the answer to it, and the configuration file with the hook."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from loop_close.lazy import dataclass
from loop_close.text import open_fence

__all__ = ["NAMES", "Config", "ConfigError", "Host", "Payload", "PayloadError", "all_hosts", "host_named"]

#: The largest payload that is read, in bytes.
MAX_INPUT = 10_000_000
#: The longest text in an answer, in bytes, for hosts without a limit of their own.
LIMIT = 9_000
#: In the order of messages and docs.
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
    """The host with this name; only its own module is imported, because a hook has to start fast.

    :raises ValueError: for an unknown name; the text lists the known ones.
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
    """An invalid payload; the text names what is wrong."""


class ConfigError(ValueError):
    """A configuration file that cannot be changed safely; the text says why, and what would be right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Payload:
    """The payload of a hook call.

    :ivar session: id of the conversation; never empty.
    :ivar cwd: the agent's working directory; empty if unknown.
    :ivar event: the host's name for the event, such as ``Stop``.
    :ivar is_stop: the agent is about to stop; otherwise it has just used a tool.
    :ivar is_start: the session begins; there is no agent to answer yet.
    :ivar is_again: the agent continues because a hook sent it back; None if the host does not always report this.
    :ivar loop_count: how often hooks sent it back in this conversation; None if unknown.
    :ivar is_interrupted: a person or an error ended the turn: the agent must not be sent back.
    :ivar is_waiting: background work will resume the agent when it is done.
    :ivar message: the last message of the agent; empty if unknown.
    :ivar is_all_said: the message contains all of the agent's messages since the last one of a person.
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
    """The configuration file that makes a host call the hook. Pure functions of its text; no file is read or written.

    :ivar project: path of the project's file, from the root; ``user``: of the user's, from the home folder.
    :ivar fresh: the text of a new file.
    :ivar added: returns the text with the hook; an unchanged text already has it. Raises ``ConfigError``.
    :ivar removed: returns the text without the hook, byte for byte as before ``added``; None if nothing else is in
        it and the file can be removed. Raises ``ConfigError``.
    :ivar emptied: what stays of a file with nothing else to which a link leads: a person made both; None: neither does.
    :ivar is_program: the file is a program and must be executable.
    :ivar home: the environment variable that moves the user's folder; empty if there is none.
    :ivar note: what a person still has to do; empty for nothing.
    """

    project: str
    user: str
    fresh: str
    added: Callable[[str], str]
    removed: Callable[[str], str | None]
    emptied: str | None = None
    is_program: bool = False
    home: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Host:
    """A program that runs a coding agent and calls hooks.

    An answer is one line for standard output, without a line break, to be printed with exit code 0. An empty answer
    lets the agent do what it was about to do.

    :ivar name: the value of ``--host``.
    :ivar title: the name of the product.
    :ivar payload_of: the payload in what the host sends. Raises only ``PayloadError``.
    :ivar limit: the longest text, in bytes, that the host passes on uncut; answers are not longer.
    :ivar go_on: sends the agent back with the text as its next input. Empty for a blank text.
    :ivar inform: gives the text to the agent without sending it back; empty if the host cannot do that.
    :ivar end: ends the run and shows the text to the person; empty if the host cannot do that.
    """

    name: str
    title: str
    payload_of: Callable[[HookInput], Payload]
    go_on: Callable[[Payload, str], str]
    config: Config
    limit: int = LIMIT
    inform: Callable[[Payload, str], str] = lambda payload, text: ""
    end: Callable[[Payload, str], str] = lambda payload, reason: ""

    def read(self, data: bytes) -> Payload:
        """The payload in the bytes of standard input.

        :raises PayloadError: when it cannot be understood.
        """
        return self.payload_of(hook_input(data))


@dataclass(frozen=True, kw_only=True, slots=True)
class HookLocation:
    """Where a JSON file of a host has its hooks.

    :ivar host: name of the host.
    :ivar entry: the element to add to the list of an event's hooks.
    :ivar path: returns the keys that lead to that list, given the document; raises ``ConfigError`` for a document that
        the host would reject.
    :ivar beside: other members of a new file, after the hooks.
    :ivar is_at_top: events may also be at the top level of the document instead of below ``hooks``.
    """

    host: str
    entry: Mapping[str, object]
    path: Callable[[Mapping[str, object]], tuple[str, ...]] = lambda document: ("hooks", "Stop")
    beside: Mapping[str, object] = field(default_factory=dict)
    is_at_top: bool = False


def command_line(host: str) -> str:
    """The command that a host runs."""
    return f"loop-close hook --host {host}"


def handler_of(host: str, timeout: int = 10) -> dict[str, object]:
    """The handler of our hook in the form of most hosts."""
    return {"type": "command", "command": command_line(host), "timeout": timeout}


def group_of(handler: Mapping[str, object], **beside: object) -> dict[str, object]:
    """An entry in the form of most hosts: a list of handlers, and what they apply to."""
    return {**beside, "hooks": [dict(handler)]}


def json_config(
    slot: HookLocation, *, project: str, user: str = "", home: str = "", note: str = ""
) -> Config:
    """The configuration of a host with its hooks in a JSON file, which has one path in projects and for users."""
    return Config(
        project=project,
        user=user or project,
        home=home,
        note=note,
        fresh=fresh(slot),
        added=lambda text: _added(slot, text),
        removed=lambda text: _removed(slot, text),
        emptied=_document_text(slot.beside),
    )


def _added(slot: HookLocation, text: str) -> str:
    from loop_close.hosts.config_file import added

    return added(slot, text)


def _removed(slot: HookLocation, text: str) -> str | None:
    from loop_close.hosts.config_file import removed

    return removed(slot, text)


def fresh(slot: HookLocation) -> str:
    """The text of a file that contains only our hook."""
    # Ours comes first, not last as in a changed file: so a file that we created can be recognized.
    first, *rest = slot.path(slot.beside)
    return _document_text({first: nested(tuple(rest), slot.entry), **slot.beside})


def _document_text(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def nested(path: tuple[str, ...], entry: Mapping[str, object]) -> object:
    """A list with the entry, nested below these keys."""
    value: object = [entry]
    for name in reversed(path):
        value = {name: value}
    return value


# --- the payload: a JSON object, its fields checked for their types

_LONGEST_PATH = 4_096

#: The event at the start of a session, as hosts name it.
START = "SessionStart"


class HookInput:
    """The JSON object that a host sends.

    A field that is missing or null counts as empty. Every method raises ``PayloadError`` for a value of another type.
    """

    def __init__(self, fields: Mapping[str, object]) -> None:
        self._fields = fields

    def __contains__(self, key: str) -> bool:
        return key in self._fields

    def needed(self, *keys: str) -> str:
        """The string below the first of the keys that is present and not empty.

        :raises PayloadError: when there is none.
        """
        for key in keys:
            if found := self.text(key):
                return found
        raise PayloadError(f"{' and '.join(keys)} is missing or empty")

    def event(self, key: str, known: Sequence[str]) -> str:
        """The name of the event.

        :param known: the events that are handled.
        :raises PayloadError: for any other event.
        """
        event = self.needed(key)
        if event not in known:
            raise PayloadError(f"{key} is {_shown(event)}; loop-close handles {' and '.join(known)}")
        return event

    def is_start(self, event: str) -> bool:
        """Whether the session begins or is resumed. Hosts send the same event after they shorten its context."""
        return event == START and self.text("source") != "compact"

    def session(self) -> str:
        """Id of the conversation; a subagent has its own, because each is sent back separately."""
        return " ".join(filter(None, (self.needed("session_id"), self.text("agent_id"))))

    def text(self, key: str) -> str:
        """The string below the key; lone surrogates, which UTF-8 cannot encode, are replaced."""
        value = self._typed(key, str, "a string")
        return _readable(value) if isinstance(value, str) else ""

    def folder(self, key: str) -> str:
        """The path below the key.

        :raises PayloadError: for an impossible path.
        """
        found = self.text(key)
        if "\0" in found:
            raise PayloadError(f"{key} is not a path: it contains a NUL byte")
        if len(found) > _LONGEST_PATH:
            raise PayloadError(f"{key} is not a path: it has {len(found):,} characters")
        return found

    def first_folder(self, key: str) -> str:
        """The first path in the list below the key."""
        return next((HookInput({key: item}).folder(key) for item in self.items(key)[:1]), "")

    def flag(self, key: str) -> bool:
        """The boolean below the key."""
        return self._typed(key, bool, "a boolean") is True

    def count(self, key: str) -> int | None:
        """The whole number below the key, at least 0; None if there is none."""
        value = self._typed(key, int, "a whole number")
        if not isinstance(value, int):
            return None
        if isinstance(value, bool) or value < 0:
            raise PayloadError(f"{key} is {_shown(value)}, not a whole number of at least 0")
        return value

    def items(self, key: str) -> Sequence[object]:
        """The list below the key."""
        value = self._typed(key, list, "a list")
        return value if isinstance(value, list) else ()

    def inner(self, key: str) -> HookInput:
        """The object below the key."""
        value = self._typed(key, dict, "an object")
        return HookInput(value if isinstance(value, dict) else {})

    def _typed(self, key: str, kind: type, wanted: str) -> object:
        value = self._fields.get(key)
        if value is not None and not isinstance(value, kind):
            raise PayloadError(f"{key} is {_kind(value)}, not {wanted}")
        return value


def hook_input(data: bytes) -> HookInput:
    """Parse a JSON object; a byte-order mark before it is allowed.

    :raises PayloadError: for anything else.
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
    return HookInput(document)


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")


def _shown(value: object) -> str:
    return ascii(value)[:60]


# --- the answer: one line of JSON, its texts within the limit of the host

_CUT = "…"
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def answer_with(
    build: Callable[[str], Mapping[str, object]], limit: int = LIMIT
) -> Callable[[Payload, str], str]:
    """A function that answers with the object that ``build`` makes of the cut text; empty for a blank text."""
    return lambda payload, text: answer_line(build(fitted(text, limit))) if text.strip() else ""


def end_run(payload: Payload, reason: str) -> str:
    """End the run in the form of Claude Code, which others copied; the person sees the reason."""
    return answer_line({"continue": False, "stopReason": fitted(reason, LIMIT)})


def answer_line(answer: Mapping[str, object]) -> str:
    """The answer as compact JSON in ASCII, which is safe for every encoding of standard output."""
    return json.dumps(answer, separators=(",", ":"))


def fitted(text: str, limit: int) -> str:
    """Cut a text to its first lines and its last line, which names the file with the whole text.

    :param limit: in bytes of UTF-8.
    :returns: at most ``limit`` bytes. A code block that is cut is closed before the last line.
    """
    text = text.strip("\n")
    if _size(text) <= limit:
        return _readable(text)
    body, _, last = text.rpartition("\n")
    longest = max(_FENCE.findall(body), key=len, default="")
    room = limit - _size(last) - len(longest) - _size(f"\n{_CUT}\n\n")
    if room <= 0:
        return _beginning(last, limit)
    begin = _beginning(body, room)
    head = begin.rpartition("\n")[0] or begin
    return "\n".join(filter(None, (head, open_fence(head.split("\n")), _CUT, _readable(last))))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _beginning(text: str, limit: int) -> str:
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
