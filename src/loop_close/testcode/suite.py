"""The tests of a project, read from texts: what pytest would collect, and where a name of them is defined."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property

from loop_close.testcode.nodes import changed_in, constant, dotted, kept, last_name, parse

#: Packages whose decorators and context managers do not swallow failures, those aside that are looked for.
_KNOWN_PACKAGES = sys.stdlib_module_names | {
    *("pytest", "_pytest", "hypothesis", "mock", "pytest_mock", "parameterized", "ddt", "testfixtures"),
    *("attr", "freezegun", "time_machine", "responses", "requests_mock", "requests", "httpx", "respx"),
    *("vcr", "aiohttp", "numpy", "pandas", "anyio", "trio", "django", "flask", "fastapi", "starlette"),
    *("sqlalchemy", "moto", "pyfakefs", "tornado", "twisted", "click", "typer", "faker", "factory"),
    *("pydantic",),
}
Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module or class, those under conditions included unless they never hold."""
    for statement in body:
        yield statement
        match statement:
            case ast.If():
                value = constant(statement.test)
                if value is ... or value:
                    yield from flat(statement.body)
                if value is ... or not value:
                    yield from flat(statement.orelse)
            case ast.Try() | ast.TryStar():
                for part in (statement.body, *(h.body for h in statement.handlers), statement.orelse):
                    yield from flat(part)
                yield from flat(statement.finalbody)
            case ast.With():
                yield from flat(statement.body)


@dataclass
class Scope:
    """What the names of a module or class are bound to at its end: the last definition counts.

    :ivar dynamic: statements that may bind any name.
    :ivar attributes: what was set on a name afterwards: ``{"TestCart": {"test_total": <value>}}``.
    """

    body: Sequence[ast.stmt]
    bound: dict[str, ast.AST] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    attributes: dict[str, dict[str, ast.AST]] = field(default_factory=dict)
    dynamic: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for statement in flat(self.body):
            self._read(statement)

    def _read(self, statement: ast.stmt) -> None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.bound[statement.name] = statement
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.Delete(targets=targets):
                for target in targets:
                    if isinstance(target, ast.Name):
                        self.bound[target.id] = statement
                    else:
                        self._assign(target, ast.Constant(None))
            case ast.ImportFrom(module=module, names=names):
                for alias in names:
                    self.imports[alias.asname or alias.name] = (module or "", alias.name)
                    self.bound.pop(alias.asname or alias.name, None)
            case ast.Import(names=names):
                for alias in names:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.imports[alias.asname or whole] = (whole, "")
            case ast.Expr(value=ast.Call() as call):
                self._run(call, statement)

    def _run(self, call: ast.Call, statement: ast.stmt) -> None:
        """What a call binds."""
        match call:
            case ast.Call(
                func=ast.Name(id="setattr" | "delattr"), args=[owner, ast.Constant(value=name), *rest]
            ):
                value = rest[0] if rest else statement
                if isinstance(owner, ast.Subscript) and dotted(owner.value) == "sys.modules":
                    self.bound[str(name)] = value
                else:
                    self._set(dotted(owner), str(name), value)
            case ast.Call(func=ast.Name(id="exec"), args=[ast.Constant(value=str() as text), *_]):
                tree = parse(text)
                for inner in flat(tree.body) if isinstance(tree, ast.Module) else ():
                    self._read(inner)
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Name(id="globals" | "vars")), attr="update")
            ):
                for arg in call.args:
                    if isinstance(arg, ast.Dict) and all(isinstance(key, ast.Constant) for key in arg.keys):
                        for key, value in zip(arg.keys, arg.values, strict=True):
                            self.bound[str(constant(key))] = value
                    else:
                        self.dynamic.append(ast.unparse(call))
                for keyword in call.keywords:
                    self.bound[keyword.arg or "**"] = keyword.value
            case (
                ast.Call(func=ast.Name(id="exec" | "eval"))
                | ast.Call(func=ast.Name(id="setattr"), args=[ast.Subscript(), *_])
            ):
                self.dynamic.append(ast.unparse(call))

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self.bound[name] = value
            case ast.Attribute(value=owner, attr=name):
                self._set(dotted(owner), name, value)
            case ast.Subscript(
                value=ast.Call(func=ast.Name(id="globals" | "vars")), slice=ast.Constant(value=name)
            ):
                self.bound[str(name)] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
                for part, item in zip(
                    parts, values if len(values) == len(parts) else [value] * len(parts), strict=True
                ):
                    self._assign(part, item if values else ast.Constant(...))

    def _set(self, owner: str, name: str, value: ast.AST) -> None:
        if owner:
            self.attributes.setdefault(owner, {})[name] = value


