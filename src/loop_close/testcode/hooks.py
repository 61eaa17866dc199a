"""Hooks and statements by which code of the suite decides what runs, what comes of it, and what is tested."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from loop_close.conventions import is_of_tests
from loop_close.testcode.hints import Kind, TestChange, excerpt
from loop_close.testcode.nodes import constant, dotted
from loop_close.testcode.suite import FUNCTIONS, Function, Module, TestSuite

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
    first = node.args.args[0].arg if node.args.args else ""
    items = {arg.arg for arg in node.args.args} & {"items", "item", "session"}
    is_wrapper = any("wrapper" in ast.unparse(d) for d in node.decorator_list)
    for inner in ast.walk(node):
        match inner:
            case ast.Assign(targets=[target, *_], value=value) | ast.AugAssign(target=target, value=value):
                if _is_outcome(target) or _is_removal(target, value, items) or _is_option(target):
                    found.add(f"`{_line(inner)}`")
            case ast.Delete(targets=targets):
                owners = [dotted(target.value) for target in targets if isinstance(target, ast.Subscript)]
                if {"items", "session.items"} & set(owners):
                    found.add(f"`{_line(inner)}`")
            case ast.Call() if _is_effective_call(inner):
                found.add(f"`{_line(inner)}`")
            case ast.Attribute(value=owner, attr="skip" | "skipif" | "xfail") if dotted(owner).endswith(
                "mark"
            ):
                found.add(f"`{_line(inner)}`")
            case ast.Return(value=ast.expr() as value) if name in _FIRST_RESULT and not is_wrapper:
                result = constant(value)
                is_default = (
                    result is None or result is False or (isinstance(value, ast.Name) and value.id == first)
                )
                if not is_default:
                    found.add(f"`{_line(inner)}`")
            case ast.Try() | ast.TryStar() if any(
                isinstance(n, (ast.Yield, ast.YieldFrom)) for s in inner.body for n in ast.walk(s)
            ):
                for handler in inner.handlers:
                    if not any(isinstance(n, ast.Raise) for n in ast.walk(handler)):
                        kind = f" {ast.unparse(handler.type)}" if handler.type else ""
                        found.add(f"`except{kind}` around `yield`")
            case ast.With(items=contexts) if any("suppress" in ast.unparse(i) for i in contexts):
                found.add(f"`{_line(inner)}`")
            case ast.Raise(exc=exc) if re.search("skip|exit", dotted(exc), re.IGNORECASE):
                found.add(f"`{_line(inner)}`")
    return found


def _line(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0][:120]


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
    """Whether fewer items are left: not where they are sorted or put in another order."""
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


# What takes the place of what is tested

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
                shown = f"{what}: `{_line(node)}`"
                yield TestChange(path, "", "unclear", shown, "", excerpt(module.source(node)), node.lineno)


def _executed(tree: ast.Module, *, is_shared: bool) -> Iterator[ast.stmt | ast.expr]:
    """The statements and calls of a module; those in its functions only where it is shared by all tests."""
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, (ast.stmt, ast.Call)):
            yield node
        if is_shared or not isinstance(node, (*FUNCTIONS, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def _patch(node: ast.AST, imported: Collection[str]) -> str:
    """What a statement does to code in other files; empty where nothing is known."""
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
