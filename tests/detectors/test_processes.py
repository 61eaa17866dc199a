"""Which detector has what a reader of programs' output found."""

import pytest

from loop_close.detectors import CRASH, DEFAULT_DETECTORS, run_detectors
from loop_close.model import Observation
from loop_close.readers import processes, runners

ALL = (*(d for d in DEFAULT_DETECTORS if d.id != "crash"), CRASH)


def traceback_of(said):
    return f'Traceback (most recent call last):\n  File "shop.py", line 3, in total\n    price()\n{said}\n'


def found(reading, exit_code=1):
    observation = Observation(exit_code=exit_code, failures=reading.failures, warnings=reading.warnings)
    return [(e.kind, e.file, e.line) for e in run_detectors(observation, ALL)]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("ValueError: bad", "stack-trace"),
        ("ModuleNotFoundError: No module named 'x'", "missing-module"),
        ("NotImplementedError", "not-implemented"),
        ("TimeoutError: too long", "timeout"),
        ("subprocess.TimeoutExpired: Command 'x' timed out after 1 seconds", "timeout"),
    ],
)
def test_traceback_of_a_program(said, kind):
    assert found(processes.read_tracebacks(traceback_of(said), "")) == [(kind, "shop.py", 3)]


def test_syntax_error_of_a_program():
    text = '  File "shop.py", line 4\n    def f(:\n          ^\nSyntaxError: invalid syntax\n'
    assert found(processes.read_tracebacks(text, "")) == [("syntax-error", "shop.py", 4)]


@pytest.mark.parametrize(
    "head",
    ["Task exception was never retrieved", "Exception in thread Thread-1 (f):", "Exception ignored in: <x>"],
)
def test_exceptions_that_nobody_took(head):
    reading = processes.read_asyncio(f"{head}\n" + traceback_of("ValueError: bad"), "")
    assert found(reading) == [("unhandled-async", "shop.py", 3)]


def test_warnings_of_coroutines():
    text = "shop.py:9: RuntimeWarning: coroutine 'save' was never awaited\n"
    text += "Task was destroyed but it is pending!\ntask: <Task pending coro=<f() running at shop.py:4>>\n"
    assert found(processes.read_asyncio(text, ""), 0) == [
        ("unhandled-async", "shop.py", 4),
        ("unhandled-async", "shop.py", 9),
    ]


def test_crashes():
    dump = "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
    dump += '  File "shop.py", line 3 in f\n'
    assert found(processes.read_faulthandler(dump, "")) == [("crash", "shop.py", 3)]
    assert found(runners.read_shell("Killed\n", "")) == [("crash", "", 0)]


def test_a_traceback_counts_on_exit_code_0():
    assert found(processes.read_tracebacks(traceback_of("ValueError: bad"), ""), 0) == [
        ("stack-trace", "shop.py", 3)
    ]
