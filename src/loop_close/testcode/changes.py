"""What was done to a test, and by what beside it: hooks, patches, and product code that looks made for the tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from loop_close.conventions import is_of_tests
from loop_close.testcode.nodes import constant, dotted, short
from loop_close.testcode.suite import FUNCTIONS, Function, Module, TestSuite

Kind = Literal["deleted", "not-run", "weakened", "replaced", "unclear", "not-compared", "hint"]

#: What is said of a test whose new name an entry of the setting ``known`` matches.
BY_KNOWN = "is named by `known`: its failure does not count"
_MAX_LINES = 12
_MAX_WIDTH = 200


@dataclass(frozen=True)
class TestChange:
    """What was done to a test since the baseline.

    :ivar file: relative, with "/"; the old name if the file is gone.
    :ivar test: qualified name, ``TestCart.test_total``; empty for a file or a configuration, the name of a hook or
        fixture for a conftest.
    :ivar kind: ``deleted``, ``not-run`` (skipped, deselected, no longer collected), ``weakened`` (it demands less),
        ``replaced`` (what it tests is patched away), ``unclear`` (a person has to look), ``not-compared`` (it is
        too large, or too much changed at once), ``hint`` (product code).
    :ivar what: one plain clause with the facts.
    :ivar before: the changed lines as they were; ``after``: as they are now.
    :ivar line: in the file as it is now, 0 if there is none.
    """

    __test__ = False  # pytest would take the name for a test class

    file: str
    test: str
    kind: Kind
    what: str
    before: str = ""
    after: str = ""
    line: int = 0

    @property
    def id(self) -> str:
        """The node id of pytest, or the path of the file."""
        return "::".join([self.file, *self.test.split(".")]) if self.test else self.file

    @property
    def blocks(self) -> bool:
        """Whether a green run is not enough until the change is undone or accepted."""
        return self.kind != "hint"


def fingerprint(change: TestChange) -> str:
    """Identify exactly this change: another edit of the same test has another fingerprint."""
    parts = (change.id, change.kind, change.what, change.before, change.after)
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def is_named_by_known(what: str) -> bool:
    """Whether a change is, or may be, such a test; the facts may have been cut to be shown."""
    return what.startswith("now `") and what.endswith((BY_KNOWN, "…"))


def excerpt(text: str) -> str:
    """The first lines of a text, each cut to a readable width."""
    lines = [line[:_MAX_WIDTH] for line in text.strip("\n").split("\n")]
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], f"… {len(lines) - _MAX_LINES + 1} more lines"]
    return "\n".join(lines)


# --- product code that looks made for the tests: a hint, never a verdict

_DETECTS = re.compile(
    r"PYTEST_CURRENT_TEST|PYTEST_VERSION|PYTEST_XDIST|['\"](?:_pytest|pytest|unittest)['\"]\s+(?:not\s+)?in\s+sys\.modules"
    r"|sys\.modules\.get\(['\"](?:_?pytest|unittest)['\"]|(?:pytest|unittest)[^\n]{0,40}sys\.argv|sys\.argv[^\n]{0,40}(?:py)?test"
    r"|sys\.modules\[['\"](?:_?pytest|unittest)['\"]"
)

_FRAMES = re.compile(r"_getframe|currentframe|inspect\.stack|f_code|co_name")
_TEST_NAME = re.compile(r"['\"]test_?\w*['\"]")


def hints(
    before: Mapping[str, str], after: Mapping[str, str], tests: Mapping[str, str]
) -> Iterator[TestChange]:
    """What was added to edited product files.

    :param before: path and text of product files, as they were; ``after``: as they are.
    :param tests: the tests, whose inputs and expectations are looked for.
    """
    wanted: set[tuple[str, str]] | None = None
    for path, text in sorted(after.items()):
        was = before.get(path, "")
        if not path.endswith(".py") or text == was:
            continue
        old, new = Module(path, was), Module(path, text)
        if new.tree is None:
            continue
        known = set(was.splitlines())
        for number, line in enumerate(text.splitlines(), 1):
            if line in known:
                continue
            what = "detects the test run" if _DETECTS.search(line) else _asks_for_test(line, tests)
            if what:
                yield TestChange(path, "", "hint", f"{what}: `{line.strip()[:120]}`", "", line, number)
        earlier = {ast.dump(node) for node in ast.walk(old.tree or ast.Module([], []))}
        for node in ast.walk(new.tree):
            if not isinstance(node, (*FUNCTIONS, ast.If, ast.Dict, ast.Return, ast.Assign)):
                continue
            if ast.dump(node) in earlier:
                continue
            if isinstance(node, (ast.Return, ast.Assign)):
                what = _equals_all(node)
                if what:
                    yield TestChange(path, "", "hint", what, "", excerpt(new.source(node)), node.lineno)
                continue
            if isinstance(node, FUNCTIONS) and node.name in ("__eq__", "__ne__", "__bool__", "__contains__"):
                returned = [constant(n.value) for n in ast.walk(node) if isinstance(n, ast.Return)]
                is_same = bool(returned) and all(value is (node.name != "__ne__") for value in returned)
                if is_same and node.name != "__bool__":
                    what = f"`{node.name}` always returns {returned[0]}"
                    yield TestChange(path, "", "hint", what, "", excerpt(new.source(node)), node.lineno)
                continue
            if isinstance(node, FUNCTIONS):
                continue
            if wanted is None:
                wanted = set(_answers(tests))
            for asked, answer in _literal_answers(node):
                if (repr(asked), repr(answer)) in wanted:
                    what = f"returns {answer!r} for exactly {asked!r}, as a test has it"
                    yield TestChange(path, "", "hint", what, "", excerpt(new.source(node)), node.lineno)


def _asks_for_test(line: str, tests: Mapping[str, str]) -> str:
    """Whether a line asks which test calls it, or names a file of tests."""
    if _FRAMES.search(line) and _TEST_NAME.search(line):
        return "asks which test calls it"
    named = re.findall(r"[\w./-]+\.py\b", line)
    ends = tuple(f"/{name}" for name in named)
    return "names a file of tests" if any(path.endswith(ends) for path in tests) else ""


def _equals_all(node: ast.Return | ast.Assign) -> str:
    """Whether what is returned, or an ``__eq__`` that is assigned, is equal to everything."""
    match node:
        case ast.Return(value=ast.Name(id="ANY") | ast.Attribute(attr="ANY")):
            return "returns `ANY`, which is equal to everything"
        case ast.Assign(targets=[ast.Name(id="__eq__")], value=ast.Lambda(body=body)) if (
            constant(body) is True
        ):
            return "`__eq__` always returns True"
    return ""


def _literal_answers(node: ast.AST) -> Iterator[tuple[object, object]]:
    """Input and result of ``if x == INPUT: return RESULT``, and of a table of them."""
    match node:
        case ast.If(
            test=ast.Compare(ops=[ast.Eq()], comparators=[right], left=left),
            body=[*_, ast.Return(value=value)],
        ):
            for side in (left, right):
                if constant(side) is not ... and constant(value) is not ...:
                    yield constant(side), constant(value)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if constant(key) is not ... and constant(value) is not ...:
                    yield constant(key), constant(value)


def _answers(tests: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Arguments and expectations of the tests: of each comparison of a call with a literal, and of parameters."""
    for path, text in sorted(tests.items()):
        tree = Module(path, text).tree if path.endswith(".py") else None
        for node in ast.walk(tree) if tree is not None else ():
            match node:
                case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                    yield from _pairs(left, right)
                case ast.Call(args=[left, right, *_]) if dotted(node.func).endswith("assertEqual"):
                    yield from _pairs(left, right)
                case ast.Tuple(elts=[*inputs, expected]) if constant(expected) is not ...:
                    for given in inputs:
                        if constant(given) is not ...:
                            yield repr(constant(given)), repr(constant(expected))


