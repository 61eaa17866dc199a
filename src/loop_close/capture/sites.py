"""The statement that a failure is about, with the values of its names and the origins of what it uses.

Origins are the functions of the project that expressions in the statement refer to.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Sequence
from types import FunctionType, TracebackType
from typing import Any

from loop_close.capture import (
    ProjectCode,
    function_of,
    is_hidden,
    record,
    scope_of,
    source_between,
    statement_of,
)
from loop_close.capture.differences import credentials_in
from loop_close.capture.objects import Names, namespace_of, unwrap
from loop_close.capture.values import Texts, named_values
from loop_close.conventions import is_test_file
from loop_close.model import Frame, Site
from loop_close.syntax import (
    Function,
    checked_expressions,
    is_placeholder_body,
    last_line,
    raises_parameter,
    value_before,
)

_MAX_STATEMENT = 300
_LINES = 40


def origin_of(found: Any, project: ProjectCode) -> Frame | None:
    """The definition of a function of the project, of a class that of its ``__init__``; None for anything else."""
    function = unwrap(found)
    if issubclass(type(function), type):
        function = namespace_of(function).get("__init__")
    if type(function) is not FunctionType:
        return None
    code = function.__code__
    file = project.relative(code.co_filename)
    if file is None:
        return None
    line, node = code.co_firstlineno, function_of(code)
    last = last_line(node) if node is not None else line + _LINES
    return Frame(
        file=file,
        line=line,
        function=code.co_qualname,
        is_test=is_test_file(file),
        is_empty=node is not None and is_placeholder_body(node),
        source=source_between(code.co_filename, line, min(last, line + _LINES - 1), line),
    )


def _origins_in(
    nodes: Sequence[ast.AST], scope: ast.AST, line: int, find: Callable[[ast.expr], Frame | None]
) -> list[Frame]:
    """What expressions call or read, and what made the values that were assigned to their names last; each once.

    Behind a function of the code under test its arguments do not count; behind a helper of the tests they do.

    :param scope: the function or module around it; only assignments above ``line`` count.
    :param find: the definition in the project that an expression names.
    """
    found: dict[Frame, None] = {}
    seen: set[int] = set()
    stack = [(node, True) for node in reversed(nodes)]
    while stack:
        node, is_followed = stack.pop()
        named = node.func if isinstance(node, ast.Call) else node
        origin = find(named) if isinstance(named, ast.Name | ast.Attribute | ast.Subscript) else None
        if origin is not None:
            found[origin] = None
        if origin is None or origin.is_test:
            inner = [(child, is_followed) for child in ast.iter_child_nodes(node)]
            value = value_before(scope, node.id, line) if is_followed and isinstance(node, ast.Name) else None
            if value is not None and id(value) not in seen:
                seen.add(id(value))
                inner.append((value, False))
            stack += reversed(inner)
    return list(found)


def find_site(
    frames: list[TracebackType], project: ProjectCode, texts: Texts, *, is_assertion: bool
) -> Site | None:
    """The innermost project statement that a failure is about.

    For a helper that judges it is the statement of the caller: fifteen calls of one ``check()`` are fifteen sites.
    The same holds for a function that only raises its argument.

    :param frames: project frames, outermost first.
    :param texts: the texts of values.
    :param is_assertion: an ``AssertionError`` or ``pytest.fail``, not an unexpected exception.
    """
    helpers: set[tuple[str, str]] = set()
    site = None
    for trace in reversed([each for each in frames if not is_hidden(each.tb_frame)] or frames):
        is_verdict = is_assertion or bool(helpers)
        site = _site(trace, project, texts, helpers, is_verdict=is_verdict)
        is_judging = not site.origins and _is_judging(trace, site.frame, is_verdict=is_verdict)
        if not (site.frame.is_handing_on or is_judging):
            break
        helpers.add((site.frame.file, site.frame.function))
    return site


def _site(
    trace: TracebackType,
    project: ProjectCode,
    texts: Texts,
    helpers: set[tuple[str, str]],
    *,
    is_verdict: bool,
) -> Site:
    frame, code = record(trace, project), trace.tb_frame.f_code
    statement, scope = statement_of(trace), scope_of(code, frame.line)
    if statement is None or scope is None:
        return Site(frame=frame)
    names = Names(trace.tb_frame)

    def origin(node: ast.expr) -> Frame | None:
        found = origin_of(names.value(node), project)
        return None if found is not None and (found.file, found.function) in helpers else found

    found = _origins_in(checked_expressions(statement), scope, statement.lineno, origin)
    origins = tuple(origin for origin in found if not origin.is_test) or tuple(found)
    values: tuple[tuple[str, str], ...] = ()
    labels = credentials_in(statement) if is_verdict else ()
    is_expression = code.co_name.startswith("<") and code.co_name != "<module>"
    with contextlib.suppress(Exception):  # what cannot be read must not cost the site
        values = named_values(
            statement, names, texts, labels, is_test=frame.is_test, is_expression=is_expression
        )
    text = ast.unparse(statement).split("\n", 1)[0][:_MAX_STATEMENT]  # of a compound one the header
    return Site(frame=frame, statement=text, values=values, origins=origins)


def _is_judging(trace: TracebackType, frame: Frame, *, is_verdict: bool) -> bool:
    """Whether the function is a helper whose call is the failing statement: one of the tests, or of its message."""
    function, statement = scope_of(trace.tb_frame.f_code, frame.line), statement_of(trace)
    if not isinstance(function, Function) or statement is None or function.name.startswith("test"):
        return False
    if frame.is_test:
        return is_verdict or isinstance(statement, ast.Raise)
    return raises_parameter(statement, function)
