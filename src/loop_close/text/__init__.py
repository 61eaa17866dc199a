"""Untrusted text made safe to show: sanitized, quoted in Markdown, cut; and values out of untrusted JSON.

Output of tests goes to a terminal, into a Markdown file, into CI logs and to a language model. Each of them can be
addressed by characters that a person does not see: escape sequences, bidirectional and zero-width characters
(CVE-2021-42574, "Trojan Source"), Unicode tags ("ASCII smuggling"), workflow commands of CI log readers.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

_Item = TypeVar("_Item")
#: Patterns are compiled when they are first needed: most texts need few of them.
compiled = cache(re.compile)
#: Byte order marks of UTF-16.
WIDE = (b"\xff\xfe", b"\xfe\xff")
# So many spaces take the room of words.
_PADDING = " " * 13
_BREAKS = ("\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029")

# ECMA-48: CSI is parameters, intermediates and one final byte; OSC, DCS, SOS, PM and APC run to ST (xterm
# also takes BEL). An unterminated one ends with its line, so that a truncated log does not lose all that
# follows. Each alternative starts with its own control character and gives nothing back, so the whole is
# linear.
_ESCAPES = r"""(?x) \x1b (?:
        \[ [0-?]*+ [\ -/]*+ [@-~]?+
      | [\]PX^_] [^\x07\x1b\x9c\n\r\v\f\x85\u2028\u2029]*+ (?> (?: \x07 | \x1b\\ | \x9c )? )
      | [\ -/]*+ [0-~]?+
    )
    # The 8-bit CSI only with parameters: U+009B alone is more often UTF-8 that was read as Latin-1.
    | \x9b (?> (?: [0-?]++ [\ -/]*+ [@-~] )? )"""

# junitxml of pytest writes characters that XML 1.0 forbids as "#x1B" (``bin_xml_escape``).
_SPELLED = r"#x1B(?:\[[0-?]*+[ -/]*+[@-~]?+|\](?>(?:(?!#x1B|#x07)[^\n])*)(?>(?:#x07|#x1B\\?)?))"

_CONTROLS = "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]+"  # C0 without tab and line breaks, DEL, C1
# Format, private use, surrogate, unassigned: characters that show nothing, or nothing that others know.
_UNSEEN_CATEGORIES = frozenset(("Cf", "Co", "Cs", "Cn"))
# Default_Ignorable_Code_Point, from DerivedCoreProperties.txt of the Unicode Character Database 16.0: "unicodedata" has
# no such property. Variation selectors and fillers are in it, which are marks and letters by category.
_IGNORABLE = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5)),
    *((0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3)),
    *((0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)

# GitHub: actions/runner ActionCommand.cs trims a line's start, then wants "::name"; "##[name]" counts
# anywhere in a line. Azure Pipelines looks for "##vso[" anywhere, TeamCity for "##teamcity[".
_COLON_COMMAND = r"\n([^\S\n]*+):(?=:[A-Za-z])"
_HASH_COMMAND = r"##(?=\[|(?i:vso|teamcity)\[)"

_PLAIN = bytes((*b"\n\t", *range(0x20, 0x7F)))


def decoded(data: bytes) -> str:
    """Text of a log: UTF-8 or, by its byte order mark, UTF-16, as a Windows shell's redirection writes it."""
    if data.startswith(WIDE):
        return data.decode("utf-16", "replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def sanitize(text: str) -> str:
    r"""Strip what is not seen, and defuse what a log reader would execute.

    :param text: any string.
    :returns: the text with ``\n`` and ``\t`` as its only control characters, without escape sequences, each line
        break a ``\n``, and invisible characters as escapes: ``\u200b``. A CI command keeps its words but is broken
        by a space. Applied twice it changes nothing more.
    """
    return _safe(text, lambda character: ascii(character)[1:-1])


def stripped(text: str) -> str:
    """As :func:`sanitize`, without the invisible characters: to find what they may split."""
    return _safe(text, lambda character: "")


def _safe(text: str, shown: Callable[[str], str]) -> str:
    """The text without what is not seen, and with invisible characters as they are ``shown``."""
    if odd := _odd(text):
        text = compiled(_ESCAPES).sub("", text)
        for line_break in _BREAKS:
            text = text.replace(line_break, "\n")
        text = compiled(_CONTROLS).sub("", text).removeprefix("\ufeff")  # the signature of an encoding
        if unseen := {ord(each): shown(each) for each in set(odd) if _is_unseen(each)}:
            text = text.translate(unseen)
    if "#x1B" in text:
        # Taking one out can put another together ("#x1#x1B[0mB[31m"): a space is enough for it.
        text = compiled(r"#x1B(?=[\[\]])").sub("#x1B ", compiled(_SPELLED).sub("", text))
    if "::" in text:
        text = compiled(_COLON_COMMAND).sub(r"\n\1: ", f"\n{text}")[1:]
    return compiled(_HASH_COMMAND).sub("# #", text) if "##" in text else text


def one_line(text: str, limit: int = 200) -> str:
    """Sanitize and join the lines to one. Spaces inside of a line stay, as two values may differ in them alone.

    Of many in a row their number is shown.

    :param limit: the most characters to give back; a longer text ends in ``…``, which counts.
    """
    folded = " ".join(filter(None, map(str.strip, sanitize(text).replace("\t", " ").split("\n"))))
    if _PADDING in folded:
        folded = re.sub(f"{_PADDING} *", lambda found: f" [{len(found[0])} spaces] ", folded)
    if len(folded) <= limit:
        return folded
    return folded[: max(limit - 1, 0)].rstrip() + "…"


def _odd(text: str) -> str:
    """The characters of a text that are not printable ASCII: those that need a look, among a million that do not."""
    return text.encode("utf-8", "surrogatepass").translate(None, _PLAIN).decode("utf-8", "surrogatepass")


@cache
def _is_unseen(character: str) -> bool:
    from unicodedata import category  # late: most text is ASCII

    code = ord(character)
    return category(character) in _UNSEEN_CATEGORIES or any(low <= code <= high for low, high in _IGNORABLE)


# --- Markdown that quoted text cannot end


def fence(text: str, language: str = "text") -> list[str]:
    """A fenced code block.

    :param text: sanitized text; a final line break is not counted as one more line.
    :param language: the info string; anything but letters, digits and ``_+.-`` is left out of it.
    :returns: the lines of the block without line ends. The fence is longer than any run of backticks inside,
        so nothing inside closes it (CommonMark 0.31, section 4.5).
    """
    marks = "`" * max(3, _longest_run(text) + 1)
    lines = re.split(r"\r\n|\r|\n", text)
    return [marks + re.sub("[^A-Za-z0-9_+.-]", "", language), *(lines if lines[-1] else lines[:-1]), marks]


def open_fence(lines: Iterable[str]) -> str:
    """The marks of the fenced code block in which the lines end; empty outside of one."""
    opened = ""
    # CommonMark 0.31, section 4.5.
    fence_of = compiled(r" {0,3}(?P<marks>`{3,}+|~{3,}+)(?P<rest>.*)").match
    for found in filter(None, map(fence_of, lines)):
        if not opened:
            opened = "" if "`" in found["marks"] and "`" in found["rest"] else found["marks"]
        elif found["marks"].startswith(opened) and not found["rest"].strip():
            opened = ""
    return opened


def code(text: str, limit: int = 200) -> str:
    """An inline code span of the text on one line, at most ``limit`` characters of it.

    :returns: ``(empty)``, not code, when nothing is left to show: CommonMark has no empty code span (section
        6.1).
    """
    line = one_line(text, limit)
    if not line:
        return "(empty)"
    marks = "`" * (_longest_run(line) + 1)
    # A backtick next to the delimiter would lengthen it; one space on each side is taken off again by the
    # reader.
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{marks}{pad}{line}{pad}{marks}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


# --- exceptions as text, and long messages cut


def fault_text(fault: BaseException) -> str:
    """``Type: message``; the type alone where the message cannot be made."""
    try:
        return f"{type(fault).__name__}: {fault}"
    except Exception:
        return type(fault).__name__


def reason_of(fault: BaseException) -> str:
    """What the system says of a file that cannot be read or written, without its path; else the fault's own text."""
    return getattr(fault, "strerror", None) or str(fault)


#: The most characters of a message that are kept.
MAX_MESSAGE = 16_000
_CUT_ROOM = 4_000


def cut(text: str, limit: int = MAX_MESSAGE) -> str:
    """The text, or its head and tail around the number of characters left out."""
    if len(text) <= limit:
        return text
    from loop_close.text.redact import clean  # late: few messages are as long, and its patterns take time

    head = limit * 3 // 5
    tail = limit - head
    # Half a key no longer looks like one: what the cuts go through is redacted before.
    numbers: dict[str, int] = {}
    first = clean(text[: head + _CUT_ROOM], numbers=numbers)[:head]
    last = clean(text[-tail - _CUT_ROOM :], numbers=numbers)[-tail:]
    return f"{first}\n… {len(text) - limit} characters left out …\n{last}"


# --- values side by side

#: Characters shown before the first difference.
_BEFORE = 20
# What means something only as a whole: marks of what was redacted or replaced, and escapes in literals.
_UNIT = r"(?s)<(?:redacted [0-9]{1,9}|[a-z]{1,9})>|\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)"


def cut_apart(texts: Sequence[str], limit: int) -> list[str]:
    """Texts that are shown side by side, each cut to the limit around what it differs in.

    Of a text whose first characters are also those of another, as many as the limit has room for, the end of these is
    shown with what follows; of any other its beginning. A mark of what was redacted, and an escape, stay whole.

    :param texts: without credentials, as half of one no longer looks like one. Texts cut before may be cut again.
    :param limit: the most characters of each; ``…`` for what is left out counts.
    """
    shown = []
    for text in texts:
        apart = (first_difference(text, each) for each in texts if each != text)
        shown.append(text if len(text) <= limit else _cut_at(text, max(apart, default=0), limit))
    return shown


def first_difference(left: str | bytes, right: str | bytes) -> int:
    """The first index at which two strings differ; the length of the shorter one if the longer one starts with it."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cut_at(text: str, at: int, limit: int) -> str:
    """A text that is too long, cut so that the index ``at`` is shown."""
    units = [found.span() for found in compiled(_UNIT).finditer(text)]
    start = at - min(_BEFORE, limit // 3) if at >= 2 * limit // 3 else 0
    start = next((first if last > at else last for first, last in units if first < start < last), start)
    before = "…" * bool(start)
    end = start + limit - len(before)
    if end >= len(text):
        return f"{before}{text[start:]}"
    end = next((first for first, last in units if start < first < end - 1 < last), end - 1)
    return f"{before}{text[start:end]}…"


# --- values out of JSON


def parsed_json(text: str) -> Any:
    """The value of a JSON text; None for invalid JSON, and for numbers or nesting that Python refuses."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def fields_of(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty object."""
    return value if isinstance(value, Mapping) else {}


def objects_of(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list; nothing for another type."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def with_texts(value: Any, change: Callable[[str, str], str], field: str = "") -> Any:
    """A value of JSON, each text in it as ``change`` makes it of the text and the name of the field that it is in.

    A record becomes an object with all its fields.
    """
    if isinstance(value, str):
        return change(value, field)
    if isinstance(value, Struct):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {name: with_texts(each, change, name) for name, each in value.items()}
    return [with_texts(each, change, field) for each in value] if isinstance(value, list | tuple) else value


def listed(items: Sequence[_Item], most: int, shown: Callable[[_Item], str] = str) -> str:
    """``a, b and 3 more``: at most so many items, each as it is shown."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(map(shown, items[:most])) + more


def digest(*parts: str, size: int = 8) -> str:
    """Hexadecimal digits, two for each byte of ``size``, that tell these texts from others."""
    from hashlib import blake2b  # late: it loads OpenSSL

    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


# --- tables of patterns: text files beside this module, one form a line, columns apart by two spaces or more


@cache
def rows(name: str) -> dict[str, list[list[str]]]:
    """The rows of a table by section, each with its columns.

    ``{NAME}`` in a row is what the section ``macros`` has for it. Lines that begin with ``#`` are comments.
    """
    sections: dict[str, list[list[str]]] = {}
    # By the loader, as a program under test may have replaced "open".
    for line in (pkgutil.get_data("loop_close.text", name) or b"").decode().splitlines():
        if re.fullmatch(r"\[\w+\]", line):
            section = sections.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            whole = re.sub("{([A-Z]+)}", lambda found: dict(sections["macros"])[found[1]], line)
            section.append(re.split("  +", whole))
    return sections


def guards(column: str) -> tuple[str, ...]:
    """The parts of a column of guards, one of which a text must hold to be searched."""
    return tuple(column.replace("\\s", " ").split("|"))
