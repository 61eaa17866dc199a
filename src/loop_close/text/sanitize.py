"""Text from outside, made safe to show: what a reader sees is all that is there.

Output of tests goes to a terminal, into a Markdown file, into CI logs and to a language model. Each of them
can be addressed by characters a person does not see: escape sequences, bidirectional and zero-width
characters (CVE-2021-42574, "Trojan Source"), Unicode tags ("ASCII smuggling"), and the workflow commands of
CI log readers.
"""

from __future__ import annotations

import re
from functools import cache

#: What a lone surrogate or a noncharacter becomes.
REPLACEMENT = "\ufffd"

_BREAKS = ("\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029")

# ECMA-48: CSI is parameters, intermediates and one final byte; OSC, DCS, SOS, PM and APC run to ST (xterm
# also takes BEL). An unterminated one ends with its line, so that a truncated log does not lose all that
# follows. Each alternative starts with its own control character and gives nothing back, so the whole is
# linear.
_ESCAPE = r"""\x1b (?:
        \[ [0-?]*+ [\ -/]*+ [@-~]?+
      | [\]PX^_] [^\x07\x1b\x9c\n\r\v\f\x85\u2028\u2029]*+ (?: \x07 | \x1b\\ | \x9c )?+
      | [\ -/]*+ [0-~]?+
    )"""
# As it starts with a literal, "re" passes over what is between at the speed of a substring search.
_ESCAPES = re.compile(_ESCAPE, re.VERBOSE)

# junitxml of pytest writes characters that XML 1.0 forbids as "#x1B" (``bin_xml_escape``).
_SPELLED = re.compile(
    r"#x1B(?:\[[0-?]*+[ -/]*+[@-~]?+|\](?:(?!#x1B|#x07)[^\n])*+(?:#x07|#x1B\\)?+)",
)
_SPELLED_START = re.compile(r"#x1B(?=[\[\]])")

_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # C0 without tab and line breaks, DEL, C1
    "\u00ad\u061c\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidirectional, invisible operators
    "\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff"  # tags, variation selector supplement, and the unassigned between them
    "]+"
)
_NOT_CHARACTERS = re.compile(
    "[\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]"
)

# GitHub: actions/runner ActionCommand.cs trims a line's start, then wants "::name"; "##[name]" counts
# anywhere in a line. Azure Pipelines looks for "##vso[" anywhere, TeamCity for "##teamcity[".
_COLON_COMMAND = re.compile(r"\n([^\S\n]*+):(?=:[A-Za-z])")
_HASH_COMMAND = re.compile(r"##(?=\[|(?i:vso|teamcity)\[)")

_PLAIN = bytes((*b"\n\t", *range(0x20, 0x7F)))


def sanitize(text: str) -> str:
    r"""Strip what is not seen, and defuse what a log reader would execute.

    :param text: any string.
    :returns: the text with ``\n`` and ``\t`` as its only control characters, without escape sequences and
        invisible characters, each line break a ``\n``. A CI command keeps its words but is broken by a
        space. Applied twice it changes nothing more.
    """
    if not text.isascii() or _odd(text):
        text = _visible(text)
    if "#x1B" in text:
        text = _without_spelled_escapes(text)
    return _defused(text)


def one_line(text: str, limit: int = 200) -> str:
    """Sanitize and fold to a single line.

    :param limit: the most characters to give back; a longer text ends in ``…``, which counts.
    """
    folded = " ".join(sanitize(text).split())
    if len(folded) <= limit:
        return folded
    return folded[: max(limit - 1, 0)].rstrip() + "…"


def _odd(text: str) -> str:
    """The characters of a text that are not printable ASCII: those that need a look, among a million that do not."""
    return text.encode("utf-8", "surrogatepass").translate(None, _PLAIN).decode("utf-8", "surrogatepass")


def _visible(text: str) -> str:
    if "\x9b" in text:
        text = _escapes_of_8_bits().sub("", text)
    elif "\x1b" in text:
        text = _ESCAPES.sub("", text)
    for line_break in _BREAKS:
        text = text.replace(line_break, "\n")
    odd = _odd(text)
    if _HIDDEN.search(odd):
        text = _HIDDEN.sub("", text)
    return _NOT_CHARACTERS.sub(REPLACEMENT, text) if _NOT_CHARACTERS.search(odd) else text


@cache
def _escapes_of_8_bits() -> re.Pattern[str]:
    # The 8-bit CSI only with parameters: U+009B alone is more often UTF-8 that was read as Latin-1.
    return re.compile(rf"(?: {_ESCAPE} | \x9b (?: [0-?]++ [\ -/]*+ [@-~] )?+ )++", re.VERBOSE)


def _without_spelled_escapes(text: str) -> str:
    # Taking one out can put another together ("#x1#x1B[0mB[31m"). Two rounds are for that; what is nested
    # deeper was made on purpose, and a space is enough for it.
    for _ in range(2):
        text = _SPELLED.sub("", text)
    return _SPELLED_START.sub("#x1B ", text)


def _defused(text: str) -> str:
    if "::" in text:
        text = _COLON_COMMAND.sub(r"\n\1: ", f"\n{text}")[1:]
    if "##" in text:
        text = _HASH_COMMAND.sub("# #", text)
    return text
