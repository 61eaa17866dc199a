"""What a test is given: its marks, parameters and fixtures, and what Hypothesis draws."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from loop_close.testcode.demands import Demand
from loop_close.testcode.nodes import constant, dotted, last_name, short, text_of
from loop_close.testcode.suite import Function, Module
from loop_close.testcode.values import MAX_DEPTH, Env, Values


class TestInputs(Values):
    """Values, with those that a test gets from outside."""

    def mark(self, node: ast.expr, depth: int = 0) -> None:
        """Note what a mark skips or replaces."""
        if isinstance(node, (ast.List, ast.Tuple)):
            for element in node.elts:
                self.mark(element, depth)
            return
        name = dotted(node)
        last = name.rpartition(".")[2]
        if last in ("skip", "skipIf", "skipUnless", "skipif", "xfail", "expectedFailure"):
            condition = node.args[0] if isinstance(node, ast.Call) and node.args else None
            if last not in ("skipif", "skipIf", "skipUnless", "xfail"):
                condition = None
            value = constant(condition) if condition is not None else True
            if value is ... or bool(value) is not (last == "skipUnless"):
                key = f"{last} {text_of(condition) if condition is not None else ''}"
                self.reading.stops[key] = f"has `@{short(node)}`"
        elif last in ("patch", "object", "dict", "multiple") and isinstance(node, ast.Call):
            self.patch(node)
        elif depth < 3 and "." not in name and isinstance(node, ast.Name):
            _, value_node = self.suite.resolve(self.module, name)
            if isinstance(value_node, ast.expr):
                self.mark(value_node, depth + 1)

    def rows(self, mark: ast.expr, node: Function) -> list[Env] | None:
        """The rows of a ``parametrize``; a symbol where they are not written out."""
        name = last_name(mark)
        if not isinstance(mark, ast.Call) or name not in ("parametrize", "expand", "parameterized"):
            return None
        args = {k.arg: k.value for k in mark.keywords}
        args |= zip(("argnames", "argvalues"), mark.args, strict=False)
        if name != "parametrize":
            own = [arg.arg for arg in node.args.args]
            names, values = own[1:] if self.test.owners else own, mark.args[0] if mark.args else None
        else:
            names, values = _names(args.get("argnames")), args.get("argvalues")
        listed = self.listed(self.value(values)) if values is not None else None
        if listed is None:
            rows = f"each({text_of(self.value(values)) if values is not None else ''})"
            is_one = len(names) == 1
            return [{n: ast.Name(rows if is_one else f"{rows}[{i}]") for i, n in enumerate(names)}]
        if not listed:
            self.reading.stops["parametrize"] = "has no parameters left"
        if self.is_brief:  # the rows themselves are demanded, and one of them is followed
            self.reading.demands += [
                Demand("call", f"row {text_of(item)}", text=f"row {short(item)}") for item in listed
            ]
            listed = listed[:1]
        found = []
        for item in listed:
            if isinstance(item, ast.Call) and last_name(item) == "param":
                marks = next((k.value for k in item.keywords if k.arg == "marks"), None)
                if marks is not None and any(w in text_of(marks) for w in ("skip", "xfail")):
                    continue
                cells = list(item.args)
            elif (len(names) > 1 or name != "parametrize") and isinstance(item, (ast.Tuple, ast.List)):
                cells = item.elts
            else:
                cells = [item]
            if len(cells) != len(names):
                cells = [ast.Subscript(item, ast.Constant(i)) for i in range(len(names))]
            found.append(dict(zip(names, cells, strict=True)))
        return found

    def used(self, marks: Sequence[ast.expr]) -> Iterator[str]:
        """The fixtures of ``usefixtures``."""
        for mark in marks:
            if isinstance(mark, ast.Call) and dotted(mark).endswith("usefixtures"):
                yield from (str(arg.value) for arg in mark.args if isinstance(arg, ast.Constant))

    def drawn(self, node: Function) -> None:
        """Note what Hypothesis draws the arguments from, and how often."""
        given = next((d for d in node.decorator_list if last_name(d) == "given"), None)
        if not isinstance(given, ast.Call):
            return
        names = [arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)]
        named = {k.arg: k.value for k in given.keywords if k.arg}
        if given.args:
            named |= dict(zip(names[-len(given.args) :], given.args, strict=False))
        for index, (name, strategy) in enumerate(sorted(named.items(), key=lambda item: text_of(item[1]))):
            self.env[name] = ast.Name(f"drawn_{index}")
            demand = Demand("drawn", text_of(self.value(strategy)), text=short(given), line=given.lineno)
            self.reading.demands.append(demand)
        examples: ast.expr = ast.Constant(100)
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and last_name(decorator) == "settings":
                examples = next((k.value for k in decorator.keywords if k.arg == "max_examples"), examples)
        count = constant(self.value(examples))
        self.reading.demands.append(Demand(">=", "max_examples", text_of(examples), count, line=given.lineno))

    def ask(self, name: str) -> None:
        """Give a parameter the value of its fixture."""
        home, fixture = self.suite.fixture(self.test, name)
        self.env[name] = ast.Name(name)
        if home is not None and fixture is not None and self.depth < MAX_DEPTH:
            value = self.fixture(home, fixture)
            if value is not None:
                self.env[name] = value

    def fixture(self, home: Module, node: Function) -> ast.expr | None:
        """Follow a fixture up to its end; the value it gives."""
        given: list[ast.expr | None] = []
        outer, self.at_yield = self.at_yield, given.append
        kept = dict(self.env)
        self.depth += 1
        own = [arg.arg for arg in node.args.args]
        for name in own:
            if name not in kept and name != node.name:
                self.ask(name)
        arguments = {name: self.env.get(name, ast.Name(name)) for name in own}
        value = self.enter(node, arguments, home)
        self.depth -= 1
        self.at_yield = outer
        members = {key: item for key, item in self.env.items() if key.startswith("self.")}
        self.env = kept | members
        return next((item for item in given if item is not None), value)


def _names(node: ast.expr | None) -> list[str]:
    value = constant(node)
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    return [str(name) for name in value] if isinstance(value, (list, tuple)) else []
