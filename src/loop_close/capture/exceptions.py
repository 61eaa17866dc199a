"""Turn an exception into :class:`~loop_close.model.Raised`, holding no object of the program."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from loop_close.capture.differences import Comparisons, differences_of
from loop_close.capture.frames import Live, live_frames, record, statement_of, without_end
from loop_close.capture.nearest import Lack, lacking
from loop_close.capture.project import Project
from loop_close.capture.site import SiteFinder, place_of
from loop_close.capture.sources import source_between
from loop_close.capture.values import Texts
from loop_close.facts import bounded
from loop_close.model import Difference, Frame, Raised, Site
from loop_close.syntax.templates import matches, raise_template
from loop_close.text import cut

MAX_LINKS = 8
_BEFORE = 12
MAX_MEMBERS = 12
MAX_RECORDS = 60
_CANNOT_IMPORT = re.compile(
    r"cannot import name '(?P<name>[^']+)' from (?:partially initialized module )?'(?P<module>[^']+)'"
)
# Not the modules that are frozen into Python itself, nor what a person types or writes into a docstring.
_GENERATED = re.compile(r"<(?!frozen |stdin>|console>|doctest |ipython)")
_MAX_GENERATED = 3
_MAX_NAME = 100
_MAX_TEXT = 300
_GET_ENVIRONMENT = type(os.environ).__getitem__.__code__


def describe(
    exc: BaseException,
    project: Project,
    fixtures: Collection[str] = (),
    comparisons: Comparisons | None = None,
) -> Raised:
    """Everything about ``exc`` that the project's files can explain.

    :param fixtures: names of the fixtures of the test it was raised in.
    :param comparisons: what the assertions of the test compared.
    """
    return _Reader(project, SiteFinder(project, fixtures), comparisons).read(exc, MAX_LINKS)


@dataclass(slots=True)
class _Reader:
    """Reads an exception and its relatives, each once: they may hold each other."""

    project: Project
    sites: SiteFinder
    comparisons: Comparisons | None = None
    seen: set[int] = field(default_factory=set)

    def read(self, exc: BaseException, links: int) -> Raised:
        self.seen.add(id(exc))
        live = live_frames(exc.__traceback__, self.project)
        own = [frame for frame in live if frame.file is not None]
        own = without_end(own) if issubclass(type(exc), RecursionError) else own
        kept, omitted = bounded(own)
        details = _safely(lambda: _details(exc, live, self.project), {})
        lack = _safely(lambda: lacking(exc, details, live, self.project), Lack())
        raised = Raised(
            type=_type_name(type(exc)),
            module=_module_name(type(exc)),
            bases=tuple(c.__name__ for c in type(exc).__mro__[1:-1]),
            message=self.project.tidy(message_of(exc)),
            frames=tuple(record(frame) for frame in kept),
            omitted_frames=omitted,
            details={**details, **lack.details},
            nearest=lack.nearest,
            differences=_safely(lambda: self._differences(exc, live), ()),
            template=_safely(lambda: _template(exc, live), None),
            site=_safely(lambda: self._site(exc, own), None),
        )
        relatives: dict[str, Any] = _safely(lambda: self._relatives(exc, links), {})
        return replace(raised, **relatives)

    def _site(self, exc: BaseException, own: list[Live]) -> Site | None:
        """The failing statement; of a syntax error the place in the file, which no frame runs in."""
        if isinstance(exc, SyntaxError) and isinstance(exc.filename, str) and exc.lineno:
            file = self.project.relative(exc.filename)
            source = source_between(exc.filename, max(1, exc.lineno - _BEFORE), exc.lineno + 1, exc.lineno)
            if file:
                return Site(frame=Frame(file=file, line=exc.lineno, function="", source=source))
        site = self.sites.find(own, is_assertion=_is_assertion(exc))
        # A recursion without end stops wherever the stack does, so its values there are by chance.
        return replace(site, values=()) if site is not None and isinstance(exc, RecursionError) else site

    def _differences(self, exc: BaseException, live: list[Live]) -> tuple[Difference, ...]:
        if not live or not issubclass(type(exc), AssertionError):
            return ()
        statement = place_of(live[-1]).statement
        return differences_of(live, statement, self.comparisons, Texts(self.project))

    def _relatives(self, exc: BaseException, links: int) -> dict[str, Any]:
        cause, context = exc.__cause__, None if exc.__suppress_context__ else exc.__context__
        group: tuple[BaseException, ...] = getattr(exc, "exceptions", ()) if _is_group(exc) else ()
        members = [self._relative(member, links - 2) for member in group[:MAX_MEMBERS]]
        told = tuple(member for member in members if member is not None)
        return {
            "cause": self._relative(cause, links - 1),
            "context": self._relative(context, links - 1) if cause is None else None,
            "members": told,
            "omitted_members": len(group) - len(told),
        }

    def _relative(self, exc: BaseException | None, links: int) -> Raised | None:
        """The record of another exception; None when it was read already or lies too far."""
        if exc is None or links < 0 or id(exc) in self.seen or len(self.seen) >= MAX_RECORDS:
            return None
        return self.read(exc, links)


def _safely(compute: Any, default: Any) -> Any:
    """The program's objects may do anything when touched, exit too; what cannot be read is left out."""
    try:
        return compute()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return default


