"""Our hook in a host's configuration file, and our section in ``AGENTS.md``: texts in, texts out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from loop_close.hosts import Config, ConfigError, command_line
from loop_close.text import code
from loop_close.text.redact import redact

_INDENTED = re.compile(r'\n([ \t]+)"')


def added(host: str, config: Config, text: str | None) -> str:
    """The text with our hook under every event; one that has it already is returned unchanged.

    :param text: None for no file yet.
    :raises ConfigError: when it cannot be added.
    """
    if config.script:
        if text is None or _runs_hook(host, text):
            return config.script if text is None else text
        raise ConfigError(
            "this hook is not from loop-close; to use both, make it pass its standard input to"
            f" `{command_line(host)}` and print that command's output"
        )
    document = dict(config.beside) if text is None else _parsed(config, text)
    config.check(document)
    hooks = _typed(document.setdefault("hooks", {}), dict, "hooks")
    missing = [event for event in config.events if not _holds_hook(host, hooks.get(event))]
    for event in missing:
        _typed(hooks.setdefault(event, []), list, f"hooks.{event}").append(config.entry)
    return _written(document, text or "") if missing else text or ""


def removed(host: str, config: Config, text: str) -> str | None:
    """The text without our hook, whatever the event; None if nothing else is in it.

    :raises ConfigError: when the text is invalid, or only its author knows what to take out.
    """
    if config.script:
        if text != config.script and _runs_hook(host, text):
            raise ConfigError(f"edited since loop-close wrote it; remove `{command_line(host)}` by hand")
        return None if text == config.script else text
    document = _parsed(config, text)
    hooks = _typed(document.get("hooks", {}), dict, "hooks")
    ours = [event for event, entries in hooks.items() if _holds_hook(host, entries)]
    for event in ours:
        entries = _typed(hooks[event], list, f"hooks.{event}")
        hooks[event] = [kept for entry in entries for kept in _without(host, entry)]
        if not hooks[event]:
            del hooks[event]
    if not ours:
        return text
    if not hooks:
        del document["hooks"]
    return None if document in ({}, config.beside) else _written(document, text)


def _without(host: str, entry: Any) -> list[Any]:
    """The entry without our handlers; nothing if it has no others."""
    if not _holds_hook(host, entry):
        return [entry]
    handlers = _typed(entry, dict, "an entry").get("hooks", [entry])
    for command in (each["command"] for each in handlers if _holds_hook(host, each)):
        if re.search(r"[;&|\n]", command):
            raise ConfigError(f"only its author knows what to remove of: {command}")
    others = [each for each in handlers if not _holds_hook(host, each)]
    return [{**entry, "hooks": others}] if others else []


def _holds_hook(host: str, value: Any) -> bool:
    """Whether a part of a document has our hook for the host."""
    text = json.dumps(value, ensure_ascii=False)
    return _runs_hook(host, text.replace('\\"', '"').replace("\\n", "\n"))


def _runs_hook(host: str, text: str) -> bool:
    """Whether a line of a program, or of a document, runs our hook for the host."""
    pattern = rf"(?m)^(?!\s*#).*(?<![\w-])loop[-_]close(\.exe)?[\"']? +hook +--host[ =]{host}(?![\w-])"
    return re.search(pattern, text) is not None


def _parsed(config: Config, text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text.removeprefix("\ufeff"), type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        by_hand = json.dumps({"hooks": {event: [config.entry] for event in config.events}})
        raise ConfigError(f"not plain JSON ({error}); fix it, or add the hook by hand: {by_hand}") from None


def _typed(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind):
        raise ConfigError(f"{name} is not {'a list' if kind is list else 'an object'}")
    return value


def _written(document: Mapping[str, Any], like: str) -> str:
    """The document with the indent and line breaks of the text."""
    indented = _INDENTED.search(like)
    text = json.dumps(document, indent=indented[1] if indented else 2, ensure_ascii=False)
    return f"{text}\n".replace("\n", "\r\n" if "\r\n" in like else "\n")


# --- our section in ``AGENTS.md`` (https://agents.md)

NAME = "AGENTS.md"
_BEGIN = "<!-- loop-close:begin (loop-close uninstall --agents-md removes this section) -->"
_END = "<!-- loop-close:end -->"
_SECTION = re.compile(r"<!-- loop-close:begin.*?<!-- loop-close:end -->\r?\n?", re.DOTALL)


def with_section(text: str | None, file: str) -> str:
    """The text of ``AGENTS.md`` with our section: in its place, else at the end.

    :param file: the path of the next prompt.
    """
    section = f"""\
{_BEGIN}
## Is the work done?

- After edits, run `loop-close check`. It runs all checks of this project. The work is done when it exits with 0.
- If it exits with 1, read {code(redact(file))} before the next edit. It names each root cause, the probable place, a\
 failing statement with its values, and what earlier edits changed.
- 2: it could not tell; it says why. 3: the loop is stuck: say so, and ask a person. 4: tests were changed, and the old\
 ones do not pass: restore them, or ask a person.
{_END}
"""
    text = text or ""
    if _SECTION.search(text):
        return _SECTION.sub(lambda found: section, text)
    return f"{text.rstrip()}\n\n{section}".lstrip()


def without_section(text: str) -> str | None:
    """The text without our section; None if nothing else is in it."""
    if not _SECTION.search(text):
        return text
    rest = _SECTION.sub("", text).rstrip()
    return f"{rest}\n" if rest else None
