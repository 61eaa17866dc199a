"""Exceptions as records: message, chain and project frames, with the source of each."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from types import ModuleType, TracebackType
from typing import Any, TypeGuard

import pytest
from msgspec.structs import replace

from loop_close.capture import ProjectCode, frames_of, record, source_between, without_end
from loop_close.capture.differences import Comparisons
from loop_close.capture.nearest import lacking
from loop_close.capture.objects import variables_of
from loop_close.capture.sites import find_site
from loop_close.capture.values import Texts, class_name
from loop_close.facts import bounded
from loop_close.model import LAST_LINE, Frame, Raised, Site
from loop_close.text import cut
from loop_close.text.redact import clean, redact_known

MAX_LINKS = 8
MAX_MEMBERS = 12
MAX_RECORDS = 60
_BEFORE = 12
_CANNOT_IMPORT = re.compile(
    r"cannot import name '(?P<name>[^']+)' from (?:partially initialized module )?'(?P<module>[^']+)'"
)
# Python's message for arguments that a function does not take (3.11 to 3.14: Python/ceval.c).
_REFUSED = re.compile(r"(?P<function>[^\s(]{1,300})\(\) (?:got|missing|takes) ")
_GET_ENVIRONMENT = type(os.environ).__getitem__.__code__


def describe(exc: BaseException, project: ProjectCode, comparisons: Comparisons | None = None) -> Raised:
    """The record of an exception, with the source in the project; its texts are safe to show.

    :param comparisons: comparisons of the failing assertions of the test.
    """
    comparisons = comparisons or Comparisons(Texts(project))
    raised = _Reader(project, comparisons).read(unwrapped(exc), MAX_LINKS)
    numbers = comparisons.texts.numbers
    return _without_known(raised, numbers) if numbers else raised


def _without_known(raised: Raised, numbers: dict[str, int]) -> Raised:
    """The record without what the texts of other values hide by its name: in messages, values and differences."""

    def hidden(text: str) -> str:
        return redact_known(text, numbers)

    site = raised.site
    return replace(
        raised,
        message=hidden(raised.message),
        site=site and replace(site, values=tuple((name, hidden(text)) for name, text in site.values)),
        differences=tuple(
            replace(each, left=hidden(each.left), right=hidden(each.right)) for each in raised.differences
        ),
        cause=raised.cause and _without_known(raised.cause, numbers),
        context=raised.context and _without_known(raised.context, numbers),
        members=tuple(_without_known(each, numbers) for each in raised.members),
    )


class _Reader:
    """Reads an exception and its causes and contexts, each once, because they may form a cycle."""

    def __init__(self, project: ProjectCode, comparisons: Comparisons) -> None:
        self._project = project
        self._comparisons = comparisons
        self._seen: set[int] = set()

    def read(self, exc: BaseException, links: int) -> Raised:
        """The record of an exception that was not read before, with at most so many links."""
        self._seen.add(id(exc))
        live = frames_of(exc)
        own = [each for each in live if self._project.relative(each.tb_frame.f_code.co_filename) is not None]
        own = without_end(own) if issubclass(type(exc), RecursionError) else own
        details = _safely(lambda: _details(exc, live, self._project), {})
        near, more = _safely(lambda: lacking(exc, details, live, self._project), ((), {}))
        site = _safely(lambda: self._site(exc, own), None)  # its credentials have the first numbers
        message = message_of(exc)
        is_verdict = issubclass(type(exc), AssertionError)
        differences = _safely(lambda: self._comparisons.of(live, own), ()) if is_verdict else ()
        raised = Raised(
            type=str(type(exc).__qualname__).replace("<locals>.", ""),
            module=_module_name(type(exc)),
            bases=tuple(c.__name__ for c in type(exc).__mro__[1:-1]),
            message=clean(self._project.tidy(message), numbers=self._comparisons.texts.numbers),
            frames=(
                *(record(each, self._project) for each in bounded(own)),
                *_refusing(type(exc), message, site.origins if site is not None else ()),
            ),
            details=details | more,
            nearest=near,
            differences=differences,
            site=site,
        )
        relatives: dict[str, Any] = _safely(lambda: self._relatives(exc, links), {})
        return replace(raised, **relatives)

    def _site(self, exc: BaseException, own: list[TracebackType]) -> Site | None:
        """The failing statement; for a syntax error the position in the file, for which there is no frame."""
        if isinstance(exc, SyntaxError) and isinstance(exc.filename, str) and _is_line(exc.lineno):
            file = self._project.relative(exc.filename)
            source = source_between(exc.filename, max(1, exc.lineno - _BEFORE), exc.lineno + 1, exc.lineno)
            if file:
                return Site(frame=Frame(file=file, line=exc.lineno, function="", source=source))
        is_assertion = issubclass(type(exc), AssertionError | pytest.fail.Exception)
        site = find_site(own, self._project, self._comparisons.texts, is_assertion=is_assertion)
        # An infinite recursion ends at the limit of the stack, so the values there are arbitrary.
        return replace(site, values=()) if site is not None and isinstance(exc, RecursionError) else site

    def _relatives(self, exc: BaseException, links: int) -> dict[str, Any]:
        cause, context = exc.__cause__, None if exc.__suppress_context__ else exc.__context__
        is_group = issubclass(type(exc), BaseExceptionGroup)
        group: tuple[BaseException, ...] = getattr(exc, "exceptions", ()) if is_group else ()
        members = tuple(filter(None, (self._relative(each, links - 2) for each in group[:MAX_MEMBERS])))
        return {
            "cause": self._relative(cause, links - 1),
            "context": self._relative(context, links - 1) if cause is None else None,
            "members": members,
            "omitted_members": len(group) - len(members),
        }

    def _relative(self, exc: BaseException | None, links: int) -> Raised | None:
        """The record of a related exception; None if it was read before or is nested too deeply."""
        if exc is None or links < 0 or id(exc) in self._seen or len(self._seen) >= MAX_RECORDS:
            return None
        return self.read(exc, links)


def _refusing(kind: type[BaseException], message: str, origins: Sequence[Frame]) -> Sequence[Frame]:
    """The function that did not take its arguments: Python raises the error before it has a frame."""
    said = _REFUSED.match(message) if issubclass(kind, TypeError) else None
    return [each for each in origins if said is not None and each.function == said["function"]][:1]


def _safely(compute: Any, default: Any) -> Any:
    """Call a reader, and ignore all its errors: objects of the program may even exit when they are read."""
    try:
        return compute()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return default


def _module_name(cls: type) -> str:
    module = cls.__module__
    return module if isinstance(module, str) and module != "builtins" else ""


def message_of(exc: BaseException) -> str:
    """``str(exc)`` and its notes (PEP 678), bounded; a placeholder if ``str`` fails."""
    text = _safely(lambda: _words(exc), f"<unprintable {type(exc).__name__}>")
    notes = _safely(lambda: [str(n) for n in getattr(exc, "__notes__", ())], [])
    return cut("\n".join([text, *notes]))


def _words(exc: BaseException) -> str:
    """The text of the exception; for a missing fixture without the list of available ones."""
    if type(exc).__name__ == "FixtureLookupError":
        return str(getattr(exc, "msg", None) or f"fixture '{getattr(exc, 'argname', '?')}' not found")
    return str(exc)


def _is_line(number: object) -> TypeGuard[int]:
    """Whether it is the number of a line: whoever makes an exception may give it anything."""
    return type(number) is int and 0 < number <= LAST_LINE


def _details(exc: BaseException, live: list[TracebackType], project: ProjectCode) -> dict[str, str]:
    """Details in the attributes of the exception."""
    found: dict[str, Any] = {}
    if isinstance(exc, SyntaxError):
        path = project.relative(exc.filename) if isinstance(exc.filename, str) else None
        found = {"path": path or exc.filename, "line": exc.lineno if _is_line(exc.lineno) else None}
    elif isinstance(exc, ImportError):
        lacks = _CANNOT_IMPORT.search(str(exc))
        found = {"name": lacks["name"], "owner": lacks["module"]} if lacks else {"name": exc.name}
    elif isinstance(exc, AttributeError):
        found = {"name": exc.name, "owner": _owner(exc.obj)} if exc.name else {}
    elif isinstance(exc, NameError):
        found = {"name": exc.name}
    elif isinstance(exc, OSError) and isinstance(exc.filename, str | bytes | os.PathLike):
        found = {"path": project.tidy(os.fsdecode(exc.filename))}
    elif isinstance(exc, KeyError) and live and live[-1].tb_frame.f_code is _GET_ENVIRONMENT:
        found = {"environment": exc.args[0]}
    elif type(exc).__name__ == "FixtureLookupError":
        found = {"fixture": getattr(exc, "argname", None)}
    plain = {key: value for key, value in found.items() if type(value) is str or type(value) is int}
    return {key: str(value) for key, value in plain.items() if value != ""}


def _owner(obj: Any) -> str:
    """The type whose attribute is missing, or the module itself."""
    if issubclass(type(obj), ModuleType):
        return f"module {variables_of(obj).get('__name__')}"
    # Not isinstance: it may run a property of the object.
    return class_name(obj if issubclass(type(obj), type) else type(obj))


def unwrapped(exc: BaseException) -> BaseException:
    """The error that pytest wrapped while it imported a test module or a conftest.

    Of two test modules of one name, or of pytest.skip for a whole module, pytest's own words are the explanation.
    """
    is_wrapper = type(exc).__name__ in ("ConftestImportFailure", "CollectError")
    inner = getattr(exc, "cause", exc.__cause__) if is_wrapper else None  # the attribute is new in pytest 8.1
    is_explained = type(inner).__name__ in ("ImportPathMismatchError", "Skipped")
    return inner if isinstance(inner, BaseException) and not is_explained else exc