class Module:
    """A Python file of the suite, parsed when it is first asked about."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    @cached_property
    def _parsed(self) -> ast.Module | str:
        return parse(self.text)

    @property
    def tree(self) -> ast.Module | None:
        """None if it is not Python, or cannot be compared."""
        return self._parsed if isinstance(self._parsed, ast.Module) else None

    @property
    def fault(self) -> str:
        """The reason why there is no syntax tree, in words."""
        return self._parsed if isinstance(self._parsed, str) else ""

    @cached_property
    def scope(self) -> Scope:
        """What its names are bound to."""
        return Scope(self.tree.body if self.tree else [])

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """What its names are imported from, those of imports in functions included."""
        nodes = ast.walk(self.tree) if self.tree else ()
        inner = Scope([node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))])
        return {n: o for n, o in inner.imports.items() if n not in self.scope.bound} | self.scope.imports

    def is_foreign(self, name: str) -> bool:
        """Whether a name is imported from the code under test, or from a package that is not known."""
        package = self.imports.get(name.partition(".")[0], ("", ""))[0].partition(".")[0]
        return bool(package) and package not in _KNOWN_PACKAGES

    @cached_property
    def changed(self) -> set[str]:
        """The names of its containers that something in it changes."""
        return set(changed_in(self.tree)) if self.tree else set()

    @cached_property
    def values(self) -> list[ast.expr]:
        """What its statements evaluate or assign when it is imported."""
        statements = flat(self.tree.body if self.tree else [])
        return [each.value for each in statements if isinstance(each, (ast.Expr, ast.Assign))]

    @cached_property
    def functions(self) -> list[Function]:
        """The functions that it defines at its top level."""
        return [node for node in self.scope.bound.values() if isinstance(node, FUNCTIONS)]

    @cached_property
    def fixtures(self) -> dict[str, Function]:
        """Its fixtures that have another name than their function."""
        named = ((fixture_name(d), node) for node in reversed(self.functions) for d in node.decorator_list)
        return {name: node for name, node in named if name}

    @cached_property
    def autouse(self) -> list[Function]:
        """Its fixtures that every test gets."""
        return [node for node in self.functions if is_autouse(node)]

    @cached_property
    def lines(self) -> list[str]:
        """The lines of its text."""
        return self.text.split("\n")

    def source(self, node: ast.AST) -> str:
        """The lines of a definition, its decorators included."""
        start = min([getattr(node, "lineno", 1), *(d.lineno for d in getattr(node, "decorator_list", ()))])
        return "\n".join(self.lines[start - 1 : getattr(node, "end_lineno", start)])


@dataclass(frozen=True)
class Test:
    """A function that pytest would collect.

    :ivar module: the module that collects it.
    :ivar home: the module that defines it, another one for a method of a base class.
    :ivar owners: the classes around it, from the outside in.
    """

    __test__ = False

    module: Module
    home: Module
    name: str
    node: Function
    owners: tuple[ast.ClassDef, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """File and qualified name."""
        return self.module.path, self.name


@dataclass(frozen=True)
class Patterns:
    """Which names pytest collects, as the configuration has it."""

    files: tuple[str, ...] = ("test_*.py", "*_test.py")
    classes: tuple[str, ...] = ("Test",)
    functions: tuple[str, ...] = ("test",)


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name begins with one of the prefixes, or is matched by one of the globs."""
    return any(fnmatch(name, p) if set(p) & set("*?[") else name.startswith(p) for p in patterns)


