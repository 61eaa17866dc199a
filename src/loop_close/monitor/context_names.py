"""Which test a context of coverage.py stands for, by its name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

_PHASES = ("setup", "run", "teardown")
# Where functions may be called "test" and are no tests: fixtures.
_NO_TESTS = ("conftest", "fixtures")


def tests_of(contexts: Collection[str], failed: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The tests that each context stands for.

    pytest-cov names the node id and the phase; coverage's own ``test_function`` names module, class and function.
    Both come after a static context, where there is one.

    :param failed: node ids of failing tests.
    :return: of each context of a test, the node ids; of a passing test, a name of it. Several where the context
        does not tell parameters apart, none where it cannot be said which test it is. Contexts of what ran outside
        of tests are left out.
    """
    nodeids = {context: _nodeid(context) for context in contexts}
    tests: dict[str, tuple[str, ...]] = {context: (nodeid,) for context, nodeid in nodeids.items() if nodeid}
    functions = {context: _function(context) for context, nodeid in nodeids.items() if not nodeid}
    functions = {context: name for context, name in functions.items() if name}
    return tests | _by_function(functions, failed) if functions else tests


def _nodeid(context: str) -> str:
    """What pytest-cov was given; empty for other contexts."""
    name, _, phase = context.rpartition("|")
    if phase not in _PHASES:
        return ""
    static, _, rest = name.partition("|")
    return rest if rest and "::" not in static else name  # parameters may hold a bar, too


def _function(context: str) -> str:
    """The qualified name of a function that coverage takes for a test; empty for other contexts."""
    name = context.rpartition("|")[2]
    module, _, function = name.rpartition(".")
    return name if module and (function.startswith("test") or function == "runTest") else ""


def _by_function(functions: Mapping[str, str], failed: Iterable[str]) -> dict[str, tuple[str, ...]]:
    failing = _failing(set(functions.values()), failed)
    tests: dict[str, tuple[str, ...]] = {}
    for context, name in functions.items():
        if name in failing:
            is_clear = len({nodeid.partition("::")[0] for nodeid in failing[name]}) == 1
            tests[context] = tuple(failing[name]) if is_clear else ()
        else:
            tests[context] = () if _is_fixture(name) else (name,)
    return tests


def _is_fixture(name: str) -> bool:
    return not set(_NO_TESTS).isdisjoint(name.split(".")[:-1])


def _failing(names: Iterable[str], failed: Iterable[str]) -> dict[str, list[str]]:
    """Failing tests by the function that is theirs."""
    by_end = defaultdict(list)
    for name in sorted(names):
        by_end[name.rpartition(".")[2]].append(name)
    found = defaultdict(list)
    for nodeid in sorted(failed):
        dotted, least = _dotted(nodeid)
        fitting = [name for name in by_end[dotted.rpartition(".")[2]] if _fits(name, dotted, least)]
        if fitting:
            found[max(fitting, key=len)].append(nodeid)
    return found


def _dotted(nodeid: str) -> tuple[str, str]:
    """What a test may be called at most and at least: from the root on, and from its module on."""
    path, _, rest = nodeid.partition("::")
    module = path.removesuffix(".py").replace("/", ".")
    names = ".".join(rest.partition("[")[0].split("::"))
    return f"{module}.{names}", f"{module.rpartition('.')[2]}.{names}"


def _fits(name: str, dotted: str, least: str) -> bool:
    """Modules are named from anywhere on: from the root, from a folder below it, from one above it."""
    return _ends(name, least) and (_ends(dotted, name) or _ends(name, dotted))


def _ends(name: str, tail: str) -> bool:
    return name == tail or name.endswith(f".{tail}")
