"""The statement that a failure is about, with the values of its names and the origins of what it uses.

Origins are the functions and classes of the project that expressions in the statement refer to.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Collection, Sequence
from functools import lru_cache
from types import FrameType, FunctionType
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
from loop_close.capture.objects import MISSING, Names, file_of_class, namespace_of, qualname_of, unwrap
from loop_close.capture.values import Texts, named_values
from loop_close.conventions import is_test_file
from loop_close.model import Frame, Site
from loop_close.syntax import Function, is_placeholder_body
from loop_close.syntax.uses import checked_expressions, earlier_calls, origins_in, raises_parameter

_MAX_STATEMENT = 300
_LINES = 40

# --- origins


def origin_of(found: Any, project: ProjectCode) -> Frame | None:
    """The definition of an object in the project: a function or class; None for anything else."""
    function = unwrap(found)
    if type(function) is FunctionType:
        return _of_function(function, project)
    return _of_class(function, project) if issubclass(type(function), type) else None


def _of_function(function: FunctionType, project: ProjectCode) -> Frame | None:
    code = function.__code__
    key = code.co_filename, code  # code of two files that reads the same is equal
    file = project.relative(code.co_filename)
    if file is not None and key not in project.origins:
        line, node = code.co_firstlineno, function_of(code)
        last = node.end_lineno if node is not None and node.end_lineno else line + _LINES
        project.origins[key] = Frame(
            file=file,
            line=line,
            function=code.co_qualname,
            is_test=is_test_file(file),
            is_empty=node is not None and is_placeholder_body(node),
            source=source_between(code.co_filename, line, min(last, line + _LINES - 1), line),
        )
    return project.origins.get(key)


def _of_class(cls: type, project: ProjectCode) -> Frame | None:
    """The project's ``__init__`` of the class; for any other the class itself."""
    made = namespace_of(cls).get("__init__")
    found = _of_function(made, project) if type(made) is FunctionType else None
    filename = file_of_class(cls)
    file = project.relative(filename)
    index = index_of(filename) if file else None
    line = index.classes.get(qualname_of(cls), 0) if index is not None else 0
    if found is not None or file is None or not line:
        return found
    source = source_between(filename, line, line + _LINES // 2 - 1, line)
    return Frame(file=file, line=line, function=qualname_of(cls), is_test=is_test_file(file), source=source)


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

    def origin(self, node: ast.expr) -> Frame | None:
        """The project function, property or class that ``node`` names; None for everything else."""
        found = self.names.value(node)
        known = origin_of(found, self._project) if found is not MISSING else None
        if known is None and isinstance(node, ast.Name):
            return self._fixture(node)
        return None if known and (known.file, known.function) in self._left_out else known

    def _fixture(self, node: ast.Name) -> Frame | None:
        """The fixture of a parameter whose value is plain data, from which its origin cannot be seen."""
        value = self.names.local.get(node.id, MISSING) if node.id in self._fixtures else MISSING
        if value is MISSING or namespace_of(type(value)).get("__module__", "builtins") != "builtins":
            return None
        return Frame(file="", line=0, function=f"fixture {node.id}")


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

        For a helper that judges it is the statement of the caller: fifteen calls of one ``check()`` are fifteen sites.
        The same holds for a function that only raises its argument.

        :param frames: project frames, outermost first.
        :param is_assertion: an ``AssertionError`` or ``pytest.fail``, not an unexpected exception.
        """
        helpers: set[tuple[str, str]] = set()
        site = None
        for live in reversed([each for each in frames if not is_hidden(each.frame)] or frames):
            is_verdict = is_assertion or bool(helpers)
            site = self._site(live, helpers, is_verdict=is_verdict)
            is_judging = not site.origins and _is_judging(live, is_verdict=is_verdict)
            if not (site.frame.is_handing_on or is_judging):
                break
            helpers.add((site.frame.file, site.frame.function))
        return site

    def _site(self, live: LiveFrame, helpers: set[tuple[str, str]], *, is_verdict: bool) -> Site:
        frame, statement, scope = record(live), statement_of(live), scope_of(live.code, live.line)
        if statement is None or scope is None:
            return Site(frame=frame)
        # What a lambda or a comprehension was given comes from a caller that is not known.
        is_expression = live.code.co_name.startswith("<") and live.code.co_name != "<module>"
        lookup = FrameLookup(live.frame, self._project, self._fixtures, helpers)
        # Where the statement shows nothing, the nearest call that was given a name of it.
        calls = earlier_calls(scope, statement) if frame.is_test else ()
        places: list[Sequence[ast.expr]] = [checked_expressions(statement), *([call] for call in calls)]
        steps = 0 if is_expression else 1
        found: list[Frame] = []
        for nodes in places:
            found = found or origins_in(nodes, scope, statement.lineno, lookup.origin, steps)
        origins = tuple(origin for origin in found if not origin.is_test) or tuple(found)
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


def _is_judging(live: LiveFrame, *, is_verdict: bool) -> bool:
    """Whether the function is a helper whose call is the failing statement: one of the tests, or of its message."""
    function, statement = scope_of(live.code, live.line), statement_of(live)
    if not isinstance(function, Function) or statement is None or function.name.startswith("test"):
        return False
    if is_test_file(live.file or ""):
        return is_verdict or isinstance(statement, ast.Raise)
    return raises_parameter(statement, function)


@lru_cache(maxsize=512)
def _text(statement: ast.stmt) -> str:
    """The statement on one line; for a compound one the header."""
    return ast.unparse(statement).split("\n", 1)[0][:_MAX_STATEMENT]
