"""The lines that a printed traceback is made of, each turned into what it tells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from loop_close.conventions import is_test_file
from loop_close.facts import bounded, innermost, is_a
from loop_close.model import Frame, Raised, Site, Source
from loop_close.readers.builtin_errors import bases_of
from loop_close.readers.paths import project_path
from loop_close.text import cut

HEADER = "Traceback (most recent call last):"
TOP = "  + Exception Group "
GROUP_LINE = f"{TOP}{HEADER}"
LINKS = {
    "cause": "The above exception was the direct cause of the following exception:",
    "context": "During handling of the above exception, another exception occurred:",
}

FRAME = re.compile(
    r'  File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9})(?:, in (?P<function>[^\n]{1,300}))?[ \t]*\Z'
)
#: What Python puts below a source line.
MARKERS = re.compile(r"[ ~^]++\Z")
ELIDED = re.compile(r"    \.\.\.<\d{1,9} lines?>\.\.\.\Z")
REPEATED = re.compile(r"  \[Previous line repeated (?P<times>\d{1,9}) more times?\]\Z")
#: How a line begins that is no part of an exception's message: other tools, log lines, rulers, prompts.
OTHER = re.compile(
    r"""(?: Traceback\ \(most[ ] | During\ handling\ of\ the[ ] | The\ above\ exception\ was[ ]
      | ={4} | -{4} | _{4} | \*{4}
      | \[?\d{4}-\d\d-\d\d | \[?\d\d:\d\d:\d\d
      | \[?(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b
      | Exception\ (?:ignored\ |in\ thread\ ) | Error\ in[ ] | Original\ exception\ was | Fatal\ Python\ error
      | (?:Task|Future)\ (?:exception|was)[ ] | Process\ [\w:-]{1,60}:\Z | Ran\ \d+\ tests?\ in[ ]
      | g?make(?:\[\d+\])?:[ ] | \$[ ] | >>>[ ] | npm[ ] | \#\#?\[ | (?:ba|z|da)?sh:[ ]
      | [\w.-]{1,40}:\ (?:exit\ \d|FAIL\b|OK\b|commands) | \S{1,300}:\d+:\ \w*Warning:
    )""",
    re.VERBOSE,
)
LOG_LINE = re.compile(
    r"\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d:\d\d|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b"
    r"|Traceback \(most |={4}|-{4}"
)
#: How a line begins that goes on with a message, and how one ends that is gone on with.
CONTINUED = re.compile(r"\s|[\[(){}\]]|[-+*?] |For further information ")
OPEN_ENDS = (":", ",", "(", "[", "{", "\\")
_EXCEPTION = re.compile(
    r"(?P<name>[^\W\d]\w{0,120}(?:\.(?:<locals>|[^\W\d]\w{0,120})){0,20})(?::(?: (?P<message>.*))?)?\Z",
    re.DOTALL,
)
# Of names alone only those can be told from words that look like a class: ``KeyError``, ``socket.timeout``.
_CLASS = re.compile(r"(?:.*\.)?_*[A-Z]\w*\Z|(?:\w+\.)+(?:\w*error|timeout|herror)\Z")

_QUOTED = r"(?P<{}>'[^'\n]{{1,300}}'|\"[^\"\n]{{1,300}}\")"
_NO_MODULE = re.compile(r"No module named '?(?P<name>[\w.]{1,200})")
_CANNOT_IMPORT = re.compile(
    r"cannot import name '(?P<name>[^'\n]{1,200})' from (?:partially initialized module )?'(?P<owner>[^'\n]{1,200})'"
)
_NO_ATTRIBUTE = re.compile(
    r"(?:partially initialized )?(?:type object )?(?P<module>module )?'(?P<owner>[^'\n]{1,200})'"
    r"(?: object)? has no attribute '(?P<name>[^'\n]{1,200})'"
)
_NO_NAME = re.compile(
    r"(?:name '(?P<name>[^'\n]{1,200})' is not defined|cannot access free variable '(?P<free>[^'\n]{1,200})')"
)
_OS_ERROR = re.compile(
    r"\[(?:Errno|WinError) -?\d{1,6}\] [^'\"\n]{1,200}?: " + _QUOTED.format("path") + r"(?: -> .*)?\Z",
    re.DOTALL,
)
_OS_FILE = re.compile(r"(?:^<frozen os>|[/\\]os\.py)\Z")


@dataclass(slots=True)
class Printed:
    """One frame as printed.

    :ivar function: None where a syntax error points into a file, which no frame runs in.
    :ivar lines: the source lines below it that follow each other, without their margin.
    :ivar markers: the marks below the first of them.
    """

    file: str
    line: int
    function: str | None
    lines: list[str] = field(default_factory=list)
    markers: str = ""


@lru_cache(maxsize=64)
def link_texts(margin: str, kind: str) -> tuple[str, ...]:
    """The lines between two exceptions of a chain; blank lines may have lost their spaces."""
    blanks = dict.fromkeys((margin, margin.rstrip()))
    return tuple(f"{blank}\n{margin}{LINKS[kind]}\n{blank}\n" for blank in blanks)


def is_exception(line: str) -> bool:
    """Whether a line looks like the last of a traceback, ``pkg.Type: message`` or ``Type``."""
    found = _EXCEPTION.match(line)
    return found is not None and (":" in line or _CLASS.match(found["name"]) is not None)


def assemble(said: str, printed: Sequence[Printed], repeated: int = 0, root: str = "") -> Raised:
    """The exception that a traceback's lines tell of, without its relatives.

    :param said: ``Type: message``, the message of any number of lines.
    :param printed: every frame, outermost first; at the end the place of a syntax error.
    :param repeated: how many project frames the traceback left out itself.
    """
    found = _EXCEPTION.match(said)
    module, name = _split_name(found["name"] if found else "")
    message = cut((found["message"] or "") if found else said)
    own = [(p, file) for p in printed if p.function is not None and (file := project_path(p.file, root))]
    kept, omitted = bounded(own)
    raised = Raised(
        type=name,
        module=module,
        message=message,
        bases=bases_of(name, module),
        frames=tuple(_frame(one, file) for one, file in kept),
        omitted_frames=omitted + repeated,
    )
    return _explained(raised, printed, root)


def _split_name(dotted: str) -> tuple[str, str]:
    """``pkg.mod.Outer.Error`` as module and qualified name: a module begins with a small letter."""
    parts = dotted.split(".")
    classes = (i for i, part in enumerate(parts) if part.lstrip("_")[:1].isupper())
    first = next(classes, len(parts) - 1)
    if "<locals>" in parts:
        first = min(first, max(parts.index("<locals>") - 1, 0))
    return ".".join(parts[:first]), ".".join(p for p in parts[first:] if p != "<locals>")


def _frame(printed: Printed, file: str) -> Frame:
    source = Source(start=printed.line, lines=tuple(printed.lines)) if printed.lines else None
    function = printed.function or ""
    return Frame(file=file, line=printed.line, function=function, is_test=is_test_file(file), source=source)


def _explained(raised: Raised, printed: Sequence[Printed], root: str) -> Raised:
    """With the details that the message spells out, and the statement at fault."""
    last = printed[-1] if printed else None
    if last is not None and last.function is None:
        return replace(raised, details=_syntax_details(last, root), site=_syntax_site(last, root))
    frame = innermost(raised)
    lines = frame.source.lines if frame is not None and frame.source is not None else ()
    site = Site(frame=frame, statement=" ".join(" ".join(lines).split())) if frame is not None else None
    details = {key: value for key, value in _details(raised, last, root).items() if value}
    return replace(raised, details=details, site=site)


def _syntax_details(place: Printed, root: str) -> dict[str, str]:
    path = project_path(place.file, root) or place.file.replace("\\", "/")
    details = {"path": path, "line": str(place.line)}
    if place.lines:
        details["text"] = place.lines[0]
    if "^" in place.markers:
        details["column"] = str(place.markers.index("^") + 1)
    return details


def _syntax_site(place: Printed, root: str) -> Site | None:
    file = project_path(place.file, root)
    return Site(frame=_frame(place, file)) if file else None


def _details(raised: Raised, last: Printed | None, root: str) -> dict[str, str]:
    message = raised.message
    if is_a(raised, "ImportError"):
        found = _CANNOT_IMPORT.match(message) or _NO_MODULE.match(message)
        return found.groupdict() if found else {}
    if is_a(raised, "AttributeError") and (found := _NO_ATTRIBUTE.match(message)):
        return {"name": found["name"], "owner": (found["module"] or "") + found["owner"]}
    if raised.type == "NameError" and (found := _NO_NAME.match(message)):
        return {"name": found["name"] or found["free"]}
    if is_a(raised, "OSError") and (found := _OS_ERROR.match(message)):
        path = found["path"][1:-1].replace("\\\\", "\\")
        return {"path": project_path(path, root) or path}
    if raised.type == "KeyError" and last is not None and _reads_environment(last):
        return {"environment": message.strip("'\"")}
    return {}


def _reads_environment(last: Printed) -> bool:
    return last.function == "__getitem__" and _OS_FILE.search(last.file) is not None


def linked(chain: list[tuple[str, Raised]]) -> Raised:
    """The last of a chain, each with the one before it as its cause or context."""
    _, last = chain[0]
    for kind, one in chain[1:]:
        last = replace(one, cause=last) if kind == "cause" else replace(one, context=last)
    return last
