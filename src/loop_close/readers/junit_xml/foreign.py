"""Failures of runners in other languages than Python: the exception and, where they name files, the stack."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.conventions import is_test_file
from loop_close.facts import bounded
from loop_close.model import Frame, Raised
from loop_close.readers.paths import project_path
from loop_close.text import MAX_MESSAGE
from loop_close.text.redact import clean

_MAX_FRAMES = 400
# Node: "at Cart.first (src/cart.js:4:34)", "at mocha/cart.js:6:52"; vitest begins with an arrow.
_FRAME = re.compile(
    r"^[ \t]{1,12}(?:at|\u276f) (?:async )?(?:(?P<function>[^\n(]{1,200}+)\()?"
    r"(?P<file>[^\s():]{1,500}+):(?P<line>\d{1,9}):\d{1,9}\)?$"
    r"|^[ \t]{1,12}\u276f (?P<named>[^\s():]{1,200}+) (?P<path>[^\s():]{1,500}+):(?P<at>\d{1,9}):\d{1,9}$",
    re.MULTILINE,
)
_STACK = re.compile(r"^[ \t]{1,12}(?:at |\u276f )", re.MULTILINE)
_TYPED = re.compile(r"(?P<type>[A-Za-z_$][\w$.]{0,200}+)(?: \[\w{1,60}\])?: ?")
_LIBRARY = ("node_modules/", "node:")


def foreign_raised(text: str, message: str, type_name: str, root: str) -> Raised | None:
    """The exception of a failure; None when its element says no more than that it failed.

    :param text: the text inside the element, sanitized.
    :param message: the ``message`` attribute, ``type_name`` the ``type`` attribute.
    """
    stack = _STACK.search(text)
    said = (text[: stack.start()] if stack else text).strip()
    said = said.removeprefix("\u25cf Test suite failed to run").strip()  # jest
    typed = _TYPED.match(said)
    name = type_name or (typed["type"] if typed and typed["type"].endswith(("Error", "Exception")) else "")
    if not name and not stack:
        return None
    if typed and typed["type"].rpartition(".")[2] == name.rpartition(".")[2]:
        said = said[typed.end() :]
    module, _, short = name.rpartition(".")
    own = list(_frames(text, root))[::-1]
    kept, omitted = bounded(own)
    return Raised(
        type=short or "Error",
        module=module,
        message=clean(_fuller(message.strip(), said), MAX_MESSAGE),
        frames=tuple(kept),
        omitted_frames=omitted,
    )


def _fuller(message: str, said: str) -> str:
    """The text where it begins with the attribute, which has lost its line breaks; else the attribute."""
    folded = " ".join(message.split())
    return said if " ".join(said.split()).startswith(folded) else message


def _frames(text: str, root: str) -> Iterator[Frame]:
    """The frames in the project's files, innermost first as they are printed."""
    for number, found in enumerate(_FRAME.finditer(text)):
        if number >= _MAX_FRAMES:
            return
        path = found["file"] or found["path"]
        file = None if any(part in path for part in _LIBRARY) else project_path(path, root)
        if file is not None:
            function = (found["function"] or found["named"] or "").strip()
            line = int(found["line"] or found["at"])
            yield Frame(file=file, line=line, function=function, is_test=_is_test(file))


def _is_test(file: str) -> bool:
    name = file.rpartition("/")[2]
    return is_test_file(file) or ".test." in name or ".spec." in name
