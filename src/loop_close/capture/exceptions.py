"""Exceptions as records: message, chain and project frames, with the source of each."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from loop_close import lazy
from loop_close.capture import (
    FrameLookup,
    LiveFrame,
    Namespaces,
    ProjectCode,
    function_of,
    index_of,
    is_hidden,
    live_frames,
    record,
    source_between,
    statement_of,
    without_end,
)
from loop_close.capture.comparisons import Comparisons, differences_of
from loop_close.capture.nearest import Lack, lacking
from loop_close.capture.values import Texts, named_values
from loop_close.conventions import is_test_file
from loop_close.facts import bounded, leaves, links
from loop_close.model import Difference, Frame, Origin, Raised, Site
from loop_close.syntax import (
    Function,
    enclosing_function,
    expression_at,
    statement_at,
)
from loop_close.syntax.makers import makers_of
from loop_close.syntax.uses import (
    VALUE,
    Tracer,
    checked_expressions,
    depends_on_parameters,
    earlier_calls,
    matches,
    raise_template,
)
from loop_close.text import cut
from loop_close.text.redact import redact_known

MAX_LINKS = 8
_BEFORE = 12
MAX_MEMBERS = 12
MAX_RECORDS = 60
_CANNOT_IMPORT = lazy.pattern(
    r"cannot import name '(?P<name>[^']+)' from (?:partially initialized module )?'(?P<module>[^']+)'"
)
# Not the modules that are frozen into Python itself, nor what a person types or writes into a docstring.
_GENERATED = lazy.pattern(r"<(?!frozen |stdin>|console>|doctest |ipython)")
# Of these a person wrote the text: templates of Jinja and Tornado, and what ``exec`` or ``eval`` ran.
_WRITTEN = lazy.pattern(r".*(?i:template|\.generated\.py:)|.* in <module>$")
_MAX_GENERATED = 3
_MAX_NAME = 100
_MAX_TEXT = 300
_DOUBLES = (
    *("unittest.mock", "mock", "responses", "requests_mock", "respx", "pytest_httpx", "httpretty"),
    *("aioresponses", "vcr", "pytest_socket"),
)
_GET_ENVIRONMENT = type(os.environ).__getitem__.__code__


def describe(
    exc: BaseException,
    project: ProjectCode,
    fixtures: Collection[str] = (),
    comparisons: Comparisons | None = None,
) -> Raised:
    """The record of an exception, with the source in the project.

    :param fixtures: names of the fixtures of the test.
    :param comparisons: comparisons of the failing assertions of the test.
    """
    if comparisons is None:
        comparisons = Comparisons(Texts(project))
    sites = SiteFinder(project, comparisons.texts, fixtures)
    raised, texts = _Reader(project, sites, comparisons).read(exc, MAX_LINKS), comparisons.texts
    # What a message names as a credential may be a value without a name of its own.
    texts.note(link.message for link in (*links(raised), *leaves(raised)))
    return _without_known(raised, texts.numbers)


def _without_known(raised: Raised, numbers: dict[str, int]) -> Raised:
    """The record without what the texts of other values hide by its name: in messages, values and differences."""
    if not numbers:
        return raised
    cause, context = (each and _without_known(each, numbers) for each in (raised.cause, raised.context))
    members = tuple(_without_known(each, numbers) for each in raised.members)
    site = raised.site
    values = (
        tuple((name, redact_known(text, numbers)) for name, text in site.values) if site is not None else ()
    )
    differences = tuple(
        replace(each, left=redact_known(each.left, numbers), right=redact_known(each.right, numbers))
        for each in raised.differences
    )
    return replace(
        raised,
        message=redact_known(raised.message, numbers),
        site=site and replace(site, values=values),
        differences=differences,
        cause=cause,
        context=context,
        members=members,
    )


@dataclass(slots=True)
class _Reader:
    """Reads an exception and its causes and contexts, each once, because they may form a cycle."""

    project: ProjectCode
    sites: SiteFinder
    comparisons: Comparisons
    seen: set[int] = field(default_factory=set)

    def read(self, exc: BaseException, links: int) -> Raised:
        self.seen.add(id(exc))
        live = live_frames(exc.__traceback__, self.project)
        own = [frame for frame in live if frame.file is not None]
        own = without_end(own) if issubclass(type(exc), RecursionError) else own
        kept = bounded(own)
        details = _safely(lambda: _details(exc, live, self.project), {})
        lack = _safely(lambda: lacking(exc, details, live, self.project), Lack())
        site = _safely(lambda: self._site(exc, own), None)  # its credentials have the first numbers
        raised = Raised(
            type=_type_name(type(exc)),
            module=_module_name(type(exc)),
            bases=tuple(c.__name__ for c in type(exc).__mro__[1:-1]),
            message=self.project.tidy(message_of(exc)),
            frames=tuple(record(frame) for frame in kept),
            details={**details, **lack.details},
            nearest=lack.nearest,
            differences=_safely(lambda: self._differences(exc, live), ()),
            template=_safely(lambda: _template(exc, live), None),
            site=site,
        )
        relatives: dict[str, Any] = _safely(lambda: self._relatives(exc, links), {})
        return replace(raised, **relatives)

    def _site(self, exc: BaseException, own: list[LiveFrame]) -> Site | None:
        """The failing statement; for a syntax error the position in the file, for which there is no frame."""
        if isinstance(exc, SyntaxError) and isinstance(exc.filename, str) and exc.lineno:
            file = self.project.relative(exc.filename)
            source = source_between(exc.filename, max(1, exc.lineno - _BEFORE), exc.lineno + 1, exc.lineno)
            if file:
                return Site(frame=Frame(file=file, line=exc.lineno, function="", source=source))
        site = self.sites.find(own, is_assertion=_is_assertion(exc))
        # An infinite recursion ends at the limit of the stack, so the values there are arbitrary.
        return replace(site, values=()) if site is not None and isinstance(exc, RecursionError) else site

    def _differences(self, exc: BaseException, live: list[LiveFrame]) -> tuple[Difference, ...]:
        if not live or not issubclass(type(exc), AssertionError):
            return ()
        statement = frame_place(live[-1]).statement
        return differences_of(live, statement, self.comparisons)

    def _relatives(self, exc: BaseException, links: int) -> dict[str, Any]:
        cause, context = exc.__cause__, None if exc.__suppress_context__ else exc.__context__
        group: tuple[BaseException, ...] = getattr(exc, "exceptions", ()) if _is_group(exc) else ()
        members = [self._relative(member, links - 2) for member in group[:MAX_MEMBERS]]
        shown = tuple(member for member in members if member is not None)
        return {
            "cause": self._relative(cause, links - 1),
            "context": self._relative(context, links - 1) if cause is None else None,
            "members": shown,
            "omitted_members": len(group) - len(shown),
        }

    def _relative(self, exc: BaseException | None, links: int) -> Raised | None:
        """The record of a related exception; None if it was read before or is nested too deeply."""
        if exc is None or links < 0 or id(exc) in self.seen or len(self.seen) >= MAX_RECORDS:
            return None
        return self.read(exc, links)


def _safely(compute: Any, default: Any) -> Any:
    """Call a reader, and ignore all its errors: objects of the program may even exit when they are read."""
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
    """``str(exc)`` and its notes (PEP 678), bounded; a placeholder if ``str`` fails."""
    text = _safely(lambda: _words(exc), f"<unprintable {type(exc).__name__}>")
    notes = _safely(lambda: [str(n) for n in getattr(exc, "__notes__", ())], [])
    return cut("\n".join([text, *notes]))


def _words(exc: BaseException) -> str:
    """The text of the exception; for a missing fixture without the list of available ones."""
    if type(exc).__name__ == "FixtureLookupError":
        return str(getattr(exc, "msg", None) or f"fixture '{getattr(exc, 'argname', '?')}' not found")
    return str(exc)


def _is_assertion(exc: BaseException) -> bool:
    # pytest calls its own a builtin; a project's class of that name has the project's module
    is_of_pytest = type(exc).__name__ == "Failed" and not _module_name(type(exc))
    return is_of_pytest or issubclass(type(exc), AssertionError)


def _template(exc: BaseException, live: list[LiveFrame]) -> str | None:
    """The fixed part of the message, if the raising frame has a template that matches."""
    if not live:
        return None
    statement, scope = statement_of(live[-1])
    template = raise_template(statement, scope) if statement is not None else None
    return template if template is not None and matches(template, str(exc)) else None


def _details(exc: BaseException, live: list[LiveFrame], project: ProjectCode) -> Mapping[str, str]:
    """Details in the attributes of the exception; the position if it was raised in generated code."""
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
    found |= _generated(live) | _double(live)
    return {key: str(value) for key, value in found.items() if type(value) in (str, int) and value != ""}


def _double(live: list[LiveFrame]) -> dict[str, Any]:
    """The library that raised the exception in the place of what it stands for in tests."""
    module = live[-1].frame.f_globals.get("__name__") if live else None
    library = next((each for each in _DOUBLES if f"{module}.".startswith(f"{each}.")), None)
    return {"double": library} if library else {}


def _syntax_details(exc: SyntaxError, project: ProjectCode) -> dict[str, Any]:
    """Position and text of a syntax error. A long line is cut around the column, which then counts within the part."""
    path = project.relative(exc.filename) if isinstance(exc.filename, str) else None
    text, column = exc.text, exc.offset
    if type(text) is str and len(text) > _MAX_TEXT:
        first = max(0, (column if type(column) is int else 0) - _MAX_TEXT // 2)
        text, column = text[first : first + _MAX_TEXT], column - first if type(column) is int else column
    found = {"path": path or exc.filename, "line": exc.lineno, "text": text, "column": column}
    return {k: v for k, v in found.items() if type(v) is (str if k in ("path", "text") else int)}


def _generated(live: list[LiveFrame]) -> dict[str, str]:
    """The last frames in generated code, if no frame of the project follows; outermost first.

    Library code that they called may have raised. Then a wrapper that a library generated says nothing.
    """
    last = next((n for n, each in enumerate(reversed(live)) if each.file is not None), len(live))
    inner = live[len(live) - last :]
    made = [each for each in inner if _GENERATED.match(each.code.co_filename)]
    names = [
        f"{each.code.co_filename[:_MAX_NAME]}:{each.line} in {each.code.co_name[:_MAX_NAME]}" for each in made
    ]
    if made and made[-1] is live[-1]:
        return {"generated": "\n".join(names[-_MAX_GENERATED:])}
    return {"generated_caller": next(filter(_WRITTEN.match, reversed(names)), "")}


def _import_details(exc: ImportError) -> dict[str, Any]:
    """The missing module; or the missing name and its module (``name_from`` is new in 3.12)."""
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
    """The path of an OSError; its attribute may also be a descriptor or None."""
    return os.fsdecode(filename) if isinstance(filename, str | bytes | os.PathLike) else ""


# --- read any exception of pytest, without its wrappers


def describe_any(
    exc: BaseException,
    project: ProjectCode,
    fixtures: Collection[str] = (),
    comparisons: Comparisons | None = None,
) -> Raised:
    """The exception behind pytest's ``CollectError`` and ``ConftestImportFailure``, or of a doctest's example."""
    inner = unwrapped(exc)
    found = describe_doctest(inner, project, lambda e: describe(e, project))
    return found or describe(inner, project, fixtures, comparisons)


def unwrapped(exc: BaseException) -> BaseException:
    """The error that pytest wrapped while it imported a test module or a conftest."""
    name = type(exc).__name__
    if name == "CollectError" and exc.__cause__ is not None:
        # Two test modules of one name, or pytest.skip for a whole module: there pytest's words are the explanation.
        is_explained = type(exc.__cause__).__name__ in ("ImportPathMismatchError", "Skipped")
        return exc if is_explained else exc.__cause__
    if name == "ConftestImportFailure":
        given = getattr(exc, "cause", None)  # new in pytest 8.1
        cause = given if isinstance(given, BaseException) else exc.__cause__
        return exc if cause is None else cause
    return exc


# --- failures of doctests: there the traceback is of doctest itself, and the example says what was wanted

_AROUND = 3


def describe_doctest(
    exc: BaseException, project: ProjectCode, describe: Callable[[BaseException], Raised]
) -> Raised | None:
    """The failing example(s) of a doctest; None when ``exc`` is not a doctest failure.

    :param describe: reads an ordinary exception (an example may raise one).
    """
    failures = getattr(exc, "failures", None) if type(exc).__name__ == "MultipleDoctestFailures" else [exc]
    if not failures or not all(_is_doctest_failure(f) for f in failures):
        return None
    members = tuple(_example(f, project, describe) for f in failures)
    if len(members) == 1:
        return members[0]
    return replace(members[0], type="MultipleDoctestFailures", members=members)


def _is_doctest_failure(exc: Any) -> bool:
    return type(exc).__name__ in ("DocTestFailure", "UnexpectedException") and hasattr(exc, "example")


def _example(exc: Any, project: ProjectCode, describe: Callable[[BaseException], Raised]) -> Raised:
    frame = _frame(exc, project)
    site = Site(frame=frame, statement=str(exc.example.source).strip()) if frame else None
    frames = (frame,) if frame else ()
    if type(exc).__name__ == "UnexpectedException":
        inner = describe(exc.exc_info[1])
        return inner if inner.frames else replace(inner, frames=frames, site=site)
    message = f"{exc.example.source}Expected:\n{_indent(exc.example.want)}\nGot:\n{_indent(exc.got)}"
    return Raised(type="DocTestFailure", module="doctest", message=message, frames=frames, site=site)


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in str(text).splitlines()) or "    (nothing)"


def _frame(exc: Any, project: ProjectCode) -> Frame | None:
    test, filename = exc.test, exc.test.filename
    file = project.relative(filename) if isinstance(filename, str) else None
    if file is None:
        return None
    line = (test.lineno or 0) + exc.example.lineno + 1
    source = source_between(filename, max(1, line - _AROUND), line + _AROUND, line)
    return Frame(file=file, line=line, function=str(test.name), is_test=True, source=source)


# --- the statement that a failure is about, and the origins of its values

#: Usual names of functions that check their arguments.
_CHECKER = lazy.pattern(
    r"(?:^|_)(?:check|assert|expect|verify|ensure|require|should|must)(?:_|$|[A-Z])", re.I
)
_MAX_STATEMENT = 300
_EXPRESSIONS = ("<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_NO_SOURCE = ast.Module(body=[], type_ignores=[])


@dataclass(frozen=True, slots=True)
class FramePlace:
    """The function (or module) and the statement at which a frame stopped.

    :ivar opaque: names whose values come from a caller that is not known.
    """

    live: LiveFrame
    scope: ast.AST
    statement: ast.stmt | None
    opaque: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Without:
    """A lookup that ignores the helpers that were skipped, because they are not under test."""

    helpers: set[tuple[str, str]]
    lookup: FrameLookup

    def origin(self, node: ast.expr) -> Origin | None:
        found = self.lookup.origin(node)
        return None if found and (found.file, found.function) in self.helpers else found

    def attribute(self, node: ast.Attribute) -> Origin | None:
        return self.lookup.attribute(node)


class SiteFinder:
    """Finds sites for the failures of one test.

    :param texts: the texts of values in the sites.
    :param fixtures: names of the fixtures the test asked for.
    """

    def __init__(self, project: ProjectCode, texts: Texts, fixtures: Collection[str] = ()) -> None:
        self._project = project
        self._fixtures = fixtures
        self._texts = texts

    def find(self, frames: list[LiveFrame], *, is_assertion: bool) -> Site | None:
        """The innermost project statement that a failure is about.

        For an assertion helper, whose result depends on its arguments, it is the statement of the caller: fifteen
        calls of one ``check()`` are fifteen sites. The same holds for a function that only raises its argument.

        :param frames: project frames, outermost first.
        :param is_assertion: an ``AssertionError`` or ``pytest.fail``, not an unexpected exception.
        """
        shown = [f for f in frames if not is_hidden(f.frame)] or frames
        shown = shown if is_assertion else _without_callbacks(shown)
        helpers: set[tuple[str, str]] = set()
        for index in range(len(shown) - 1, -1, -1):
            place = frame_place(shown[index])
            verdict = is_assertion or bool(helpers)
            site = self._site(place, verdict, helpers)
            is_helper = site.frame.is_handing_on or (not site.origins and _judges_arguments(place, verdict))
            if index == 0 or not is_helper:
                return site
            helpers.add((site.frame.file, site.frame.function))
        return None

    def _site(self, place: FramePlace, is_assertion: bool, helpers: set[tuple[str, str]]) -> Site:
        frame, statement = record(place.live), place.statement
        if statement is None:
            return Site(frame=frame)
        seen = FrameLookup(place.live.frame, self._project, self._fixtures)
        lookup = _Without(helpers, seen)
        tracer = Tracer(place.scope, statement.lineno, lookup, place.opaque, in_test=frame.is_test)
        origins = tracer.origins(_expressions(place.live, statement, is_assertion))
        if not origins and (is_assertion or frame.is_test):
            calls = earlier_calls(place.scope, statement)
            origins = next((found for call in calls if (found := tracer.origins([call]))), ())
        return Site(
            frame=frame,
            statement=_text(statement),
            values=self._values(place, statement, seen.names),
            origins=origins,
            inner=tracer.inner(),
        )

    def _values(
        self, place: FramePlace, statement: ast.stmt, names: Namespaces
    ) -> tuple[tuple[str, str], ...]:
        is_test, in_expression = is_test_file(place.live.file or ""), place.live.code.co_name in _EXPRESSIONS
        try:
            makers = makers_of(place.scope, statement) if is_test else ()
            return named_values(
                statement, names, self._texts, makers=makers, is_test=is_test, in_expression=in_expression
            )
        except Exception:  # what cannot be read must not cost the site
            return ()


def frame_place(live: LiveFrame) -> FramePlace:
    """The statement at which a frame stopped, and its function."""
    function = function_of(live.code)
    index = index_of(live.code.co_filename)
    if function is not None or index is None:
        scope: ast.AST = function or _NO_SOURCE
        return FramePlace(live, scope, statement_at(scope, live.line))
    if live.code.co_name == "<module>":
        return FramePlace(live, index.tree, statement_at(index.tree, live.line))
    scope = enclosing_function(index, live.line) or index.tree  # a lambda or a comprehension
    return FramePlace(live, scope, statement_at(scope, live.line), opaque=frozenset(live.code.co_varnames))


def _without_callbacks(frames: list[LiveFrame]) -> list[LiveFrame]:
    """The frames up to the code under test, if that called back into the test: it chose the arguments."""
    inner = next((n for n, live in enumerate(reversed(frames)) if not is_test_file(live.file or "")), 0)
    return frames[: len(frames) - inner]


def _expressions(live: LiveFrame, statement: ast.stmt, is_assertion: bool) -> list[ast.expr]:
    """The expressions to trace: for an unexpected exception only the operand, by the columns of the instruction."""
    node = expression_at(statement, live.span) if live.span and not is_assertion else None
    if isinstance(node, ast.Attribute | ast.Subscript):
        return [node.value]
    if node is None or isinstance(getattr(node, "ctx", None), ast.Store):
        return checked_expressions(
            statement
        )  # unpacking fails at the names to the left, over the value to the right
    return [node]


def _judges_arguments(place: FramePlace, is_assertion: bool) -> bool:
    """Whether the function checks its arguments, so that its call is the failing statement."""
    function, statement = place.scope, place.statement
    if not isinstance(function, Function) or statement is None or function.name.startswith("test"):
        return False
    if not depends_on_parameters(function, statement):
        return False
    if _CHECKER.search(function.name) or raise_template(statement, function) == VALUE:
        return is_assertion or isinstance(statement, ast.Raise)
    return is_assertion and is_test_file(place.live.file or "")


@lru_cache(maxsize=512)
def _text(statement: ast.stmt) -> str:
    """The statement on one line; for a compound one the header."""
    return ast.unparse(statement).split("\n", 1)[0][:_MAX_STATEMENT]