def _is_group(exc: BaseException) -> bool:
    return issubclass(type(exc), BaseExceptionGroup)


def _type_name(cls: type) -> str:
    return str(cls.__qualname__).replace("<locals>.", "")


def _module_name(cls: type) -> str:
    module = cls.__module__
    return module if isinstance(module, str) and module != "builtins" else ""


def message_of(exc: BaseException) -> str:
    """``str(exc)`` and its notes (PEP 678), bounded; a message that cannot be made says so."""
    text = _safely(lambda: _words(exc), f"<unprintable {type(exc).__name__}>")
    notes = _safely(lambda: [str(n) for n in getattr(exc, "__notes__", ())], [])
    return cut("\n".join([text, *notes]))


def _words(exc: BaseException) -> str:
    """The exception's text; for a missing fixture without the list of all there are."""
    if type(exc).__name__ == "FixtureLookupError":
        return str(getattr(exc, "msg", None) or f"fixture '{getattr(exc, 'argname', '?')}' not found")
    return str(exc)


def _is_assertion(exc: BaseException) -> bool:
    # pytest calls its own a builtin; a project's class of that name has the project's module
    is_of_pytest = type(exc).__name__ == "Failed" and not _module_name(type(exc))
    return is_of_pytest or issubclass(type(exc), AssertionError)


def _template(exc: BaseException, live: list[Live]) -> str | None:
    """The message's fixed part, when the frame that raised it spells one that fits."""
    if not live:
        return None
    statement, scope = statement_of(live[-1])
    template = raise_template(statement, scope) if statement is not None else None
    return template if template is not None and matches(template, str(exc)) else None


def _details(exc: BaseException, live: list[Live], project: Project) -> Mapping[str, str]:
    """What the exception says it is about; of what was raised in generated code also where."""
    found: dict[str, Any] = {}
    if isinstance(exc, SyntaxError):
        found = _syntax_details(exc, project)
    elif isinstance(exc, ImportError):
        found = _import_details(exc)
    elif isinstance(exc, AttributeError):
        found = {"name": exc.name, "owner": _owner(exc.obj)} if exc.name else {}
    elif isinstance(exc, NameError):
        found = {"name": exc.name}
    elif isinstance(exc, OSError):
        found = {"path": project.tidy(_path_text(exc.filename))}
    elif isinstance(exc, KeyError) and live and live[-1].code is _GET_ENVIRONMENT:
        found = {"environment": exc.args[0]}
    elif type(exc).__name__ == "FixtureLookupError":
        found = {"fixture": getattr(exc, "argname", None)}
    found["generated"] = "\n".join(_generated(live))
    return {key: str(value) for key, value in found.items() if type(value) in (str, int) and value != ""}


def _syntax_details(exc: SyntaxError, project: Project) -> dict[str, Any]:
    """The place and the text there: of a long line the part around the column, which counts within that part."""
    path = project.relative(exc.filename) if isinstance(exc.filename, str) else None
    text, column = exc.text, exc.offset
    if type(text) is str and len(text) > _MAX_TEXT:
        first = max(0, (column if type(column) is int else 0) - _MAX_TEXT // 2)
        text, column = text[first : first + _MAX_TEXT], column - first if type(column) is int else column
    found = {"path": path or exc.filename, "line": exc.lineno, "text": text, "column": column}
    return {k: v for k, v in found.items() if type(v) is (str if k in ("path", "text") else int)}


def _generated(live: list[Live]) -> list[str]:
    """The last frames in code that a program made itself, where no frame of the project follows: outermost first."""
    last = next((n for n, each in enumerate(reversed(live)) if each.file is not None), len(live))
    inner = live[len(live) - last :]
    made = [each for each in inner if _GENERATED.match(each.code.co_filename)]
    return [
        f"{each.code.co_filename[:_MAX_NAME]}:{each.line} in {each.code.co_name[:_MAX_NAME]}" for each in made
    ][-_MAX_GENERATED:]


def _import_details(exc: ImportError) -> dict[str, Any]:
    """The missing module, or the missing name and the module that lacks it (``name_from`` is new in 3.12)."""
    lacks = _CANNOT_IMPORT.search(str(exc))
    if lacks:
        return {"name": lacks["name"], "owner": lacks["module"]}
    return {"name": exc.name}


def _owner(obj: Any) -> str:
    """The type whose attribute is missing, or the module itself."""
    if issubclass(type(obj), ModuleType):
        return f"module {obj.__name__}"
    # Not isinstance: it may run a property of the object.
    return obj.__name__ if issubclass(type(obj), type) else type(obj).__name__


def _path_text(filename: Any) -> str:
    """The path of an OSError, which may also be a descriptor or nothing."""
    return os.fsdecode(filename) if isinstance(filename, str | bytes | os.PathLike) else ""
