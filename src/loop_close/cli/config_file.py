"""Our hook in a host's configuration file, and our section in ``AGENTS.md``: texts in, texts out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

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
    before = _written(document, text or "")
    for event in config.events:
        entries = _typed(hooks.setdefault(event, []), list, f"hooks.{event}")
        if not any(_runs_hook(host, each) for entry in entries for each in _commands(entry)):
            entries.append(config.entry)
    new = _written(document, text or "")
    return text if text is not None and new == before else new


def removed(host: str, config: Config, text: str) -> str | None:
    """The text without our hook, whatever the event; None if nothing else is in it.

    :raises ConfigError: when the text is invalid, or only its author knows what to take out.
    """
    if config.script:
        if text != config.script and _runs_hook(host, text):
            raise ConfigError(f"edited since loop-close wrote it; remove `{command_line(host)}` by hand")
        return None if text == config.script else text
    document = _parsed(config, text)
    before, hooks = _written(document, text), _typed(document.get("hooks", {}), dict, "hooks")
    for event, entries in [each for each in hooks.items() if isinstance(each[1], list)]:
        hooks[event] = [kept for entry in entries for kept in _without(host, entry)]
        if entries and not hooks[event]:
            del hooks[event]
    if _written(document, text) == before:
        return text
    if not hooks:
        del document["hooks"]
    return None if document in ({}, config.beside) else _written(document, text)


def _without(host: str, entry: Any) -> Iterator[Any]:
    """The entry without our handlers, unless it has no others."""
    ours = [command for command in _commands(entry) if _runs_hook(host, command)]
    for command in ours:
        if re.search(r"[;&|\n]", command):
            raise ConfigError(f"only its author knows what to remove of: {command}")
    if not ours:
        yield entry
    elif others := [each for each in entry.get("hooks") or () if not set(ours) & set(_commands(each))]:
        yield {**entry, "hooks": others}


def _commands(entry: Any) -> Iterator[str]:
    """The commands of an entry, or of one of its handlers."""
    if isinstance(entry, dict):
        inner = entry.get("hooks")
        for each in (entry, *(inner if isinstance(inner, list) else ())):
            if isinstance(each, dict) and isinstance(each.get("command"), str):
                yield each["command"]


def _runs_hook(host: str, command: str) -> bool:
    """Whether a line of a shell, or of a program, runs our hook for the host."""
    pattern = rf"(?m)^(?!\s*#).*(?<![\w-])loop[-_]close(\.exe)?[\"']? +hook +--host[ =]{host}(?![\w-])"
    return re.search(pattern, command) is not None


def _parsed(config: Config, text: str) -> dict[str, Any]:
    by_hand = json.dumps({"hooks": {event: [config.entry] for event in config.events}})
    try:
        document = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_unique)
        _written(document, text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not plain JSON ({error}); fix it, or add the hook by hand: {by_hand}") from None
    found: dict[str, Any] = _typed(document, dict, "the document")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f'"{twice[0]}" appears twice')
    return dict(pairs)


def _typed(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind):
        raise ConfigError(f"{name} is not {'a list' if kind is list else 'an object'}")
    return value


def _written(document: Mapping[str, Any], like: str) -> str:
    """The document with the indent and line breaks of the text."""
    indented = _INDENTED.search(like)
    text = json.dumps(document, indent=indented[1] if indented else 2, ensure_ascii=False, allow_nan=False)
    text.encode()  # half of a character cannot be written
    return f"{text}\n".replace("\n", "\r\n" if "\r\n" in like else "\n")


# --- our section in ``AGENTS.md`` (https://agents.md)

NAME = "AGENTS.md"
_BEGIN = "<!-- loop-close:begin (loop-close uninstall --agents-md removes this section) -->"
_END = "<!-- loop-close:end -->"
_SECTION = re.compile(r"<!-- loop-close:begin.*?<!-- loop-close:end -->\r?\n?", re.DOTALL)


def rules(file: str) -> list[str]:
    """The instructions for an agent, as list items.

    :param file: the path of the next prompt.
    """
    prompt = code(redact(file))
    return [
        "- After edits, run `loop-close check`. It runs all checks of this project. The work is done when it exits"
        " with 0.",
        f"- If it exits with 1, read {prompt} before the next edit. It names each root cause, the probable place, a"
        " failing statement with its values, and what earlier edits changed.",
        "- 2: it could not tell; it says why. 3: the loop is stuck: say so, and ask a person. 4: tests were changed,"
        " and the old ones do not pass: restore them, or ask a person.",
    ]


def with_section(text: str | None, file: str) -> str:
    """The text of ``AGENTS.md`` with our section: in its place, else at the end."""
    section = "\n".join([_BEGIN, "## Is the work done?", "", *rules(file), _END, ""])
    if text and _SECTION.search(text):
        return _SECTION.sub(lambda found: section, text)
    return f"{text.rstrip()}\n\n{section}" if text and text.strip() else section


def without_section(text: str) -> str | None:
    """The text without our section; None if nothing else is in it."""
    if not _SECTION.search(text):
        return text
    rest = _SECTION.sub("", text).rstrip()
    return f"{rest}\n" if rest else None
