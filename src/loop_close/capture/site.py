"""Find the statement a failure is about, and where the values it judged came from."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from loop_close.capture.frames import Live, is_hidden, record
from loop_close.capture.namespaces import Namespaces
from loop_close.capture.project import Project
from loop_close.capture.resolve import FrameLookup
from loop_close.capture.sources import function_of, index_of
from loop_close.capture.values import Texts, named_values
from loop_close.conventions import is_test_file
from loop_close.model import Origin, Site
from loop_close.syntax.index import Function, enclosing_function, expression_at, statement_at
from loop_close.syntax.templates import VALUE, raise_template
from loop_close.syntax.uses import Tracer, depends_on_parameters, earlier_calls, judged

#: Names by which people call functions that judge what they are given.
_CHECKER = re.compile(r"(?:^|_)(?:check|assert|expect|verify|ensure|require|should|must)(?:_|$|[A-Z])", re.I)
_MAX_STATEMENT = 300
_EXPRESSIONS = ("<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_NO_SOURCE = ast.Module(body=[], type_ignores=[])


@dataclass(frozen=True, slots=True)
class Place:
    """Where a frame stopped, in syntax: the function (or module) and the statement.

    :ivar opaque: names whose values come from a caller that is not seen.
    """

    live: Live
    scope: ast.AST
    statement: ast.stmt | None
    opaque: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Without:
    """A lookup that does not know the helpers that were walked out of: they are not what is judged."""

    helpers: set[tuple[str, str]]
    lookup: FrameLookup

    def origin(self, node: ast.expr) -> Origin | None:
        found = self.lookup.origin(node)
        return None if found and (found.file, found.function) in self.helpers else found

    def attribute(self, node: ast.Attribute) -> Origin | None:
        return self.lookup.attribute(node)


class SiteFinder:
    """Finds sites for the failures of one test.

    :param fixtures: names of the fixtures the test asked for.
    """

    def __init__(self, project: Project, fixtures: Collection[str] = ()) -> None:
        self._project = project
        self._fixtures = fixtures
        self._texts = Texts(project)

    def find(self, frames: list[Live], *, is_assertion: bool) -> Site | None:
        """The innermost project statement that a failure is about.

        An assertion helper (its verdict depends on what it was given) hands the question to its caller: fifteen
        calls of one ``check()`` are about fifteen things. So does a function that only raises what it was given.

        :param frames: project frames, outermost first.
        :param is_assertion: an ``AssertionError`` or ``pytest.fail``: a verdict, not an accident.
        """
        shown = [f for f in frames if not is_hidden(f.frame)] or frames
        shown = shown if is_assertion else _without_callbacks(shown)
        helpers: set[tuple[str, str]] = set()
        for index in range(len(shown) - 1, -1, -1):
            place = place_of(shown[index])
            verdict = is_assertion or bool(helpers)
            site = self._site(place, verdict, helpers)
            is_helper = site.frame.is_handing_on or (not site.origins and _judges_arguments(place, verdict))
            if index == 0 or not is_helper:
                return site
            helpers.add((site.frame.file, site.frame.function))
        return None

    def _site(self, place: Place, is_assertion: bool, helpers: set[tuple[str, str]]) -> Site:
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

    def _values(self, place: Place, statement: ast.stmt, names: Namespaces) -> tuple[tuple[str, str], ...]:
        is_test, in_expression = is_test_file(place.live.file or ""), place.live.code.co_name in _EXPRESSIONS
        try:
            return named_values(statement, names, self._texts, is_test=is_test, in_expression=in_expression)
        except Exception:  # what cannot be read must not cost the site
            return ()


def place_of(live: Live) -> Place:
    """The statement at which a frame stopped, and what it belongs to."""
    function = function_of(live.code)
    index = index_of(live.code.co_filename)
    if function is not None or index is None:
        scope: ast.AST = function or _NO_SOURCE
        return Place(live, scope, statement_at(scope, live.line))
    if live.code.co_name == "<module>":
        return Place(live, index.tree, statement_at(index.tree, live.line))
    scope = enclosing_function(index, live.line) or index.tree  # a lambda or a comprehension
    return Place(live, scope, statement_at(scope, live.line), opaque=frozenset(live.code.co_varnames))


def _without_callbacks(frames: list[Live]) -> list[Live]:
    """Up to the code under test, where that called back into the test: it chose the arguments."""
    inner = next((n for n, live in enumerate(reversed(frames)) if not is_test_file(live.file or "")), 0)
    return frames[: len(frames) - inner]


def _expressions(live: Live, statement: ast.stmt, is_assertion: bool) -> list[ast.expr]:
    """What to trace: for an accident the very operand, from the instruction's columns."""
    node = expression_at(statement, live.span) if live.span and not is_assertion else None
    if isinstance(node, ast.Attribute | ast.Subscript):
        return [node.value]
    if node is None or isinstance(getattr(node, "ctx", None), ast.Store):
        return judged(statement)  # unpacking fails at the names to the left, over the value to the right
    return [node]


def _judges_arguments(place: Place, is_assertion: bool) -> bool:
    """Whether the function passes judgement on its arguments, so that the call is what matters."""
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
    """The statement on one line; of a compound one its header."""
    return ast.unparse(statement).split("\n", 1)[0][:_MAX_STATEMENT]
