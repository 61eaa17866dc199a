"""The statement that a failure is about, with the values of its names and the origins of what it uses.

Origins are the functions and classes of the project that expressions in the statement refer to.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Collection
from functools import lru_cache
from types import FrameType, FunctionType, ModuleType
from typing import Any

from loop_close.capture import (
    LiveFrame,
    ProjectCode,
    function_of,
    index_of,
    is_hidden,
    record,
    scope_of,
    source_between,
    statement_of,
)
from loop_close.capture.differences import labels_at
from loop_close.capture.objects import (
    MISSING,
    Names,
    bases_of,
    file_of_class,
    namespace_of,
    qualname_of,
    unwrap,
)
from loop_close.capture.values import Texts, named_values
from loop_close.conventions import is_test_file
from loop_close.model import Origin, Site
from loop_close.syntax import Function, expression_at, is_placeholder_body
from loop_close.syntax.uses import (
    VALUE,
    Tracer,
    checked_expressions,
    depends_on_parameters,
    earlier_calls,
    raise_template,
)

#: Usual names of functions that check their arguments.
_CHECKER = re.compile(r"(?:^|_)(?:check|assert|expect|verify|ensure|require|should|must)(?:_|$|[A-Z])", re.I)
_MAX_STATEMENT = 300
_LINES = 40

# --- origins


def origin_of(found: Any, project: ProjectCode) -> Origin | None:
    """The definition of an object in the project: a function or class; None for anything else."""
    function = unwrap(found)
    if type(function) is FunctionType:
        return _of_function(function, project)
    return _of_class(function, project) if issubclass(type(function), type) else None


def _of_function(function: FunctionType, project: ProjectCode) -> Origin | None:
    code = function.__code__
    key = code.co_filename, code  # code of two files that reads the same is equal
    file = project.relative(code.co_filename)
    if file is not None and key not in project.origins:
        line, node = code.co_firstlineno, function_of(code)
        last = node.end_lineno if node is not None and node.end_lineno else line + _LINES
        project.origins[key] = Origin(
            file=file,
            line=line,
            function=code.co_qualname,
            is_test=is_test_file(file),
            is_empty=node is not None and is_placeholder_body(node),
            source=source_between(code.co_filename, line, min(last, line + _LINES - 1), line),
        )
    return project.origins.get(key)


def _of_class(cls: type, project: ProjectCode) -> Origin | None:
    """The project's ``__init__`` of the class; for any other the class itself, by its own name."""
    made = namespace_of(cls).get("__init__")
    found = _of_function(made, project) if type(made) is FunctionType else None
    return found or origin_of_member(cls, qualname_of(cls), project)


