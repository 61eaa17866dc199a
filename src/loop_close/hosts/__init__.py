"""Hosts of coding agents: the payload of a hook, the answer to it, and the configuration file with the hook."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import msgspec

from loop_close.records import Record
from loop_close.text import open_fence

__all__ = ["NAMES", "Config", "ConfigError", "Host", "Payload", "PayloadError", "all_hosts", "host_named"]

#: The largest payload that is read, in bytes.
MAX_INPUT = 10_000_000
#: The longest text in an answer, in bytes, for hosts without a limit of their own.
LIMIT = 9_000
#: In the order of messages and docs; each is a module here.
NAMES = ("claude", "codex", "gemini", "openhands", "cursor", "cline", "copilot")
#: The event at the start of a session, as hosts name it.
START = "SessionStart"


def all_hosts() -> tuple[Host, ...]:
    """Every host."""
    return tuple(map(host_named, NAMES))


def host_named(name: str) -> Host:
    """The host with this name; only its own module is imported, because a hook has to start fast.

    :raises ValueError: for an unknown name; the text lists the known ones.
    """
    if name not in NAMES:
        raise ValueError(f"unknown host {name!r}; known hosts: {', '.join(NAMES)}")
    host: Host = import_module(f"loop_close.hosts.{name}").HOST
    return host


class PayloadError(ValueError):
    """An invalid payload; the text names what is wrong."""


class ConfigError(ValueError):
    """A configuration file that cannot be changed safely; the text says why, and what would be right."""


class Payload(Record, frozen=True):
    """The payload of a hook call.

    :ivar session: id of the conversation; never empty. A subagent has its own, because each is sent back separately.
    :ivar event: the host's name for the event, such as ``Stop``.
    :ivar cwd: the agent's working directory; empty if unknown.
    :ivar is_stop: the agent is about to stop; otherwise it has just used a tool, or the session begins.
    :ivar is_start: a new session begins; there is no agent to answer yet.
    :ivar is_again: the agent continues because a hook sent it back; None if the host does not always report this.
    :ivar is_interrupted: a person or an error ended the turn: the agent must not be sent back.
    :ivar is_waiting: background work will resume the agent when it is done.
    """

    session: str
    event: str
    cwd: str = ""
    is_stop: bool = False
    is_start: bool = False
    is_again: bool | None = False
    is_interrupted: bool = False
    is_waiting: bool = False


class Sent(Record, frozen=True):
    """What most hosts send; each has a record with its own keys. What is missing or null has its default."""

    hook_event_name: str = ""
    session_id: str = ""
    agent_id: str = ""
    cwd: str = ""
    source: str = ""
    stop_hook_active: bool | None = None

    def payload(self) -> Payload:
        """What it says."""
        return Payload(
            session=" ".join(filter(None, (self.session_id, self.agent_id))) if self.session_id else "",
            event=self.event,
            cwd=self.cwd,
            # Hosts send the same event when a session is resumed, or its context was shortened.
            is_start=self.event == START and self.source not in ("resume", "compact"),
            is_again=self.stop_hook_active,
        )

    @property
    def event(self) -> str:
        """The name of the event."""
        return self.hook_event_name


class Config(Record, frozen=True):
    """The configuration file that makes a host call the hook.

    :ivar project: path of the project's file, from the root; ``user``: of the user's, from the home folder.
    :ivar events: below ``hooks`` in a JSON file, the lists that get the entry.
    :ivar entry: of such a list. ``beside``: what the host needs at the top level of the file.
    :ivar script: the whole file, where it is a program and not JSON.
    :ivar home: the environment variable that moves the user's folder; empty if there is none.
    :ivar note: what a person still has to do; empty for nothing.
    :ivar check: raises ``ConfigError`` for a document of which the host would not take the hook.
    """

    project: str
    user: str = ""
    events: tuple[str, ...] = ()
    entry: Mapping[str, Any] = {}
    beside: Mapping[str, Any] = {}
    script: str = ""
    home: str = ""
    note: str = ""
    check: Callable[[Mapping[str, Any]], None] = lambda document: None


class Host(Record, frozen=True):
    """A program that runs a coding agent and calls hooks.

    An answer is one line for standard output, without a line break, to be printed with exit code 0. An empty answer
    lets the agent do what it was about to do.

    :ivar name: the value of ``--host``; ``title`` the name of the product.
    :ivar sent: the record of what it sends.
    :ivar stops: the events at the end of an agent; ``others``: those that are handled besides.
    :ivar go_on: sends the agent back with the text as its next input. Empty for a blank text.
    :ivar inform: gives the text to the agent without sending it back; empty if the host cannot do that.
    :ivar end: ends the run and shows the text to the person; empty if the host cannot do that.
    :ivar limit: the longest text, in bytes, that the host passes on uncut; answers are not longer.
    """

    name: str
    title: str
    stops: tuple[str, ...]
    go_on: Callable[[Payload, str], str]
    config: Config
    sent: type[Sent] = Sent
    others: tuple[str, ...] = (START,)
    inform: Callable[[Payload, str], str] = lambda payload, text: ""
    end: Callable[[Payload, str], str] = lambda payload, text: ""
    limit: int = LIMIT

    def read(self, data: bytes) -> Payload:
        """The payload in the bytes of standard input: a JSON object, behind a byte-order mark or not.

        :raises PayloadError: when it cannot be understood.
        """
        if len(data) > MAX_INPUT:
            raise PayloadError(f"the input is longer than {MAX_INPUT:,} bytes")
        try:
            # Not by msgspec: hosts cut texts within a character, and half of one is no JSON to it.
            document = json.loads(data.decode("utf-8-sig"))
            kept = {key: value for key, value in document.items() if value is not None}
            sent = msgspec.convert(kept, self.sent)
        except AttributeError:
            raise PayloadError("the input is not a JSON object") from None
        except msgspec.ValidationError as error:
            raise PayloadError(f"the input is not what {self.title} sends: {error}") from None
        except (ValueError, RecursionError) as error:  # also for numbers and depths that Python refuses
            raise PayloadError(f"the input is not JSON from a coding agent: {error}") from None
        known = (*self.stops, *self.others)
        if sent.event not in known:
            raise PayloadError(f"the event is {ascii(sent.event)[:60]}; handled are {', '.join(known)}")
        payload = sent.payload()
        if not payload.session:
            raise PayloadError("the input names no session")
        return msgspec.structs.replace(
            payload, session=_readable(payload.session), is_stop=sent.event in self.stops
        )


def command_line(host: str) -> str:
    """The command that a host runs."""
    return f"loop-close hook --host {host}"


def group_of(host: str, timeout: int = 10, **beside: str) -> dict[str, Any]:
    """An entry in the form of most hosts: a list of handlers, here ours, and what they apply to."""
    return {**beside, "hooks": [handler_of(host, timeout)]}


def handler_of(host: str, timeout: int = 10) -> dict[str, Any]:
    """The handler of our hook in the form of most hosts."""
    return {"type": "command", "command": command_line(host), "timeout": timeout}


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
    text = _readable(text).strip("\n")
    if len(text.encode()) <= limit:
        return text
    body, _, last = text.rpartition("\n")
    longest = max(_FENCE.findall(body), key=len, default="")
    room = limit - len(f"{last}{longest}\n{_CUT}\n\n".encode())
    if room <= 0:
        return _beginning(last, limit)
    begin = _beginning(body, room)
    head = begin.rpartition("\n")[0] or begin
    return "\n".join(filter(None, (head, open_fence(head.split("\n")), _CUT, last)))


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _beginning(text: str, limit: int) -> str:
    return text.encode()[:limit].decode("utf-8", "ignore")
