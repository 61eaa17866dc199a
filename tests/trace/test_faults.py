import ctypes
import functools
import signal
import threading

import pytest

from loop_close.trace.lines import is_program_exception

OURS = """
def working():
    while True:
        pass

def fault(error):
    raise error
"""


class LateError(Exception):
    pass


def handler(number, frame):
    raise LateError


def resetting(number, frame):
    signal.signal(number, signal.SIG_DFL)
    raise LateError


def late(reason, number, frame):
    raise TimeoutError(reason)


class Limit:
    def __call__(self, *arguments):
        handler(*arguments)


HANDLERS = [
    resetting,
    functools.partial(late, "too long"),
    Limit(),
    functools.wraps(handler)(lambda *arguments: handler(*arguments)),
]


@pytest.fixture
def ours():
    space = {"__name__": "loop_close.trace.lines"}
    exec(OURS, space)
    return space


def raised_by(work, *arguments):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        work(*arguments)
    return caught.value


@pytest.mark.parametrize("fault", [ValueError("a fault"), OSError(), KeyError()])
def test_a_fault_of_ours(ours, fault):
    assert not is_program_exception(raised_by(ours["fault"], fault))


def test_a_fault_in_what_we_call():
    def called(item):
        raise LateError

    assert not is_program_exception(raised_by(called, "an item"))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.parametrize("handler", HANDLERS)
def test_what_a_signal_handler_raises(ours, handler):
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        fault = raised_by(ours["working"])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert is_program_exception(fault)


@pytest.mark.parametrize("kind", [LateError, TimeoutError])
def test_what_another_thread_throws_in(ours, kind):
    number = ctypes.c_ulong(threading.get_ident())

    def throw():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(kind))

    timer = threading.Timer(0.01, throw)
    timer.start()
    fault = raised_by(ours["working"])
    timer.join()
    assert is_program_exception(fault)
