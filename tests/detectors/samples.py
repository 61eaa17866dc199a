"""For each detector, what it must find and what it must not."""

from records import failure, frame, in_test, observed, origin, raised, source, verdict

from loop_close.model import Observation, Warned

ERROR = ("Exception", "BaseException")
USAGE = raised("UsageError", "no such file", [], module="_pytest.config.exceptions", bases=ERROR)


def syntax(path="src/a.py", **fields):
    return raised(
        "SyntaxError", "invalid syntax", [], details={"path": path, "line": "3"}, bases=ERROR, **fields
    )


def warned(category, message, **fields):
    return Warned(category=category, message=message, **fields)


def reached(*lines, file="src/shop/cart.py"):
    return raised(frames=[in_test(), frame(file, source=source(*lines, start=8))])


def empty(**fields):
    return verdict(origin("total", is_empty=True, **fields))


def failing(exc=None, **fields):
    return observed(failure(exc, **fields))


def checked(tool, code):
    return failing(None, phase="check", tool=tool, code=code, nodeid="", message="what it says")


def died(message, **fields):
    return failing(None, phase="process", nodeid="", message=message, **fields)


COLLECT = {"phase": "collect", "nodeid": "tests/test_a.py"}
SESSION = {"phase": "session", "nodeid": ""}

#: What each detector must not find, then what it must: (observation, how many).
NEGATIVE = {
    "internal-error": [
        failing(raised()),
        failing(raised("INTERNALERROR", "INTERNALERROR>")),
        failing(**COLLECT),
        failing(USAGE, **SESSION),
    ],
    "syntax-error": [
        failing(raised("ValueError", "SyntaxError: invalid syntax")),
        failing(syntax("<string>")),
        failing(raised("SyntaxError", "x", bases=ERROR)),
        failing(raised("TemplateSyntaxError", "x", bases=ERROR, details={"path": "a.html", "line": "1"})),
    ],
    "missing-module": [
        failing(raised("ValueError", "No module named 'x'")),
        failing(verdict(message="ModuleNotFoundError: No module named 'x'")),
        failing(raised(cause=raised("ImportError"))),
        failing(verdict(message="partially initialized module 'a' has no attribute 'b'")),
    ],
    "collection-error": [
        failing(raised()),
        failing(raised("UsageError", "of a session", module="click.exceptions", bases=ERROR), **SESSION),
        failing(raised(), **SESSION),
        failing(raised("ValueError", "fixture 'x' not found")),
    ],
    "test-failure": [failing(**COLLECT), failing(raised(), **SESSION)],
    "not-implemented": [
        failing(raised("ValueError", "NotImplementedError")),
        failing(verdict(message="assert NotImplemented == 1")),
        failing(raised(context=raised("NotImplementedError"))),
    ],
    "timeout": [
        failing(verdict(message="Timeout (>1.0s) from pytest-timeout.")),
        failing(raised("Failed", "DID NOT RAISE <class 'TimeoutError'>")),
        failing(raised("TimeoutSettings")),
        failing(None, message="Timeout (>1.0s)"),
    ],
    "unhandled-async": [
        failing(verdict(message="assert 'x' == \"coroutine 'f' was never awaited\"")),
        observed(warnings=(warned("RuntimeWarning", "coroutine f was never awaited"),)),
    ],
    "incomplete-function": [
        failing(raised()),
        failing(verdict(origin("total"))),
        failing(empty(file="tests/helpers.py")),
        failing(reached("def total():", "    pass")),
    ],
    "todo-marker": [
        failing(
            reached("todo = 1", "TODO = 2", "x = 'TODO'", "# todos", "# TODOS", "# MYTODO", "# TODO_LIST")
        ),
        failing(reached("# TODO: in the tests", file="tests/helpers.py")),
        failing(verdict(message="# TODO in the message")),
        failing(reached("# FIXME: other")),
    ],
    "fixme-marker": [
        failing(reached("fixme = 1", "FIXME = 2", "x = 'FIXME'", "# FIXMES", "# see fixme")),
        failing(reached("# FIXME", file="tests/helpers.py")),
        failing(reached("# TODO: other")),
    ],
    "typecheck-error": [
        checked("ruff", "F401"),
        checked("coverage", "fail-under"),
        failing(raised(), tool="mypy"),
    ],
    "lint-error": [checked("mypy", "arg-type"), failing(raised("ruff", "F401 x")), failing(tool="ruff")],
    "coverage-below": [checked("ruff", "F401"), checked("coverage", "other"), failing(tool="coverage")],
    "crash": [
        failing(raised("Fatal Python error", "Aborted")),
        died("the test said Aborted"),
        observed(failure(raised()), exit_code=-11),
        observed(exit_code=127),
        observed(exit_code=-2),
        observed(exit_code=None),
    ],
    "stack-trace": [
        observed(failure(raised()), exit_code=0),
        observed(failure(raised()), exit_code=None),
        failing(raised(frames=[])),
        failing(),
    ],
}

