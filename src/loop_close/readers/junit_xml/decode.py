"""The bytes of an XML file as UTF-8 that a parser can read: its encoding, and characters that XML forbids."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator

_SLICE = 1 << 16
_HEAD = 256
# Python knows codecs that are no encodings of text, or take more than linear time: "zip", "punycode".
_KNOWN = re.compile(
    r"utf[-_]?(?:8|16|32)(?:[-_]?(?:le|be))?|(?:us[-_]?)?ascii|iso[-_]?8859[-_]\d{1,2}|latin[-_]?\d{1,2}"
    r"|(?:windows[-_]?|cp)(?:125[0-8]|437|85[028]|866|874|932|936|949|950)|koi8[-_]?[rut]|gb(?:2312|k|18030)"
    r"|big5(?:[-_]?hkscs)?|s(?:hift)?[-_]?jis|euc[-_]?(?:jp|kr)|mac[-_]?roman",
    re.IGNORECASE,
)
_DECLARED = re.compile(rb"\A\s{0,20}<\?xml[^>]{1,200}?\bencoding\s{0,9}=\s{0,9}[\"']([^\"'>]{1,60})[\"']")
# Not allowed after white space, which files put together by scripts begin with.
_LATE_DECLARATION = re.compile(r"\A(\s{1,20})<\?xml[^>]{0,200}\?>")
_BEGINNINGS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
)
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The same, spelled as a reference: ``&#27;``, ``&#x1b;``, ``&#xD800;``, ``&#65535;``.
_REFERENCE = re.compile(
    r"&#(?:0{0,8}(?:[0-8]|1[124-9]|2[0-9]|3[01]|6553[45])"
    r"|x0{0,8}(?:[0-8bcBCefEF]|1[0-9A-Fa-f]|[dD][89A-Fa-f][0-9A-Fa-f]{2}|[fF]{3}[eEfF]));"
)
_LONGEST_REFERENCE = 16


def utf8(chunks: Iterable[bytes], notes: list[str]) -> Iterator[bytes]:
    """The text as UTF-8 in pieces of bounded size, characters that XML forbids spelled ``#x1B`` as pytest does.

    :param notes: what is wrong with the encoding is added here.
    """
    pieces = _sliced(chunks)
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= _HEAD:
            break
    encoding = _encoding(head, notes)
    # An escaped byte can be told from a replacement character that the file itself holds.
    errors = "surrogateescape" if encoding in ("utf-8", "ascii") else "replace"
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    held = decoder.decode(head)
    held = _LATE_DECLARATION.sub(r"\1", held.removeprefix("\ufeff"), count=1)
    for piece in pieces:
        text = held + decoder.decode(piece)
        end = _safe_end(text)
        held = text[end:]
        yield _readable(text[:end], encoding, notes)
    yield _readable(held + decoder.decode(b"", True), encoding, notes)


def _sliced(chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), _SLICE):
            yield chunk[start : start + _SLICE]


def _encoding(head: bytes, notes: list[str]) -> str:
    """A name that Python knows; what the file begins with counts for more than what it declares."""
    for beginning, encoding in _BEGINNINGS:
        if head.startswith(beginning):
            return encoding
    found = _DECLARED.match(head)
    declared = found[1].decode("ascii", "replace").lower() if found else "utf-8"
    if not _KNOWN.fullmatch(declared):
        notes.append(f"declares the encoding {declared!r}, which is not known; read as UTF-8")
        return "utf-8"
    if re.match("utf[-_]?(?:16|32)", declared):  # the declaration itself is in single bytes
        return "utf-8"
    try:
        return codecs.lookup(declared).name
    except LookupError:
        notes.append(f"declares the encoding {declared!r}, which is not known; read as UTF-8")
        return "utf-8"


def _safe_end(text: str) -> int:
    """Where the text can be cut without cutting a reference in two."""
    start = text.rfind("&", max(len(text) - _LONGEST_REFERENCE, 0))
    return start if start >= 0 and ";" not in text[start:] else len(text)


def _readable(text: str, encoding: str, notes: list[str]) -> bytes:
    if _FORBIDDEN.search(text):
        plain = re.sub("[\udc80-\udcff]", "\ufffd", text)
        note = f"has bytes that are not {encoding.upper()}; each is shown as \ufffd"
        if plain != text and note not in notes:
            notes.append(note)
        text = _FORBIDDEN.sub(_spelled, plain)
    if "&#" in text:
        text = _REFERENCE.sub(lambda found: f"#x{_number(found[0]):02X}", text)
    return text.encode("utf-8")


def _spelled(found: re.Match[str]) -> str:
    return f"#x{ord(found[0]):02X}"


def _number(reference: str) -> int:
    digits = reference[2:-1]
    return int(digits[1:], 16) if digits.startswith("x") else int(digits)