class TestSuite:
    """All texts of one side of the comparison."""

    def __init__(self, texts: Mapping[str, str], patterns: Patterns = Patterns()) -> None:
        self.texts = texts
        self.patterns = patterns
        self.modules = {path: Module(path, text) for path, text in texts.items() if path.endswith(".py")}
        self._tests: dict[str, dict[str, Test]] = {}
        self._members: dict[tuple[str, int], dict[str, tuple[Module, ast.AST]]] = {}
        self._by_stem: dict[str, list[Module]] = {}
        for path, module in sorted(self.modules.items()):
            stem = path.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]
            self._by_stem.setdefault(stem, []).append(module)

    def is_test_file(self, path: str) -> bool:
        """Whether tests are collected from the file."""
        name = path.rpartition("/")[2]
        return path.endswith(".py") and any(fnmatch(name, pattern) for pattern in self.patterns.files)

    def tests(self, path: str) -> dict[str, Test]:
        """What is collected from a file, by qualified name."""
        if path not in self._tests:
            module = self.modules.get(path)
            found: dict[str, Test] = {}
            if module is not None and self.is_test_file(path) and not _is_off(module.scope.bound):
                found = {test.name: test for test in self._in_module(module)}
            self._tests[path] = found
        return self._tests[path]

    def _in_module(self, module: Module) -> Iterator[Test]:
        scope = module.scope
        for name, node in scope.bound.items():
            if _is_off(scope.attributes.get(name, {})):
                continue
            if isinstance(node, FUNCTIONS) and matches(name, self.patterns.functions):
                if not any(dotted(d).endswith("fixture") for d in node.decorator_list):
                    yield Test(module, module, name, node)
            elif isinstance(node, ast.ClassDef):
                yield from self._in_class(module, node, (), scope.attributes.get(name, {}))
        for name, (origin, attribute) in scope.imports.items():  # tests that are imported are collected, too
            if (
                name not in scope.bound
                and attribute
                and matches(name, (*self.patterns.functions, *self.patterns.classes))
            ):
                home, found = self.exported(origin, attribute)
                if home and isinstance(found, FUNCTIONS):
                    yield Test(module, home, name, found)
                elif home and isinstance(found, ast.ClassDef):
                    yield from self._in_class(module, found, (), {}, home)

    def _in_class(
        self,
        module: Module,
        node: ast.ClassDef,
        owners: tuple[ast.ClassDef, ...],
        changed: Mapping[str, ast.AST],
        home: Module | None = None,
    ) -> Iterator[Test]:
        members = dict(self.members(home or module, node))
        is_unittest = self.is_unittest(home or module, node)
        if not is_unittest and not matches(node.name, self.patterns.classes):
            return
        if not is_unittest and {"__init__", "__new__"} & {*members, *changed}:
            return  # pytest does not collect it
        switch = changed.get("__test__", members.get("__test__", (module, None))[1])
        if switch is not None and not constant(switch):
            return
        prefix = "".join(f"{owner.name}." for owner in (*owners, node))
        for name, (place, member) in members.items():
            if name in changed and not isinstance(changed[name], FUNCTIONS):
                continue
            if isinstance(member, FUNCTIONS) and matches(
                name, ("test",) if is_unittest else self.patterns.functions
            ):
                yield Test(module, place, prefix + name, member, (*owners, node))
            elif isinstance(member, ast.ClassDef) and member in node.body:
                yield from self._in_class(module, member, (*owners, node), {}, home)

    def bases(self, module: Module, node: ast.ClassDef) -> Iterator[tuple[Module, ast.ClassDef]]:
        """The base classes that are written in the texts."""
        for base in node.bases:
            home, definition = self.resolve(module, dotted(base))
            if home and isinstance(definition, ast.ClassDef) and definition is not node:
                yield home, definition

    def members(
        self, module: Module, node: ast.ClassDef, depth: int = 0
    ) -> dict[str, tuple[Module, ast.AST]]:
        """What the class and its known bases define, by name."""
        key = module.path, id(node)
        if depth == 0 and key in self._members:
            return self._members[key]
        found: dict[str, tuple[Module, ast.AST]] = {}
        for home, base in reversed(list(self.bases(module, node)) if depth < 5 else []):
            found.update(self.members(home, base, depth + 1))
        found.update((name, (module, value)) for name, value in Scope(node.body).bound.items())
        if depth == 0:
            self._members[key] = found
        return found

    def is_unittest(self, module: Module, node: ast.ClassDef, depth: int = 0) -> bool:
        """Whether the class derives from a TestCase."""
        if any(dotted(base).endswith("TestCase") for base in node.bases):
            return True
        return depth < 5 and any(self.is_unittest(*base, depth + 1) for base in self.bases(module, node))

    def resolve(self, module: Module, name: str) -> tuple[Module | None, ast.AST | None]:
        """Where a name of a module is defined within the texts: the definition, or the value it is bound to."""
        first, _, rest = name.partition(".")
        if not rest and first in module.scope.bound:
            return module, module.scope.bound[first]
        if first in module.imports:
            origin, attribute = module.imports[first]
            if rest and "." not in rest:  # helpers.check
                return self.exported(f"{origin}.{attribute}" if attribute else origin, rest)
            if not rest and attribute:
                return self.exported(origin, attribute)
        return None, None

    def exported(self, origin: str, name: str, depth: int = 0) -> tuple[Module | None, ast.AST | None]:
        """The definition of a name in a module that is known by its last part."""
        for module in self._by_stem.get(origin.rpartition(".")[2], []) if depth < 4 else []:
            if name in module.scope.bound:
                return module, module.scope.bound[name]
            if name in module.scope.imports:
                further, attribute = module.scope.imports[name]
                return self.exported(further, attribute or name, depth + 1)
        return None, None

    def conftests(self, path: str) -> list[Module]:
        """The conftest files that hold for a file, the nearest first."""
        found = []
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            module = self.modules.get(f"{folder}/conftest.py" if folder else "conftest.py")
            if module is not None:
                found.append(module)
        return found

    def fixture(self, test: Test, name: str) -> tuple[Module | None, Function | None]:
        """The fixture that a parameter of a test asks for."""
        for owner in reversed(test.owners):
            place, member = self.members(test.home, owner).get(name, (None, None))
            if place and isinstance(member, FUNCTIONS) and is_fixture(member):
                return place, member
        for module in (test.home, test.module, *self.conftests(test.module.path)):
            home, node = self.resolve(module, name)
            if home and isinstance(node, FUNCTIONS) and is_fixture(node):
                return home, node
            if name in module.fixtures:
                return module, module.fixtures[name]
        return None, None

    def autouse(self, test: Test) -> Iterator[tuple[Module, Function]]:
        """The fixtures that the test gets automatically, without those of conftest files."""
        yield from ((test.home, node) for node in test.home.autouse)
        for owner in test.owners:
            for place, member in self.members(test.home, owner).values():
                if isinstance(member, FUNCTIONS) and is_autouse(member):
                    yield place, member