def origin_of_member(cls: type, name: str, project: ProjectCode) -> Origin | None:
    """What a class of the project has by a name: its own lines, or those of the nearest base in the project."""
    for base in bases_of(cls):
        filename = file_of_class(base)
        file = project.relative(filename) if filename else None
        index = index_of(filename) if file else None
        line = index.classes.get(qualname_of(base)) if index is not None else None
        if file and line:
            source = source_between(filename, line, line + _LINES // 2 - 1, line)
            return Origin(file=file, line=line, function=name, is_test=is_test_file(file), source=source)
    return None


class FrameLookup:
    """Finds the project's functions and classes by expressions, with the names of one frame.

    :param fixtures: names of the fixtures the test asked for; a parameter of that name is the fixture's value.
    :param left_out: (file, function) of helpers that are not under test.
    """

    def __init__(
        self,
        frame: FrameType,
        project: ProjectCode,
        fixtures: Collection[str] = (),
        left_out: Collection[tuple[str, str]] = (),
    ) -> None:
        self.names = Names.of(frame)
        self._project = project
        self._fixtures = fixtures
        self._left_out = left_out

    def origin(self, node: ast.expr) -> Origin | None:
        """The project function, property or class that ``node`` names; None for everything else."""
        found = self.names.value(node)
        known = origin_of(found, self._project) if found is not MISSING else None
        if known is None and isinstance(node, ast.Name):
            return self._fixture(node)
        return None if known and (known.file, known.function) in self._left_out else known

    def attribute(self, node: ast.Attribute) -> Origin | None:
        """A plain attribute of an instance of a project class."""
        owner = self.names.value(node.value)
        cls = self.names.class_of(node.value) if owner is MISSING else type(owner)
        if cls is MISSING or issubclass(cls, type | ModuleType):
            return None
        return origin_of_member(cls, f"{qualname_of(cls)}.{node.attr}", self._project)

    def _fixture(self, node: ast.Name) -> Origin | None:
        """The fixture of a parameter whose value is plain data, from which its origin cannot be seen."""
        value = self.names.local.get(node.id, MISSING) if node.id in self._fixtures else MISSING
        if value is MISSING or namespace_of(type(value)).get("__module__", "builtins") != "builtins":
            return None
        return Origin(file="", line=0, function=f"fixture {node.id}")


# --- sites


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
        shown = [each for each in frames if not is_hidden(each.frame)] or frames
        shown = shown if is_assertion else _without_callbacks(shown)
        helpers: set[tuple[str, str]] = set()
        site = None
        for live in reversed(shown):
            is_verdict = is_assertion or bool(helpers)
            site = self._site(live, helpers, is_verdict=is_verdict)
            is_judging = not site.origins and _judges_arguments(live, is_verdict=is_verdict)
            if not (site.frame.is_handing_on or is_judging):
                break
            helpers.add((site.frame.file, site.frame.function))
        return site

    def _site(self, live: LiveFrame, helpers: set[tuple[str, str]], *, is_verdict: bool) -> Site:
        frame, statement, scope = record(live), statement_of(live), scope_of(live.code, live.line)
        if statement is None or scope is None:
            return Site(frame=frame)
        is_expression = live.code.co_name.startswith("<") and live.code.co_name != "<module>"
        # What a lambda or a comprehension was given comes from a caller that is not known.
        opaque = frozenset(live.code.co_varnames if is_expression else ())
        lookup = FrameLookup(live.frame, self._project, self._fixtures, helpers)
        tracer = Tracer(scope, statement.lineno, lookup, opaque, in_test=frame.is_test)
        origins = tracer.origins(_expressions(live, statement, is_verdict=is_verdict))
        if not origins and (is_verdict or frame.is_test):
            calls = earlier_calls(scope, statement)
            origins = next((found for call in calls if (found := tracer.origins([call]))), ())
        values: tuple[tuple[str, str], ...] = ()
        labels = labels_at([(live.code, live.line)]) if is_verdict else ()
        with contextlib.suppress(Exception):  # what cannot be read must not cost the site
            values = named_values(
                statement,
                lookup.names,
                self._texts,
                labels,
                is_test=frame.is_test,
                is_expression=is_expression,
            )
        return Site(frame=frame, statement=_text(statement), values=values, origins=origins)


def _without_callbacks(frames: list[LiveFrame]) -> list[LiveFrame]:
    """The frames up to the code under test, if that called back into the test: it chose the arguments."""
    inner = next((n for n, live in enumerate(reversed(frames)) if not is_test_file(live.file or "")), 0)
    return frames[: len(frames) - inner]


def _expressions(live: LiveFrame, statement: ast.stmt, *, is_verdict: bool) -> list[ast.expr]:
    """The expressions to trace: for an unexpected exception only the operand, by the columns of the instruction."""
    node = expression_at(statement, live.span) if live.span and not is_verdict else None
    if isinstance(node, ast.Attribute | ast.Subscript):
        return [node.value]
    # Unpacking fails at the names to the left, over the value to the right.
    is_target = isinstance(getattr(node, "ctx", None), ast.Store)
    return checked_expressions(statement) if node is None or is_target else [node]


def _judges_arguments(live: LiveFrame, *, is_verdict: bool) -> bool:
    """Whether the function checks its arguments, so that its call is the failing statement."""
    function, statement = scope_of(live.code, live.line), statement_of(live)
    if not isinstance(function, Function) or statement is None or function.name.startswith("test"):
        return False
    if not depends_on_parameters(function, statement):
        return False
    if _CHECKER.search(function.name) or raise_template(statement, function) == VALUE:
        return is_verdict or isinstance(statement, ast.Raise)
    return is_verdict and is_test_file(live.file or "")


@lru_cache(maxsize=512)
def _text(statement: ast.stmt) -> str:
    """The statement on one line; for a compound one the header."""
    return ast.unparse(statement).split("\n", 1)[0][:_MAX_STATEMENT]
