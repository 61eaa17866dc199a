"""The statement that a failure is about, with the values of its names and the origins of what it uses."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Collection
from functools import lru_cache

from loop_close import lazy
from loop_close.capture import LiveFrame, ProjectCode, is_hidden, record, scope_of, statement_of
from loop_close.capture.differences import labels_at
from loop_close.capture.origins import FrameLookup
from loop_close.capture.values import Texts, named_values
from loop_close.conventions import is_test_file
from loop_close.model import Site
from loop_close.syntax import Function, expression_at
from loop_close.syntax.uses import (
    VALUE,
    Tracer,
    checked_expressions,
    depends_on_parameters,
    earlier_calls,
    raise_template,
)

#: Usual names of functions that check their arguments.
_CHECKER = lazy.pattern(
    r"(?:^|_)(?:check|assert|expect|verify|ensure|require|should|must)(?:_|$|[A-Z])", re.I
)
_MAX_STATEMENT = 300


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
        return Site(
            frame=frame, statement=_text(statement), values=values, origins=origins, inner=tracer.inner()
        )


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
