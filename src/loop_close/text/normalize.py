"""What changes from run to run, and what may change with the values: placeholders for both, to compare by.

``stabilize`` takes out what no edit of the code can hold still; ``mask`` takes out all values, so that two
failures of one shape read alike. Neither is for showing: that is ``display``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

from loop_close import lazy

# Paths are read from their start: the lookbehind in front keeps each pattern from trying every directory of a path
# again. Separators are "/", "\" and, in reprs, "\\".
# A placeholder in front ("<n>") is the start of that path.
_WITHIN = r"[\w.+@~/\\-]"
_START = rf"(?:(?<=://)|(?<!{_WITHIN})(?<![a-z]>))"
_SEP = r"[/\\]{1,2}"

# ``tmp_path`` up to the test's own directory, below whatever ``--basetemp`` or TMPDIR is.
_PYTEST_TEMPORARY = lazy.pattern(
    rf"(?:(?<=[\"'])(?:[A-Za-z]:)?[/\\][^\"'\n:]*?|{_START}(?:[A-Za-z]:)?[/\\]{_WITHIN}*?)pytest-of-[^/\\\s'\"]{{1,60}}{_SEP}pytest-(?:[0-9]+|current)"
    rf"(?:{_SEP}popen-gw[0-9]+)?(?:{_SEP}[^/\\\s'\":,;)\]]{{0,80}}(?:[0-9]|current)(?![^/\\\s'\":,;)\]>]))?"
)
# ``tempfile`` makes names of "tmp" and eight of these characters.
_MADE = r"(?:[/\\]{1,2}tmp[a-z0-9_]{6,8}(?![a-z0-9_]))?"
_TEMPORARY = lazy.pattern(
    rf"{_START}(?:/private)?/(?:var/folders/[^/\s'\"]{{1,40}}/[^/\s'\"]{{1,60}}/T|(?:var/)?tmp)(?![\w.-]){_MADE}"
)
_WINDOWS_TEMPORARY = lazy.pattern(
    rf"(?<!\w)(?<![a-z]>)[A-Za-z]:{_SEP}(?:[^/\\'\"\n:<>]{{1,60}}{_SEP}){{0,6}}?(?:Temp|TEMP)(?![\w.-]){_MADE}"
)
_LIBRARY_END = (
    rf"(?:lib(?:64)?{_SEP}python3(?:\.[0-9]+)?t?{_SEP}(?:(?:site|dist)-packages{_SEP})?"
    rf"|[Pp]ython3[0-9]*{_SEP}[Ll]ib{_SEP}(?:site-packages{_SEP})?|(?:site|dist)-packages{_SEP})(?=[\w.])"
)
# The absolute prefix of an installed module. Between quotes it may have spaces ("C:\\Program Files").
_LIBRARY = lazy.pattern(
    rf"(?:(?<=[\"'])(?:[A-Za-z]:)?[/\\][^\"'\n:]*?|{_START}(?:[A-Za-z]:)?[/\\](?:[^\s\"'<>:]*?[/\\])??){_LIBRARY_END}"
)
_FOLLOWS = r"[\w.@+~-]"


class Replacement(NamedTuple):
    """One kind of value.

    :ivar guards: a text that holds none of them is not searched at all.
    :ivar placeholder: a template for ``re.sub``, or a function for it.
    """

    name: str
    guards: tuple[str, ...]
    regex: re.Pattern[str]
    placeholder: str | Callable[[re.Match[str]], str]


_ADDRESSES = (
    Replacement(
        "address",
        ("0x",),
        lazy.pattern(r"0x(?:(?<=\bat 0x)|(?<=\bid=0x)|(?<=\bid: 0x))[0-9A-Fa-f]{6,}+"),
        "0x…",
    ),
    Replacement(
        "repr_address", (" 0x", "=0x"), lazy.pattern(r"(<[^<>\n]*?[ =])0x[0-9A-Fa-f]{6,}+"), r"\g<1>0x…"
    ),
    # pytest leaves out the middle of a long repr: what is left of the address has no 0x.
    Replacement(
        "cut_address", ("...",), lazy.pattern(r"(<[^<>\n]{0,200}?\.\.\.)[0-9a-f]{6,16}(?=>)"), r"\g<1>0x…"
    ),
)
# How many threads came before depends on what else ran in the process: "Thread-3 (worker)" (Python 3.10).
_THREAD = Replacement("thread", ("Thread-",), lazy.pattern(r"\bThread-[0-9]+(?= \()"), "Thread-…")
_PYTEST_TMP = Replacement("pytest_tmp", ("pytest-of-",), _PYTEST_TEMPORARY, "<tmp>")

# Ordered: what comes first is not seen by what comes later. Patterns that start with a digit look back after
# it, as "re" searches fast only for a pattern that starts with a character class.
VOLATILE: tuple[Replacement, ...] = (
    _PYTEST_TMP,
    Replacement("tmp", ("/tmp", "/var/folders"), _TEMPORARY, "<tmp>"),
    Replacement("windows_tmp", ("Temp", "TEMP"), _WINDOWS_TEMPORARY, "<tmp>"),
    *_ADDRESSES,
    Replacement(
        "uuid",
        ("-",),
        lazy.pattern(r"[0-9A-Fa-f](?<!\w.)[0-9A-Fa-f]{7}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?!\w)"),
        "<uuid>",
    ),
    Replacement(
        "rfc_time",  # RFC 5322 (mail, HTTP) and ctime; the common log format
        (":",),
        lazy.pattern(
            r"[MTWFS](?<!\w.)(?:on|ue|ed|hu|ri|at|un)(?:, [0-9]{1,2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{5,8}"
            r"(?: (?:[A-Z]{1,4}|[+-][0-9]{4}))?| [A-Z][a-z]{2} [ 0-9]?[0-9] [0-9:]{8} [0-9]{4})(?!\w)"
            r"|[0-9](?<!\w.)[0-9]?/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8}(?: [+-][0-9]{4})?(?!\w)"
        ),
        "<time>",
    ),
    Replacement(
        "time",  # ISO 8601 and RFC 3339, with the comma of logging; the basic form without separators too
        (":", "T"),
        lazy.pattern(
            r"[0-9](?<![\w.].)"
            r"(?:[0-9]{3}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"
            r"|[0-9]{7}T[0-9]{6}(?:\.[0-9]{1,9})?|[0-9]:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?)"
            r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?(?![\w:])"
        ),
        "<time>",
    ),
    Replacement(
        "datetime_repr",  # with microseconds only: a clock writes those, not a person
        ("datetime(",),
        lazy.pattern(
            r"datetime(?:\.datetime)?\((?:[0-9]{1,4}, ){6}[0-9]{1,6}(?:, (?:tzinfo|fold)=[\w.]+)*+\)"
        ),
        "<time>",
    ),
    Replacement("epoch", (".",), lazy.pattern(r"1(?<![\w.].)[5-9][0-9]{8}\.[0-9]+(?!\w)"), "<time>"),
    Replacement(
        "duration",
        ("s",),
        lazy.pattern(
            r"[0-9](?<![\w.].)[0-9]*+(?:\.[0-9]++)?(?:e-?[0-9]{1,3})? ?"
            r"(?:ns|us|µs|μs|ms|s|secs?|seconds?|milliseconds?|microseconds?)(?!\w)"
        ),
        "<duration>",
    ),
    Replacement(
        "port",
        (":", "'127.", "'localhost'", "'::1'"),
        lazy.pattern(
            r"(localhost:|127\.0\.0\.1:|0\.0\.0\.0:|\[::1?\]:"
            r"|\([\"'](?:localhost|127\.0\.0\.1|0\.0\.0\.0|::1?)[\"'], )[0-9]{1,5}(?![\w.])"
        ),
        r"\g<1><port>",
    ),
    Replacement(
        "pid",
        ("pid", "PID", "Pid"),
        lazy.pattern(r"([pP](?<!\w.)(?:id|ID)(?:=|: ?| ))[0-9]{1,10}(?![\w.])"),
        r"\1<pid>",
    ),
    Replacement("object_id", ("id",), lazy.pattern(r"(id(?<!\wid) ?[=:] ?)[0-9]{9,}+(?![\w.])"), r"\1<id>"),
    Replacement("thread", ("started ",), lazy.pattern(r"(started (?:daemon )?)[0-9]{9,}+(?!\w)"), r"\1<id>"),
    Replacement("worker", ("gw",), lazy.pattern(r"gw(?<!\wgw)[0-9]{1,4}(?!\w)"), "<worker>"),
)

_ROUNDS = 4
_DIGIT = lazy.pattern("[0-9]")
_DIGITS = tuple("0123456789")
_PATH = lazy.pattern(r"^[/~.]+\w|^/\.|\.[A-Za-z]\w{0,4}$")
# A placeholder next to it counts as the word it was. The opening quote is not an apostrophe: nothing but a
# string prefix before it, nothing of a word after its end.
_MASKED: tuple[Replacement, ...] = (
    Replacement(
        "string",
        ("'", '"'),
        lazy.pattern(
            r"(?<![\w'\"\\])(?<![a-z]>)[bBrRuUfF]{0,2}"
            r"(?:'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\")(?!\w|<[a-z])"
        ),
        "<str>",
    ),
    Replacement(
        "url",
        ("://",),
        lazy.pattern(r"[a-zA-Z](?<![\w+.-].)[\w+.-]{1,20}+://(?:[^\s'\"<>]|<[a-z]{1,9}>)++"),
        "<url>",
    ),
    Replacement("tmp_path", ("<tmp>",), lazy.pattern(r"<tmp>[\w.@+~/\\-]*+"), "<path>"),
    Replacement(
        "path",  # absolute, from home, from here; a relative one only with an extension: "and/or" is none
        ("/",),
        lazy.pattern(r"(?<![\w.@+~/<>-])[\w.@+~-]*+/[\w.@+~/-]*+"),
        lambda match: "<path>" if _PATH.search(match[0]) else match[0],
    ),
    Replacement("windows_path", (":\\",), lazy.pattern(r"[A-Za-z](?<!\w.):\\[\w.@+~/\\-]*+"), "<path>"),
    Replacement(
        "blob",  # base64 and long hex; shorter ones are found as one token below
        _DIGITS,
        lazy.pattern(r"(?<![\w+/])(?=[A-Za-z+/]*+[0-9])(?=[0-9+/]*+[A-Za-z])[\w+/]{40,}+={0,2}(?!\w)"),
        "<id>",
    ),
    Replacement("date", ("-",), lazy.pattern(r"[0-9](?<!\w.)[0-9]{3}-[0-9]{2}-[0-9]{2}(?![\w-])"), "<time>"),
)

_NUMBER = (
    r"(?:0[xX][0-9A-Fa-f_]++|0[bBoO][0-7_]++"
    r"|[0-9](?:,[0-9]{3}(?![0-9])|[_.]?[0-9])*+(?:[eE][+-]?[0-9]++)?[jJ]?|[0-9]++)"
)
# A number alone ("1e-5"), else a token that mixes digits and letters, else any number ("5-3").
_VALUE = lazy.pattern(
    rf"(?<!\w)[+-]?{_NUMBER}(?![\w-])"
    r"|(?P<token>(?<![\w-])(?=[\w-]*?[0-9])(?=[\w-]*?[^\W\d_])[\w-]++…?)"
    rf"|(?<!\w){_NUMBER}(?!\w|-[A-Za-z])"
)
# Words that happen to end in a number: types, encodings, digests, protocols.
_WORDS = frozenset(
    (
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "1d", "2d", "3d"),
        *("float16", "float32", "float64", "float128", "complex64", "complex128", "arm64", "x86", "x86_64"),
        *("utf8", "utf-8", "utf-8-sig", "utf16", "utf-16", "utf32", "utf-32", "latin1", "latin-1", "cp1252"),
        *("base16", "base32", "base64", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "argon2"),
        *("http1", "http2", "http3", "ipv4", "ipv6", "oauth2", "s3", "ec2", "sqlite3", "python2", "python3"),
    )
)

# The literals of placeholders, for "_collapse".
_TOKEN = lazy.pattern(
    r"(?P<plain>(?:<[a-z]{1,9}>|\b(?:None|True|False|null|true|false|nan|inf)\b|[\s,:.+-])++)"
    r"|(?P<open>[\[({])|(?P<close>[\])}])|(?P<other>[^\[\](){}<\s,:.+-]++|.)",
    re.DOTALL,
)
_PAIRS = {"]": "[", ")": "(", "}": "{"}
# Hypothesis notes the example that it found as a call of the test, and how to have it again. Other words of that kind
# are a program's own.
_NOTES = lazy.pattern(r"\n(?:Falsifying|Failing)(?: explicit)? (?:example|test case): \w+\(")

_REDACTED = Replacement("redacted", ("<redacted ",), lazy.pattern(r"<redacted [0-9]++>"), "<redacted>")


def stabilize(text: str) -> str:
    """Replace what differs between two runs of the same code.

    Memory addresses, uuids, times of day and timestamps, durations, directories for temporary files, local
    ports, process and object ids, xdist workers. A date alone stays: a test says it, a clock rarely does.

    :returns: the text with ``0x…``, ``<uuid>``, ``<time>``, ``<duration>``, ``<tmp>``, ``<port>``, ``<pid>``,
        ``<id>`` and ``<worker>``. Sets and dicts keep their order.
    """
    return _apply(VOLATILE, text)


def mask(text: str) -> str:
    """Replace all values, so that what is left is the kind of the message.

    :returns: :func:`stabilize`, then ``<str>`` for quoted strings, ``<url>``, ``<path>``, ``<id>`` for tokens
        that mix letters and digits, ``<n>`` for numbers, and ``<list>`` or ``<dict>`` for literals of these.
        Words stay; an example that Hypothesis noted below them does not.
    """
    text = without_notes(text)
    # Values without a space between them hide each other until one is a placeholder. A second round has next
    # to nothing to do in other texts.
    for _ in range(_ROUNDS):
        masked = _masked(text)
        if masked == text:
            break
        text = masked
    return text


def display(text: str) -> str:
    """Drop what depends on the machine and says nothing: for showing, so values stay.

    :returns: the text with addresses as ``0x…``, pytest's temporary directories as ``<tmp>``, threads without
        their number, and without the directories above the standard library and ``site-packages``
        (``json/decoder.py``).
    """
    text = _apply((_PYTEST_TMP, *_ADDRESSES, _THREAD), text)
    if "-packages" in text or "ython3" in text:
        text = _LIBRARY.sub("", text)
    return text


def _apply(rules: Sequence[Replacement], text: str) -> str:
    for rule in rules:
        if any(map(text.__contains__, rule.guards)):
            text = rule.regex.sub(rule.placeholder, text)
    return text


def _masked(text: str) -> str:
    text = _apply((_REDACTED, *_MASKED), stabilize(text))
    if _DIGIT.search(text):
        text = _VALUE.sub(_value, text)
    return _collapse(text)


def _value(match: re.Match[str]) -> str:
    token = match["token"]
    if token is None:
        return "<n>"
    return token if token.lower() in _WORDS else "<id>"


@dataclass(slots=True)
class _OpenBracket:
    bracket: str
    at: int
    is_literal: bool


def _collapse(text: str) -> str:
    """Fold lists, tuples, sets and dicts that hold nothing but placeholders and constants, inside out.

    :returns: the text with ``<list>`` or ``<dict>`` for each, whatever it held and however much of it. Calls
        and indexes keep their brackets: ``f(<n>)``, ``a[<n>]``.
    """
    if not any(closing in text for closing in _PAIRS):
        return text
    pieces: list[str] = []
    opened: list[_OpenBracket] = []
    for match in _TOKEN.finditer(text):
        piece = match[0]
        if match.lastgroup == "open":
            opened.append(_OpenBracket(piece, len(pieces), not pieces or not _is_called(pieces[-1][-1])))
        elif match.lastgroup == "close" and opened:
            piece = _close(piece, pieces, opened)
        elif match.lastgroup == "other" and opened:
            opened[-1].is_literal = False
        pieces.append(piece)
    return "".join(pieces)


def _close(bracket: str, pieces: list[str], opened: list[_OpenBracket]) -> str:
    """Close the innermost bracket: its pieces go, if they fold to what is returned."""
    start = opened.pop()
    inside = "".join(pieces[start.at + 1 :]) if start.is_literal else ""
    if start.bracket == _PAIRS[bracket] and start.is_literal and _is_container(bracket, inside):
        del pieces[start.at :]
        return "<dict>" if bracket == "}" and (":" in inside or not inside.strip()) else "<list>"
    if opened:
        opened[-1].is_literal = False
    return bracket


def _is_container(bracket: str, inside: str) -> bool:
    return bracket != ")" or "," in inside or not inside.strip()


def _is_called(before: str) -> bool:
    # After one of these a bracket is a call or an index, not a literal.
    return before.isalnum() or before in "_)]…"


def without_notes(message: str) -> str:
    """The message up to the first line with an example of Hypothesis; all of it if there is none."""
    found = _NOTES.search(message)
    return message[: found.start()] if found is not None and found.start() else message


def relativize(text: str, roots: Sequence[tuple[str, str]]) -> str:
    """Replace absolute directories by what they are called.

    :param roots: ``(directory, name)``; the longest directory that fits wins. An empty name is the project's
        own root: ``/home/me/proj/a.py`` becomes ``a.py`` and a bare ``/home/me/proj`` becomes ``.``.
    :returns: the text; a directory is only replaced where a path starts with it, and not within a longer name
        (``/home/me/project2``). On Windows roots either slash matches, also doubled as in reprs.
    """
    for directory, name in sorted(roots, key=lambda root: -len(root[0].rstrip("/\\"))):
        directory = directory.rstrip("/\\")
        # The last part alone is a cheap way to know that a text has nothing to replace.
        if directory and re.split(r"[/\\]", directory)[-1] in text:
            text = _root_pattern(directory).sub(partial(_renamed, name), text)
    return text


def _renamed(name: str, match: re.Match[str]) -> str:
    separator = match["separator"]
    if separator is None:
        return name or "."
    return name + separator if name else ""


@lru_cache(maxsize=32)
def _root_pattern(directory: str) -> re.Pattern[str]:
    is_windows = directory[1:2] == ":" or directory.startswith("\\")
    between = _SEP if is_windows else "/"
    body = between.join(re.escape(part) for part in re.split(r"[/\\]+" if is_windows else "/", directory))
    # Written in front the lookbehind costs time at each character; behind, it needs a fixed width.
    body = rf"{_START}{body}" if is_windows else rf"{body}(?:(?<=://{body})|(?<!{_WITHIN}{body}))"
    return re.compile(rf"{body}(?:(?P<separator>{between})(?={_FOLLOWS})|(?![\w@+~-]|\.\w))")


# --- similarity of two messages

# The comparison takes quadratic time. Of longer messages only both ends are compared.
_LONGEST = 10_000
#: A comparison by hand takes 10 µs where rapidfuzz takes half of one: so many, and the import pays.
_by_hand = iter(range(300))


def ratio(a: str, b: str, *, cutoff: float = 0.9) -> float:
    """The normalized Indel similarity of rapidfuzz, from 0 to 1.

    :param cutoff: what is less alike than this gives 0, which is faster.
    :returns: 1 for equal texts. Of texts longer than 10,000 characters only both ends are compared.
    """
    if a == b:
        return 1.0
    a, b = _ends(a), _ends(b)
    if next(_by_hand, None) is not None and _most(a, b) < cutoff - 1e-6:
        return 0.0
    from rapidfuzz import fuzz  # 10-50 ms to import, and most runs compare next to nothing

    # The last digits are noise on both sides: 0.07 times 100 is more than 7, and 1 - 0.9 is less than 0.1.
    return round(fuzz.ratio(a, b, score_cutoff=cutoff * 100 - 1e-9) / 100, 9)


def similar(a: str, b: str, threshold: float = 0.9) -> bool:
    """Whether the ratio of the two reaches the threshold (``>=``)."""
    return ratio(a, b, cutoff=threshold) >= threshold


def _most(a: str, b: str) -> float:
    """What the ratio cannot be above: by the characters whatever their order."""
    return 2 * (Counter(a) & Counter(b)).total() / (len(a) + len(b))


def _ends(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return text[: _LONGEST // 2] + text[-_LONGEST // 2 :]