def _pairs(left: ast.expr, right: ast.expr) -> Iterator[tuple[str, str]]:
    for call, expected in ((left, right), (right, left)):
        if isinstance(call, ast.Call) and constant(expected) is not ...:
            values = [constant(arg) for arg in call.args]
            for value in values if ... not in values else []:
                yield repr(value), repr(constant(expected))
            if len(values) > 1 and ... not in values:
                yield repr(tuple(values)), repr(constant(expected))


# --- hooks: what decides which tests run, and what comes of them

_OUTCOMES = {"outcome", "wasxfail", "excinfo", "exitstatus", "testsfailed", "ret"}
_FORCED = {"force_result", "force_exception", "from_call", "TestReport"}
_HOOKS: dict[str, tuple[Kind, str]] = {
    "pytest_collection_modifyitems": ("not-run", "removes or skips tests"),
    "pytest_itemcollected": ("not-run", "removes or skips tests"),
    "pytest_collection_finish": ("not-run", "removes or skips tests"),
    "pytest_deselected": ("not-run", "removes or skips tests"),
    "pytest_ignore_collect": ("not-run", "leaves files out"),
    "pytest_collect_file": ("not-run", "collects files in its own way"),
    "pytest_collect_directory": ("not-run", "collects folders in its own way"),
    "pytest_pycollect_makeitem": ("not-run", "collects tests in its own way"),
    "pytest_pycollect_makemodule": ("not-run", "collects modules in its own way"),
    "pytest_collection": ("not-run", "collects in its own way"),
    "pytest_runtestloop": ("not-run", "runs the tests in its own way"),
    "pytest_runtest_protocol": ("not-run", "runs tests in its own way"),
    "pytest_pyfunc_call": ("weakened", "calls test functions in its own way"),
    "pytest_runtest_call": ("weakened", "swallows the failures of tests"),
    "pytest_runtest_setup": ("not-run", "skips tests"),
    "pytest_runtest_makereport": ("weakened", "changes the outcome of tests"),
    "pytest_runtest_logreport": ("weakened", "changes the outcome of tests"),
    "pytest_report_teststatus": ("weakened", "changes the outcome that is shown"),
    "pytest_exception_interact": ("weakened", "changes the outcome of failures"),
    "pytest_assertrepr_compare": ("weakened", "changes the outcome of comparisons"),
    "pytest_assertion_pass": ("weakened", "changes the outcome of assertions"),
    "pytest_sessionfinish": ("weakened", "changes the exit status"),
    "pytest_terminal_summary": ("weakened", "changes the exit status"),
    "pytest_unconfigure": ("weakened", "changes the exit status"),
    "pytest_sessionstart": ("weakened", "changes options or outcomes"),
    "pytest_configure": ("weakened", "changes the options of the run"),
    "pytest_cmdline_main": ("not-run", "ends the run itself"),
    "pytest_cmdline_parse": ("weakened", "changes the options of the run"),
    "pytest_cmdline_preparse": ("weakened", "changes the options of the run"),
    "pytest_load_initial_conftests": ("weakened", "changes the options of the run"),
    "pytest_generate_tests": ("not-run", "takes parameters away"),
    "pytest_fixture_setup": ("replaced", "makes fixtures in its own way"),
    "pytest_runtest_teardown": ("weakened", "changes the outcome of tests"),
}
#: Where a result other than None takes the place of what pytest would do.
_FIRST_RESULT = {
    *("pytest_ignore_collect", "pytest_pyfunc_call", "pytest_runtest_protocol", "pytest_runtest_makereport"),
    *("pytest_collection", "pytest_runtestloop", "pytest_cmdline_main", "pytest_pycollect_makeitem"),
    *("pytest_report_teststatus", "pytest_fixture_setup", "pytest_pycollect_makemodule"),
}


