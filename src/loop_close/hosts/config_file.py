"""Our hook in a host's configuration file, and our section in ``AGENTS.md``: added once, removed to the byte."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import NoReturn

from loop_close.hosts import Config, ConfigError, HookLocation, command_line, fresh, nested
from loop_close.lazy import dataclass
from loop_close.text import code, digest
from loop_close.text.redact import redact

_WORDS = re.compile(r"""[\s"'=/\\]+""")
_NAMES = ("loop-close", "loop-close.exe", "loop_close")
# Splits a shell line at the operators that end a command; quoted text and redirections such as ``2>&1`` do not.
_PIECE = re.compile(
    r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[0-9]?[<>]&[0-9-]?|&>|(?P<ends>\|\||&&|[;|&\n])|[^'"\\<>|&;\n0-9]+|.""",
    re.DOTALL,
)
_ENDS = re.compile(r"[;|&\n]")
_REDIRECTED = re.compile(r"[<>]&|&>")
#: Commands that may accompany the hook: they only prepare it, or set the exit code.
_BESIDE = ("cd", "pushd", "export", "unset", "set", "source", ".", "true", ":", "exit", "exec")
_ASSIGNED = re.compile(r"\w+=")


def runs_hook(host: str, command: object) -> bool:
    """Whether a shell line runs our hook for the host, alone or with other commands."""
    return isinstance(command, str) and any(_is_hook(host, each) for each in _shell_commands(command))


def is_ours(host: str, command: object) -> bool:
    """Whether a shell line runs only our hook for the host, from any path.

    A change of the folder or the environment before it is allowed, and so is ``|| true`` after it.
    """
    if not isinstance(command, str):
        return False
    others = [each for each in _shell_commands(command) if not _is_hook(host, each)]
    return runs_hook(host, command) and all(map(_is_beside, others)) and not _is_nested(host, command)


def _shell_commands(line: str) -> Iterator[str]:
    """The commands of a shell line."""
    begun = 0
    for piece in _PIECE.finditer(line):
        if piece["ends"]:
            yield line[begun : piece.start()]
            begun = piece.end()
    yield line[begun:]


def _is_hook(host: str, command: str) -> bool:
    words = _WORDS.split(command)
    after = words[next((at for at, word in enumerate(words) if word in _NAMES), len(words)) :]
    return "hook" in after and ("--host", host) in pairwise(after)


def _is_beside(command: str) -> bool:
    words = command.split()
    is_set = all(map(_ASSIGNED.match, words))
    return is_set or words[0] in _BESIDE or words[:2] == ["command", "-v"]


def _is_nested(host: str, line: str) -> bool:
    """Whether the hook is in a nested command, as after ``sh -c``, which may run other commands too."""
    hooks = (each for each in _shell_commands(line) if _is_hook(host, each))
    return any(_ENDS.search(_REDIRECTED.sub("", each)) for each in hooks)


# JSON is changed in place: parsing and writing it again would lose its layout. A part is inserted at the end of its
# container, or cut out, by offsets. Every other byte stays.

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENTED = re.compile(r'\n([ \t]+)["\[{]')
_LINE_START = re.compile(r"[ \t]*")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


#: Offsets of the first character, and of the one after the last.
Range = tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonPart:
    """A member of an object, or an element of a list.

    :ivar name: empty for an element.
    :ivar start: offset of its first character; ``end`` of the one after its last; ``at`` of its value.
    """

    name: str
    start: int
    at: int
    end: int
    value: object


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """The layout of a JSON text.

    :ivar unit: the indentation of one level; None if all is on one line.
    """

    unit: str | None
    newline: str


def parse(text: str) -> object:
    """Parse the text.

    :raises ValueError: for invalid JSON; ``NaN`` and the like are invalid, other than in Python.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def root(text: str) -> int:
    """The offset of the root value."""
    return _skip(text, 0)


def parts(text: str, at: int) -> list[JsonPart]:
    """The members or elements of the container at an offset of valid JSON."""
    found = []
    is_list, position = text[at] == "[", _skip(text, at + 1)
    while text[position] not in "]}":
        start, name, value_at = position, "", position
        if not is_list:
            name, after = _DECODER.raw_decode(text, start)
            value_at = _skip(text, _skip(text, after) + 1)
        value, end = _DECODER.raw_decode(text, value_at)
        found.append(JsonPart(name=name, start=start, at=value_at, end=end, value=value))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return found


def layout_of(text: str) -> Layout:
    """The layout of the text; two spaces a level for an empty container."""
    newline = "\r\n" if "\r\n" in text else "\n"
    is_one_line = "\n" not in text.strip() and bool(parts(text, root(text)))
    indented = _INDENTED.search(text)
    return Layout(unit=None if is_one_line else indented[1] if indented else "  ", newline=newline)


def written(value: object, layout: Layout, indent: str = "") -> str:
    """The value as JSON; the content of its containers is separated from the brackets.

    :param indent: of the line that it begins on.
    """
    text = json.dumps(value, indent=layout.unit or "", ensure_ascii=False)
    return text.replace("\n", " " if layout.unit is None else layout.newline + indent)


def inserted(text: str, at: int, name: str, value: object, layout: Layout) -> str:
    """Insert a part at the end of the container at an offset.

    In an empty container nothing separates the bracket and the part. So :func:`is_filled` knows that the container
    existed before.

    :param name: empty for a list.
    """
    there = parts(text, at)
    lead = f"{json.dumps(name, ensure_ascii=False)}: " if name else ""
    if not there:
        return text[: at + 1] + lead + written(value, layout, _indent_at(text, at)) + text[at + 1 :]
    last, indent = there[-1], _indent_at(text, there[-1].start)
    is_below = "\n" in text[at : there[0].start] and layout.unit is not None
    gap = layout.newline + indent if is_below else _gap(text, there)
    return f"{text[: last.end]},{gap}{lead}{written(value, layout, indent)}{text[last.end :]}"


def is_filled(text: str, at: int) -> bool:
    """Whether the only part of the container at an offset was inserted into an empty container."""
    return parts(text, at)[0].start == at + 1


def ranges_without(
    text: str, at: int, inside: Callable[[JsonPart], list[Range] | None]
) -> list[Range] | None:
    """What to remove of the container at an offset; None for all of it. The exact inverse of :func:`inserted`.

    :param inside: the same for each of its parts.
    """
    there = parts(text, at)
    found = [inside(part) for part in there]
    if found and all(each is None for each in found):
        return [(at + 1, there[-1].end)] if is_filled(text, at) else None
    return [*_ranges_of(there, found), *(each for kept in found for each in kept or ())]


def _ranges_of(there: list[JsonPart], found: list[list[Range] | None]) -> Iterator[Range]:
    """The parts that are removed whole, each with what separates it from the others; at least one stays."""
    first = next((index for index, each in enumerate(found) if each is not None), 0)
    if first:
        yield there[0].start, there[first].start
    for index in range(first + 1, len(there)):
        if found[index] is None:
            yield there[index - 1].end, there[index].end


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _indent_at(text: str, at: int) -> str:
    match = _LINE_START.match(text, text.rfind("\n", 0, at) + 1)
    return match[0] if match else ""


def _gap(text: str, there: list[JsonPart]) -> str:
    """The text after a comma of this container."""
    if len(there) == 1:
        return " "
    return text[text.index(",", there[-2].end) + 1 : there[-1].start]


# --- our hook in the list of hooks of a JSON file

_BOM = "\ufeff"


def added(slot: HookLocation, text: str) -> str:
    """Add our hook; a text that has it is returned unchanged.

    :raises ConfigError: when it cannot be added.
    """
    mark, body = _halves(text)
    path = slot.path(_document(slot, body))
    layout, at = layout_of(body), root(body)
    for depth, name in enumerate(path):
        found = _member(body, at, name, path[:depth])
        if found is None:
            return mark + inserted(body, at, name, nested(path[depth + 1 :], slot.entry), layout)
        at = _container(body, found, "[" if depth == len(path) - 1 else "{", path[: depth + 1])
    if any(runs_hook(slot.host, command) for command in _commands(body, at)):
        return text
    return mark + inserted(body, at, "", slot.entry, layout)


def removed(slot: HookLocation, text: str) -> str | None:
    """Remove our hook from every event; None for the text of a file that we created.

    :raises ConfigError: when the text is invalid.
    """
    mark, body = _halves(text)
    _document(slot, body)
    if text == fresh(slot):
        return None
    _check_whole(slot, body)
    of_event = partial(_in_event, slot.host, body)
    events, at = _events(slot, body), root(body)

    def of_member(member: JsonPart) -> list[Range] | None:
        if member.at in events:
            return ranges_without(body, member.at, of_event)
        is_event = at in events or (slot.is_at_top and isinstance(member.value, list))
        return of_event(member) if is_event else []

    found = ranges_without(body, at, of_member)
    if found is None:  # nothing else is in the file
        found = [(at + 1, _skip(body, parts(body, at)[-1].end))]
    starts, ends = [start for start, _ in sorted(found)], [end for _, end in sorted(found)]
    kept = zip([0, *ends], [*starts, len(body)], strict=True)
    return mark + "".join(body[start:end] for start, end in kept)


def _check_whole(slot: HookLocation, body: str) -> None:
    for at in _events(slot, body):
        for event in parts(body, at):
            commands = _commands(body, event.at) if isinstance(event.value, list) else ()
            if any(runs_hook(slot.host, each) and not is_ours(slot.host, each) for each in commands):
                raise ConfigError(
                    f'"{event.name}" has a command that does more than run the hook; remove'
                    f" `{command_line(slot.host)}` from it by hand"
                )


def _commands(body: str, at: int) -> Iterator[object]:
    """The commands in an event's list."""
    for entry in parts(body, at):
        if isinstance(entry.value, dict):
            yield entry.value.get("command")
            for member in parts(body, entry.at):
                if member.name == "hooks" and isinstance(member.value, list):
                    yield from (item.get("command") for item in member.value if isinstance(item, dict))


def _in_event(host: str, body: str, event: JsonPart) -> list[Range] | None:
    if not isinstance(event.value, list):
        return []
    return ranges_without(body, event.at, partial(_in_entry, host, body))


def _in_entry(host: str, body: str, entry: JsonPart) -> list[Range] | None:
    """What to remove of an entry: a handler of ours, alone or in its group; a group without others goes whole."""
    if not isinstance(entry.value, dict):
        return []
    if is_ours(host, entry.value.get("command")):
        return None
    found: list[Range] = []
    for member in parts(body, entry.at):
        if member.name == "hooks" and isinstance(member.value, list):
            handlers = parts(body, member.at)
            ours = [None if _is_handler(host, each) else list[Range]() for each in handlers]
            if handlers and all(each is None for each in ours):
                return None
            found += _ranges_of(handlers, ours)
    return found


def _is_handler(host: str, part: JsonPart) -> bool:
    return isinstance(part.value, dict) and is_ours(host, part.value.get("command"))


def _halves(text: str) -> tuple[str, str]:
    """Split a byte-order mark from the text."""
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _document(slot: HookLocation, body: str) -> Mapping[str, object]:
    try:
        document = parse(body)
    except ValueError as error:
        raise ConfigError(_unreadable(slot, body, error)) from None
    if not isinstance(document, dict):
        raise ConfigError("not a JSON object: {…}")
    return document


def _unreadable(slot: HookLocation, body: str, error: ValueError) -> str:
    why = "the file is empty" if not body.strip() else f"invalid JSON: {error}"
    at = getattr(error, "pos", 0)
    if body.startswith(("//", "/*", "#"), at):
        why = f"comment in line {getattr(error, 'lineno', 1)}; JSON has no comments"
    hook = written(nested(slot.path(slot.beside), slot.entry), Layout(unit=None, newline="\n"))
    return f"{why}; fix it, or add the hook by hand: {hook}"


def _member(body: str, at: int, name: str, above: tuple[str, ...]) -> JsonPart | None:
    found = [part for part in parts(body, at) if part.name == name]
    if len(found) > 1:
        raise ConfigError(f'"{".".join((*above, name))}" appears twice; keep one')
    return found[0] if found else None


def _container(body: str, part: JsonPart, bracket: str, path: tuple[str, ...]) -> int:
    if body[part.at] != bracket:
        wanted = "a list: […]" if bracket == "[" else "an object: {…}"
        raise ConfigError(f'"{".".join(path)}" is not {wanted}')
    return part.at


def _events(slot: HookLocation, body: str) -> list[int]:
    """The offsets of the objects that map events to lists of hooks."""
    at = root(body)
    members = parts(body, at)
    if slot.is_at_top and all(member.name != "hooks" for member in members):
        return [at]
    return [member.at for member in members if member.name == "hooks" and isinstance(member.value, dict)]


# --- our section in ``AGENTS.md`` (https://agents.md)

# Its first line has a digest of the lines below it. So a section of an older version, or for other settings, is known
# as ours, and one that a person edited is left unchanged. A text without a line break at its end gets none: this
# distinguishes our blank line before the section from one of the person.

NAME = "AGENTS.md"
_REMOVED = "loop-close uninstall --agents-md"
_END = "<!-- loop-close:end -->"
_BEGIN = re.compile(r"<!-- loop-close:begin (?P<digest>[0-9a-f]{16}) [^\r\n]*-->(?P<newline>\r?\n)")
_MARK = "<!-- loop-close:begin"
# Only at the beginning of a line: a setting that we show may hold the same text.
_ENDING = re.compile(rf"^[ \t]*{_END}", re.MULTILINE)
_LF = "\n"


def rules(command: str, file: str) -> list[str]:
    """The instructions for an agent, as list items.

    :param command: runs the tests; ``file`` is the path of the next prompt.
    """
    tests, prompt = code(redact(command)), code(redact(file))
    return [
        f"- Run the tests with {tests}.",
        f"- If tests fail, read {prompt} before the next edit. It names each root cause, the probable place, a"
        " failing statement with its values, and what earlier edits changed.",
        "- The work is done when `loop-close status` exits with 0. 1: tests fail. 3: the loop is stuck; say so and"
        " ask a person.",
        "- Deleted, skipped or weakened tests are reported, and do not count as a fix.",
    ]


def agents_md(command: str, file: str) -> Config:
    """The configuration of ``AGENTS.md`` with the section for these settings; there is none for a user.

    :param command: runs the tests; ``file`` is the path of the next prompt.
    """
    lines = ["## Tests", "", *rules(command, file)]
    return Config(
        project=NAME,
        user="",
        fresh=f"{_section(lines, _LF)}{_LF}",
        added=lambda text: _added(text, lines),
        removed=_removed,
        emptied="",
    )


def _section(lines: list[str], newline: str) -> str:
    begin = f"<!-- loop-close:begin {digest(_LF.join(lines))} ({_REMOVED} removes this section) -->"
    return newline.join([begin, *lines, _END])


def _added(text: str, lines: list[str]) -> str:
    found = list(_sections(text))
    if not found:
        first = re.search(r"\r?\n", text)
        newline = first[0] if first else _LF
        section, body = _section(lines, newline), text.removeprefix("\ufeff")
        if body and not body.endswith("\n"):
            return f"{text}{newline}{newline}{section}"
        return f"{text}{newline}{section}{newline}" if body else f"{text}{section}"
    for start, end, newline, is_ours in reversed(found):
        if is_ours:
            text = f"{text[:start]}{_section(lines, newline)}{text[end:]}"
    return text


def _removed(text: str) -> str | None:
    """Remove our sections; None for a file that was created for one.

    :raises ConfigError: for a section that was edited.
    """
    found = list(_sections(text))
    if not all(is_ours for *_, is_ours in found):
        raise ConfigError(
            "the section of loop-close was edited; remove it by hand, with the comments before and after it"
        )
    for start, end, newline, _ in reversed(found):
        before, after = text[:start], text[end:]
        if not before and after == newline:
            return None
        text = _without(before, after, newline)
    return text


def _without(before: str, after: str, newline: str) -> str:
    if after.startswith(newline):
        after = after.removeprefix(newline)
        return f"{before.removesuffix(newline) if before.endswith(_LF + newline) else before}{after}"
    return f"{before.removesuffix(newline * 2)}{after}"


def _sections(text: str) -> Iterator[tuple[int, int, str, bool]]:
    """Start, end and line break of each section, and whether it is unedited.

    :raises ConfigError: for one without its end.
    """
    at = 0
    while (start := text.find(_MARK, at)) >= 0:
        end = _ENDING.search(text, start)
        if end is None:
            raise ConfigError(f"a section of loop-close has no end: {_END} is missing")
        at = end.end()
        if begin := _BEGIN.match(text, start):
            inside = text[begin.end() : end.start()].replace("\r\n", _LF).removesuffix(_LF)
            yield start, at, begin["newline"], begin["digest"] == digest(inside)
        else:
            yield start, at, _LF, False
