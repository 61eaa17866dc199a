"""Small faults for a source file: every change that each kind of mistake could make to it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from random import Random

from benchmarks.localize import mutate_calls, mutate_statements, mutate_values
from benchmarks.localize.faults import Mutation
from benchmarks.localize.mutation import Change, Context, own
from benchmarks.localize.spans import MODULE, Function, Text, functions

#: What is done to a node inside a function.
_INSIDE: Mapping[str, Callable[[Context, ast.AST], Iterator[Change]]] = {
    "flipped-comparison": mutate_values.comparisons,
    "off-by-one": mutate_values.numbers,
    "wrong-boolean": mutate_values.booleans,
    "wrong-operator": mutate_values.operators,
    "wrong-name": mutate_values.names,
    "wrong-attribute": mutate_calls.attributes,
    "swapped-arguments": mutate_calls.swapped,
    "wrong-keyword": mutate_calls.keywords,
    "lost-return": mutate_statements.returns,
    "deleted-statement": mutate_statements.deletions,
}
#: Those that any traceback shows: a few of them are enough.
EASY = ("not-implemented", "broken-import")
KINDS = (*_INSIDE, *EASY)


def mutations(source: str, *, project: str, file: str, random: Random) -> list[Mutation]:
    """Every fault of every kind; the random numbers choose among the names that a wrong one can be.

    Each stays within one line, so that no other line changes its number or its text. One may be no valid syntax.
    """
    text, tree = Text(source), ast.parse(source)
    found = []
    for kind, function, change in _changes(text, tree, random):
        line, column = text.place(change.start)
        before = source[change.start : change.end]
        fault = Mutation(
            project=project,
            kind=kind,
            file=file,
            line=line,
            column=column,
            function=function,
            before=before,
            after=change.after,
        )
        if "\n" not in before + change.after and before != change.after:
            found.append(fault)
    return found


def _changes(text: Text, tree: ast.Module, random: Random) -> Iterator[tuple[str, str, Change]]:
    attributes, keywords = _attributes(tree), _keywords(tree)
    for function in functions(tree):
        context = Context(
            text=text,
            function=function,
            random=random,
            attributes=attributes,
            keywords=keywords,
            locals=_bound(function),
        )
        for node in own(function):
            for kind, maker in _INSIDE.items():
                yield from ((kind, function.name, change) for change in maker(context, node))
        for change in mutate_statements.unfinished(context):
            yield "not-implemented", function.name, change
    for change in mutate_statements.imports(text, tree):
        yield "broken-import", MODULE, change


def _attributes(tree: ast.AST) -> dict[str, list[str]]:
    found = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found[ast.unparse(node.value)].append(node.attr)
    return dict(found)


def _keywords(tree: ast.AST) -> list[str]:
    return sorted({node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg})


def _bound(function: Function) -> list[str]:
    """Parameters and names that are assigned, each once, ``self`` apart."""
    arguments = function.node.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for node in own(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return sorted(names - {"self", "cls"})