def is_fixture(node: Function) -> bool:
    """Whether it is decorated as a fixture."""
    return any(last_name(each) in ("fixture", "yield_fixture") for each in node.decorator_list)


def fixture_name(decorator: ast.expr) -> str:
    """The ``name=`` of a fixture's decorator."""
    if isinstance(decorator, ast.Call) and dotted(decorator).endswith("fixture"):
        for keyword in decorator.keywords:
            if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                return str(keyword.value.value)
    return ""


def is_autouse(node: Function) -> bool:
    """Whether every test around gets the fixture."""
    return is_fixture(node) and any(
        keyword.arg == "autouse" and constant(keyword.value) is not False
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
    )


def _is_off(names: Mapping[str, ast.AST]) -> bool:
    """Whether ``__test__`` among the names of a module, or the attributes of a class, is false."""
    switch = names.get("__test__")
    return switch is not None and not constant(switch)


def is_context_manager(node: Function) -> bool:
    """Whether it is decorated as one."""
    return any(last_name(each) in ("contextmanager", "asynccontextmanager") for each in node.decorator_list)


@kept
def is_generator(node: Function) -> bool:
    """Whether a call of the function does not run its body."""
    stack: list[ast.AST] = list(node.body)
    while stack:
        current = stack.pop()
        if isinstance(current, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(current, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            stack.extend(ast.iter_child_nodes(current))
    return False


def returns_true(node: Function) -> bool:
    """Whether it returns what is always true."""
    returns = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
    return any(constant(value) is not ... and bool(constant(value)) for value in returns)


def wrapper_of(function: Function, is_factory: bool) -> tuple[Function | None, str]:
    """The function that a decorator returns in place of another, and the parameter that holds the other."""
    if is_context_manager(function):
        return function, ""
    nested = [node for node in ast.walk(function) if isinstance(node, FUNCTIONS) and node is not function]
    if is_factory and nested:
        inner = [node for node in nested[1:] if node in list(ast.walk(nested[0]))]
        if inner:
            return inner[0], nested[0].args.args[0].arg if nested[0].args.args else ""
    if not function.args.args:
        return None, ""
    parameter = function.args.args[0].arg
    if not nested:
        returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
        if any(isinstance(r.value, ast.Name) and r.value.id == parameter for r in returns):
            return None, ""
        return function, parameter
    return nested[0], parameter


def is_always_equal(node: ast.ClassDef) -> bool:
    """Whether objects of the class are equal to anything."""
    bound = Scope(node.body).bound
    compares = bound.get("__eq__")
    if isinstance(compares, ast.Lambda):
        return bool(constant(compares.body) is True)
    return isinstance(compares, FUNCTIONS) and bool(compares.body) and _always_true(compares)


def _always_true(node: Function) -> bool:
    returns = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
    return bool(returns) and all(constant(value) is True for value in returns)
