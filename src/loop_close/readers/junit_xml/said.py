"""What the text inside a ``failure`` or ``error`` element tells: the exception."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from loop_close.model import Raised
from loop_close.readers.junit_xml.foreign import foreign_raised
from loop_close.readers.printed import raised_in
from loop_close.readers.printed_parts import HEADER
from loop_close.readers.pytest_output.doctests import read_doctest
from loop_close.readers.pytest_output.said import missing_fixture, raised_from_words
from loop_close.readers.pytest_output.tracebacks import read_traceback
from loop_close.text import MAX_MESSAGE
from loop_close.text.redact import clean
from loop_close.text.sanitize import sanitize

_STACK = re.compile(r"^\s{1,12}(?:at|\u276f) ", re.MULTILINE)
# Where pytest's representation of a failure names a place, and how it begins the lines with the exception.
_OF_PYTEST = re.compile(
    r"^(?:E   |[^\s:\"'][^:\n\"']{0,500}+:\d{1,9}: (?:in \S|[A-Z]\w{0,100}$))", re.MULTILINE
)
# pytest strips the whole, and with it the margin of the first line.
_STRIPPED = (("+ Exception Group ", "  "), ("def ", "    "), ("async def ", "    "), ("@", "    "))
_FIXTURE = re.compile(r"failed on (?:setup|teardown) with \"(?P<words>.*?)\"?\Z", re.DOTALL)
_CUT = "; full report in element text]"
_FORMULAS = (
    "",
    "test failure",
    "test setup failure",
    "test teardown failure",
    "collection failure",
    "internal error",
)
_NOTHING_SAID = "failed without a message"


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a result element says.

    :ivar attribute: its ``message`` attribute as it stands.
    :ivar has_unread_stack: the text has a stack that no frames could be read from.
    """

    message: str
    raised: Raised | None
    text: str
    attribute: str
    type: str
    is_pytest: bool = False
    has_unread_stack: bool = False


def said_by(text: str, message: str, type_name: str, root: str, *, name: str, is_pytest: bool) -> Said:
    """Read one result.

    :param text: the text inside the element; ``message`` and ``type_name`` are its attributes.
    :param name: the test's.
    :param is_pytest: its suite is one of pytest.
    """
    text, message, type_name = sanitize(text), sanitize(message), sanitize(type_name)[:1000]
    is_pytest = is_pytest or (is_of_pytest(text) and not type_name)
    words = _words(message)
    raised = _of_pytest(text, words, name, root) if is_pytest else _of_others(text, words, type_name, root)
    if raised is not None:
        raised = replace(raised, message=clean(raised.message, MAX_MESSAGE))
    return Said(
        message=raised.message if raised is not None else _plain(words or text.strip()),
        raised=raised,
        text=text,
        attribute=message,
        type=type_name,
        is_pytest=is_pytest,
        has_unread_stack=raised is not None and not raised.frames and _STACK.search(text) is not None,
    )


def is_of_pytest(text: str) -> bool:
    """Whether a text is pytest's representation of a failure."""
    return _OF_PYTEST.search(text) is not None


def is_of_python(text: str, type_name: str) -> bool:
    """Whether a result was written by a runner of tests in Python."""
    return HEADER in text or type_name.startswith(("testtools.", "unittest."))


def _plain(words: str) -> str:
    return clean(words, MAX_MESSAGE) or _NOTHING_SAID


def _words(message: str) -> str:
    """What the attribute quotes; empty where it is a formula, or was cut and the text has more."""
    found = _FIXTURE.match(message)
    words = found["words"] if found else message
    return "" if words in _FORMULAS or words.endswith(_CUT) else words


def _of_pytest(text: str, words: str, name: str, root: str) -> Raised | None:
    margin = next((margin for start, margin in _STRIPPED if text.startswith(start)), "")
    body = f"\n{margin}{text}\n"
    if fixture := missing_fixture(body):
        return fixture[0]
    raised = read_doctest(body, name, root) or read_traceback(body, root)
    quoted = raised_from_words(words, root)
    if raised is None or quoted is None:
        return raised or quoted
    # A native traceback does not tell where a message of several lines ends, style line not its margin.
    is_more = quoted.type == raised.type and _folded(quoted.message).startswith(_folded(raised.message))
    return replace(raised, message=quoted.message) if is_more else raised


def _folded(text: str) -> str:
    return " ".join(text.split())


def _of_others(text: str, words: str, type_name: str, root: str) -> Raised | None:
    if HEADER in text:
        return raised_in(text.replace("\n}}}\n", "\n\n"), root)  # subunit's brackets
    return foreign_raised(text, words, type_name, root)