def hook_changes(was: TestSuite, now: TestSuite) -> Iterator[TestChange]:
    """The hooks that are new or changed and have an effect on which tests run or on their outcome."""
    for path, module in sorted(now.modules.items()):
        old = was.modules.get(path)
        if "pytest_" not in module.text or (old is not None and old.text == module.text):
            continue
        held = {key: (hook, node) for key, hook, node in _hooks(old)} if old is not None else {}
        for key, name, node in _hooks(module):
            before = held[key][1] if key in held else None
            effects = _all_effects(name, node, module)
            if effects and not (old and before and effects <= _all_effects(name, before, old)):
                kind, what = _HOOKS[name]
                text = old.source(before) if old is not None and before is not None else ""
                what = f"{'a new' if before is None else 'the'} hook `{key}` {what}: {min(effects)}"
                after = excerpt(module.source(node))
                yield TestChange(path, key, kind, what, excerpt(text), after, node.lineno)


def _hooks(module: Module) -> Iterator[tuple[str, str, Function]]:
    """The hooks of a module, those of its classes, and what is bound to the name of one: by name, hook and function."""
    bound = module.scope.bound
    classes = [(owner, node) for owner, node in bound.items() if isinstance(node, ast.ClassDef)]
    members = [
        (f"{o}.{each.name}", each) for o, n in classes for each in n.body if isinstance(each, FUNCTIONS)
    ]
    for key, node in (*bound.items(), *members):
        made = bound.get(node.id) if isinstance(node, ast.Name) else node
        if isinstance(made, ast.Lambda):
            made = ast.FunctionDef(key, made.args, [ast.Return(made.body)], [], lineno=made.lineno)
            made.end_lineno = made.lineno
        if isinstance(made, FUNCTIONS):
            name = _specname(made) or key.rpartition(".")[2]
            if name in _HOOKS:
                yield key, name, made