POSITIVE = {
    "internal-error": [
        (failing(raised(), **SESSION), 1),
        (failing(**SESSION), 1),
        (failing(raised("UsageError", module="click.exceptions"), **SESSION), 1),
        (observed(failure(raised(), **SESSION), failure(**SESSION), failure()), 2),
    ],
    "syntax-error": [
        (failing(syntax(), **COLLECT), 1),
        (failing(syntax()), 1),
        (failing(raised("IndentationError", bases=("SyntaxError", *ERROR), details={"path": "a.py"})), 1),
    ],
    "missing-module": [
        (failing(raised("ImportError", bases=ERROR)), 1),
        (failing(raised("ModuleNotFoundError", bases=("ImportError", *ERROR)), **COLLECT), 1),
        (failing(raised("AttributeError", "partially initialized module 'a' has no attribute 'b'")), 1),
    ],
    "collection-error": [
        (failing(**COLLECT), 1),
        (failing(raised(), **COLLECT), 1),
        (failing(USAGE, **SESSION), 1),
        (failing(raised("FixtureLookupError", details={"fixture": "db"}), phase="setup"), 1),
    ],
    "test-failure": [
        (failing(), 1),
        (failing(raised(), phase="setup"), 1),
        (failing(raised(), phase="teardown"), 1),
        (observed(failure(subtest="[a]"), failure(subtest="[b]")), 2),
    ],
    "not-implemented": [
        (failing(raised("NotImplementedError", "", bases=("RuntimeError", *ERROR))), 1),
        (failing(raised("Later", bases=("NotImplementedError", "RuntimeError", *ERROR)), phase="setup"), 1),
    ],
    "timeout": [
        (failing(raised("Failed", "Timeout (>1.0s) from pytest-timeout.")), 1),
        (failing(raised("TimeoutError", "", bases=("OSError", *ERROR))), 1),
        (failing(raised("TimeoutExpired", "", module="subprocess")), 1),
        (failing(raised("ReadTimeout", "", module="httpx")), 1),
        (failing(raised("Late", bases=("TimeoutError", *ERROR))), 1),
    ],
    "unhandled-async": [
        (failing(raised("PytestUnraisableExceptionWarning", "in __del__")), 1),
        (failing(raised("RuntimeWarning", "coroutine 'f' was never awaited")), 1),
        (observed(warnings=(warned("PytestUnhandledThreadExceptionWarning", "in Thread-1"),)), 1),
        (observed(warnings=(warned("RuntimeWarning", "coroutine 'f' was never awaited"),)), 1),
    ],
    "incomplete-function": [
        (failing(empty()), 1),
        (failing(verdict(origin("a", is_empty=True), origin("b", is_empty=True, line=9))), 2),
        (failing(raised(cause=empty())), 1),
    ],
    "todo-marker": [
        (failing(reached("# TODO: one", "# TODO(me) two", "    # XXX TODO three", "#TODO")), 4),
        (observed(failure(reached("# TODO")), failure(reached("# TODO"))), 1),
        (failing(verdict(origin(source=source("def f():", "# TODO")))), 1),
    ],
    "fixme-marker": [
        (failing(reached("x = 1  # FIXME", "# FIXME(me) two")), 2),
    ],
    "stack-trace": [
        (failing(raised()), 2),
        (
            observed(failure(), failure(raised(frames=[frame(line=n) for n in range(9)])), failure(raised())),
            3,
        ),
        (failing(raised(), phase="process", nodeid=""), 2),
        (observed(failure(raised(), phase="process", nodeid=""), exit_code=None), 1),
    ],
    "typecheck-error": [
        *((checked(tool, "arg-type"), 1) for tool in ("mypy", "pyright", "ty", "pyrefly")),
        (observed(*(failure(phase="check", tool="mypy", nodeid="") for _ in range(3))), 3),
    ],
    "lint-error": [
        (checked("ruff", "F401"), 1),
        (checked("ruff", "format"), 1),
    ],
    "coverage-below": [(checked("coverage", "fail-under"), 1)],
    "crash": [
        (died("Segmentation fault: ./run", code="SIGSEGV"), 1),
        (failing(raised("Fatal Python error", "Aborted"), phase="process", nodeid=""), 1),
        (failing(None, message="worker 'gw0' crashed while running 't.py::a'"), 1),
        (observed(exit_code=-11), 1),
        (observed(exit_code=139), 1),
    ],
}

NOTHING = Observation()
GREEN = observed(
    exit_code=0,
    warnings=(warned("DeprecationWarning", "TODO: remove"), warned("UserWarning", "Timeout (>1.0s)")),
)