def _specname(node: Function) -> str:
    calls = (each for each in node.decorator_list if isinstance(each, ast.Call))
    named = (word.value for call in calls for word in call.keywords if word.arg == "specname")
    return next((str(constant(value)) for value in named), "")


def _all_effects(name: str, node: Function, module: Module) -> set[str]:
    """The effects of a hook, and of the functions of its module that it calls."""
    found = _effects(name, node)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
            called = module.scope.bound.get(inner.func.id)
            if isinstance(called, FUNCTIONS) and called is not node:
                found |= _effects("", called)
    return found


def _effects(name: str, node: Function) -> set[str]:
    """The statements of a hook by which it changes what runs or what comes of it."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Try, ast.TryStar)):
            found |= set(_swallowed(inner))
        elif _is_effect(name, node, inner):
            found.add(f"`{short(inner)}`")
    return found


def _is_effect(name: str, hook: Function, node: ast.AST) -> bool:
    """Whether a statement or call of a hook changes what runs or what comes of it."""
    match node:
        case ast.Assign(targets=[target, *_], value=value) | ast.AugAssign(target=target, value=value):
            items = {arg.arg for arg in hook.args.args} & {"items", "item", "session"}
            return _is_outcome(target) or _is_removal(target, value, items) or _is_option(target)
        case ast.Delete(targets=targets):
            owners = {dotted(target.value) for target in targets if isinstance(target, ast.Subscript)}
            return bool({"items", "session.items"} & owners)
        case ast.Call():
            return _is_effective_call(node)
        case ast.Attribute(value=owner, attr="skip" | "skipif" | "xfail"):
            return dotted(owner).endswith("mark")
        case ast.Return(value=ast.expr() as value) if name in _FIRST_RESULT:
            is_wrapper = any("wrapper" in ast.unparse(d) for d in hook.decorator_list)
            first = hook.args.args[0].arg if hook.args.args else ""
            is_given_back = isinstance(value, ast.Name) and value.id == first
            is_default = is_given_back or constant(value) is None or constant(value) is False
            return not (is_wrapper or is_default)
        case ast.With(items=contexts):
            return any("suppress" in ast.unparse(context) for context in contexts)
        case ast.Raise(exc=exc):
            return re.search("skip|exit", dotted(exc), re.IGNORECASE) is not None
    return False


def _swallowed(node: ast.Try | ast.TryStar) -> Iterator[str]:
    """The exceptions that do not go on from around a ``yield``, in words."""
    if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for s in node.body for n in ast.walk(s)):
        for handler in node.handlers:
            if not any(isinstance(n, ast.Raise) for n in ast.walk(handler)):
                kind = f" {ast.unparse(handler.type)}" if handler.type else ""
                yield f"`except{kind}` around `yield`"


def _is_outcome(target: ast.expr) -> bool:
    return (isinstance(target, ast.Attribute) and target.attr in _OUTCOMES) or (
        isinstance(target, ast.Subscript) and constant(target.slice) in _OUTCOMES
    )


def _is_option(target: ast.expr) -> bool:
    path = dotted(target)
    if ".option." in path or ".known_args_namespace." in path:
        return True
    is_item = isinstance(target, ast.Subscript) and dotted(target.value) in (
        "args",
        "config.args",
        "sys.modules",
    )
    return is_item or path.endswith((".args", ".known_args_namespace"))


def _is_removal(target: ast.expr, value: ast.expr, items: set[str]) -> bool:
    """Whether fewer items are left. To sort them or change their order is not a removal."""
    is_items = isinstance(target, ast.Subscript) and dotted(target.value) in ("items", "session.items")
    is_items |= dotted(target) in ("session.items",)
    if isinstance(target, ast.Attribute) and target.attr in ("obj", "runtest") and items:
        return True
    return (
        is_items and dotted(value) not in ("sorted", "reversed", "list") and not isinstance(value, ast.BinOp)
    )


def _is_effective_call(call: ast.Call) -> bool:
    owner, _, last = dotted(call.func).rpartition(".")
    words = {str(n.value) for n in ast.walk(call) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    if last in _FORCED or f"{owner}.{last}" in ("os._exit", "sys.exit", "pytest.exit"):
        return True
    if last in ("skip", "xfail", "skipif", "pytest_deselected", "set_blocked", "unregister"):
        return True
    if last in ("remove", "clear", "pop") and owner in ("items", "session.items"):
        return True
    if last == "setattr":
        return bool(words & (_OUTCOMES | {"passed"}))
    return last in ("_replace", "replace") and "passed" in words


# --- patches: what takes the place of the code under test

_INNER = {"__code__", "__dict__", "__globals__", "__class__", "__bases__"}
_IMPORTS = re.compile(
    r"(?:sys\.(?:modules|path|meta_path|path_hooks|path_importer_cache)|.*\.__dict__|.*\.__globals__)"
    r"\.(?:update|setdefault|pop|insert|append|extend|clear|remove)|site\.addsitedir"
    r"|.*pluginmanager\.(?:register|import_plugin|load_setuptools_entrypoints)"
)
_PLACES = re.compile(
    r"sys\.(?:modules|path|meta_path|path_hooks)|request\.(?:module|function|cls|instance|node)\b.*"
)


def patch_changes(was: TestSuite, now: TestSuite) -> Iterator[TestChange]:
    """Statements that are new, and may put something else in the place of what is tested.

    Of a test module and a helper those that are executed when it is imported; of a conftest or a plugin all.
    """
    for path, module in sorted(now.modules.items()):
        old = was.modules.get(path)
        if (old is not None and old.text == module.text) or module.tree is None:
            continue
        is_shared = path.endswith("conftest.py") or not is_of_tests(path)
        before = _executed(old.tree, is_shared=is_shared) if old and old.tree else ()
        held = {ast.dump(each) for each in before}
        imported = {
            alias.asname or alias.name.partition(".")[0]
            for node in ast.walk(module.tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        for node in _executed(module.tree, is_shared=is_shared):
            what = _patch(node, imported)
            if what and ast.dump(node) not in held:
                shown = f"{what}: `{short(node)}`"
                yield TestChange(path, "", "unclear", shown, "", excerpt(module.source(node)), node.lineno)


def _executed(tree: ast.Module, *, is_shared: bool) -> Iterator[ast.stmt | ast.expr]:
    """The statements and calls of a module; those in its functions only if all tests share it."""
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, (ast.stmt, ast.Call)):
            yield node
        if is_shared or not isinstance(node, (*FUNCTIONS, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def _patch(node: ast.AST, imported: Collection[str]) -> str:
    """What a statement does to code in other files; empty if nothing is known."""
    match node:
        case ast.Assign(targets=targets):
            pass
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            targets = [target]
        case ast.Call(func=func, args=args):
            name = dotted(func)
            if name in ("exec", "eval"):
                return "runs a text as code"
            if name in ("setattr", "delattr") and args and _is_elsewhere(args[0], imported):
                return "replaces what is imported"
            is_vars = isinstance(func, ast.Attribute) and _is_vars(func.value) and func.attr == "update"
            return "changes what is imported" if is_vars or _IMPORTS.fullmatch(name) else ""
        case ast.FunctionDef(name="load_tests"):
            return "collects in its own way"
        case _:
            return ""
    is_patch = any(
        (isinstance(target, ast.Attribute) and (_is_elsewhere(target, imported) or target.attr in _INNER))
        or (
            isinstance(target, ast.Subscript)
            and (_is_vars(target.value) or _PLACES.fullmatch(dotted(target.value)))
        )
        for target in targets
    )
    return "replaces what is imported" if is_patch else ""


def _is_elsewhere(target: ast.expr, imported: Collection[str]) -> bool:
    path = dotted(target)
    return path.partition(".")[0] in imported or _PLACES.fullmatch(path) is not None


def _is_vars(node: ast.expr) -> bool:
    """``vars(x)``, ``x.__dict__``, ``f.__globals__``."""
    is_call = isinstance(node, ast.Call) and dotted(node.func) == "vars" and bool(node.args)
    return is_call or (isinstance(node, ast.Attribute) and node.attr in ("__dict__", "__globals__"))
