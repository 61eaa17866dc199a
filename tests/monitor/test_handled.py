import ast
import dis
import subprocess
import sys
import threading
from types import CodeType

import pytest

from loop_close.monitor import handled
from loop_close.monitor.codes import Ownership
from loop_close.monitor.handled import MOST_STEPS, SAMPLED_FROM, HandledExceptions, handler_of

pytestmark = pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs Python 3.12")


def made(source, name="f", file="/project/a.py", **names):
    space = {"__name__": "made", **names}
    exec(compile(source, file, "exec"), space)
    return space[name]


def swallowed(watch):
    return {(each.line, each.type): note for each, note in watch.take().swallowed.items()}


def begin(watch):
    watch.end_collection()
    watch.begin_test()


RAISE = "def g(*args):\n    raise error(*args)\n"
HANDLE = "def f(*args):\n    try:\n        g(*args)\n    except BaseException:\n        return 1\n"


def call(watch, error, *args, handle=HANDLE, **names):
    """Handled in the code under test, called by a test."""
    f = made(handle, g=made(RAISE, "g", error=error), **names)
    made("def t(*args):\n    f(*args)\n", "t", "/project/tests/test_a.py", f=f)(*args)


class OddError(Exception):
    def __str__(self):
        raise AssertionError("the program's code ran")

    __repr__ = __hash__ = __str__

    @property
    def __class__(self):
        raise AssertionError("the program's code ran")


class Text(str):
    __slots__ = ()

    def __str__(self):
        raise AssertionError("the program's code ran")

    __repr__ = __str__


@pytest.mark.parametrize(
    ("error", "args", "message"),
    [
        (ValueError, ("no price",), "no price"),
        (ValueError, (), ""),
        (ValueError, ("a", 1), "('a', 1)"),
        (KeyError, ("a",), "'a'"),
        (OSError, (2, "No such file"), "[Errno 2] No such file"),
        (ValueError, (None,), "None"),
        (ValueError, (object(),), ""),
        (ValueError, (Text("a"),), ""),
        (ValueError, ("a" * 10_000,), "a" * 300),
        (ValueError, (10**5_000,), ""),
        (ValueError, ("\ud800",), "\\ud800"),
        (OddError, ("a",), "a"),
        (OddError, (OddError("a"),), ""),
        (SystemExit, (2,), "2"),
    ],
)
def test_message_without_code_of_the_program(watch, error, args, message):
    begin(watch)
    call(watch, error, *args)
    assert watch.fault == ""
    assert [(line, note.message) for (line, _), note in swallowed(watch).items()] == [(2, message)]


def test_type_that_runs_code_for_everything(watch):
    ran = []

    class OddType(type):
        def __getattribute__(cls, name):
            ran.append(name)
            return super().__getattribute__(name)

        def __hash__(cls):
            ran.append("hash")
            return 1

    class StrangerError(Exception, metaclass=OddType):
        pass

    begin(watch)
    call(watch, StrangerError, "a")
    assert watch.fault == ""
    assert [*swallowed(watch)] == [(2, "test_type_that_runs_code_for_everything.StrangerError")]
    assert ran == []


@pytest.mark.parametrize("error", [StopIteration, GeneratorExit, StopAsyncIteration, KeyboardInterrupt])
def test_control_flow_is_no_error(watch, error):
    begin(watch)
    call(watch, error)
    call(watch, type("Own", (error,), {}))
    assert swallowed(watch) == {}


def test_cancelled_task_is_no_error(watch):
    import asyncio

    begin(watch)
    call(watch, asyncio.CancelledError)
    assert swallowed(watch) == {}


def test_name_of_the_type(watch):
    class InnerError(Exception):
        pass

    begin(watch)
    call(watch, InnerError)
    ((_, name),) = swallowed(watch)
    assert name == "test_name_of_the_type.InnerError"


def test_where_it_was_handled(watch):
    begin(watch)
    call(watch, ValueError)
    (note,) = swallowed(watch).values()
    assert note.caught == "a.py:4"


def test_raised_again_and_handled_further_up(watch):
    begin(watch)
    again = (
        "def f(*args):\n    try:\n        g(*args)\n    except ValueError as error:\n        raise error\n"
    )
    inner = made(again, g=made(RAISE, "g", error=ValueError))
    outer = made(HANDLE, file="/project/b.py", g=inner)
    made("def t():\n    f()\n", "t", "/project/test_a.py", f=outer)()
    (note,) = swallowed(watch).values()
    assert note.caught == "b.py:4"


MANAGED = """
import contextlib

@contextlib.contextmanager
def manager():
    try:
        yield
    except KeyError:
        raise

@contextlib.asynccontextmanager
async def waiting():
    with manager():
        yield

def f():
    with manager():
        g()

async def wait():
    async with waiting():
        g()
"""


def test_context_manager_that_hands_it_on_is_no_handler(watch):
    """contextlib takes its own frame, and those of the generator, out of the traceback."""
    begin(watch)
    manager = made(MANAGED, file="/elsewhere/a.py", g=made(RAISE, "g", error=ValueError))
    runner = made(HANDLE.replace("*args", ""), g=manager, file="/elsewhere/b.py", __name__="runner")
    made("def t():\n    f()\n", "t", "/project/test_a.py", f=runner)()
    assert [note.caught for note in swallowed(watch).values()] == ["runner"]


def test_asynchronous_context_manager_that_hands_it_on_is_no_handler(watch):
    begin(watch)
    manager = made(MANAGED, "wait", "/elsewhere/a.py", g=made(RAISE, "g", error=ValueError))
    run = HANDLE.replace("*args", "").replace("g()", "g().send(None)")
    runner = made(run, g=manager, file="/elsewhere/b.py", __name__="runner")
    made("def t():\n    f()\n", "t", "/project/test_a.py", f=runner)()
    assert [note.caught for note in swallowed(watch).values()] == ["runner"]


TWICE = """
def f():
    kept = []
    try:
        g()
    except ValueError as error:
        kept.append(error)
    try:
        g()
    except ValueError as error:
        second = error
    try:
        raise second.with_traceback(None)
    except ValueError:
        pass
"""


def test_of_several_handlers_the_first_is_named(watch):
    """Whichever of the exceptions is still alive at the end of the test."""
    begin(watch)
    f = made(TWICE, g=made(RAISE, "g", error=ValueError))
    made("def t():\n    f()\n", "t", "/project/test_a.py", f=f)()
    assert {line: note.caught for (line, _), note in swallowed(watch).items()} == {2: "a.py:6", 13: "a.py:14"}


def test_another_thread_may_add_exceptions_while_they_are_taken():
    kept = HandledExceptions(Ownership("/project"), lambda is_on: None)

    class Busy(handled._Entry):
        __slots__ = ()

        def __hash__(self):
            kept._entries[len(kept._entries),] = entry
            return 1

    entry = handled._Entry((1, 2, 3), 4, None, None)
    kept._entries[0,] = Busy((1, 2, 3), 4, None, None)
    assert kept.take() == {}


def test_handled_by_a_test_that_it_reached(watch):
    begin(watch)
    tidy = made(
        "def f():\n    try:\n        g()\n    finally:\n        1\n", g=made(RAISE, "g", error=ValueError)
    )
    made(
        "def t():\n    try:\n        f()\n    except ValueError:\n        pass\n",
        "t",
        "/project/test_a.py",
        f=tidy,
    )()
    assert swallowed(watch) == {}


def test_code_of_others_alone(watch):
    begin(watch)
    f = made(HANDLE, file="/elsewhere/a.py", g=made(RAISE, "g", "/elsewhere/a.py", error=ValueError))
    made(
        "def t():\n    h()\n    f()\n", "t", "/project/test_a.py", f=f, h=made("def h():\n    pass\n", "h")
    )()
    assert swallowed(watch) == {}


def test_code_of_others_that_handles_it(watch):
    begin(watch)
    f = made(HANDLE, file="/elsewhere/a.py", g=made(RAISE, "g", error=ValueError))
    made("def t():\n    f()\n", "t", "/project/test_a.py", f=f)()
    assert [note.caught for note in swallowed(watch).values()] == ["made"]


def test_thread(watch):
    begin(watch)
    g = made(RAISE, "g", error=ValueError)
    hook, threading.excepthook = threading.excepthook, lambda _: None
    try:
        thread = threading.Thread(target=g)
        thread.start()
        thread.join()
    finally:
        threading.excepthook = hook
    assert [note.caught for note in swallowed(watch).values()] == ["threading"]


def test_no_exception_is_kept(watch):
    import weakref

    class OwnError(Exception):
        pass

    kept = []

    class HolderError(OwnError):
        def __init__(self):
            kept.append(weakref.ref(self))

    begin(watch)
    call(watch, HolderError)
    assert kept[0]() is None
    assert len(swallowed(watch)) == 1


def test_too_many_in_one_test(watch):
    begin(watch)
    lines = "".join(f"    if n == {n}: raise ValueError\n" for n in range(10))
    g = made(f"def g(n):\n{lines}", "g")
    loop = "def f(number):\n    for n in range(number):\n        try: g(n % 10)\n        except ValueError: pass\n"
    t = made("def t(number):\n    f(number)\n", "t", "/project/test_a.py", f=made(loop, g=g))
    t(MOST_STEPS)
    assert watch.is_cut
    assert len(swallowed(watch)) == 10
    watch.begin_test()
    assert not watch.is_cut
    t(3)
    assert len(swallowed(watch)) == 3
    assert not watch.is_cut


def test_many_in_one_handler(watch):
    """Of those that follow some are looked at."""
    begin(watch)
    g = made("def g(n):\n    if n < 40: raise ValueError\n    raise KeyError\n", "g")
    loop = "def f():\n    for n in range(60):\n        try: g(n)\n        except Exception: pass\n"
    made("def t():\n    f()\n", "t", "/project/test_a.py", f=made(loop, g=g))()
    assert SAMPLED_FROM < 40
    assert watch.is_cut
    assert {kind for _, kind in swallowed(watch)} == {"ValueError", "KeyError"}


def test_session_that_took_too_long(monkeypatch):
    heard = []
    found = HandledExceptions(Ownership("/project"), heard.append)
    monkeypatch.setattr(handled, "MOST_IN_SESSION", 2_000)
    for _ in range(10):
        found.begin_test()
        found.left -= MOST_STEPS
    assert found._allowed == handled.FEW_STEPS


def test_end_of_the_stack(watch):
    begin(watch)
    deep = made("def f(n):\n    try:\n        return f(n + 1)\n    finally:\n        1\n")
    with pytest.raises(RecursionError):
        made("def t():\n    f(0)\n", "t", "/project/test_a.py", f=deep)()
    assert watch.fault == ""


def test_heard_of_only_where_code_under_test_runs(watch):
    begin(watch)
    assert not watch._handled.is_listening
    call(watch, ValueError)
    assert watch._handled.is_listening
    swallowed(watch)
    watch.begin_test()
    assert not watch._handled.is_listening


ITERATION = """
class Ended(StopIteration):
    pass
class Items:
    def __iter__(self):
        return self
    def __next__(self):
        raise kind
def f(times):
    try:
        for _ in range(times):
            for _ in Items():
                pass
        raise KeyError("late")
    except KeyError:
        return 1
"""


@pytest.mark.parametrize("kind", ["StopIteration", "Ended"])
@pytest.mark.parametrize(("times", "is_cut"), [(MOST_STEPS, False), (handled.EVENTS * MOST_STEPS, True)])
def test_ends_of_iterations_are_no_steps_but_events(watch, times, is_cut, kind):
    f = made(ITERATION.replace("raise kind", f"raise {kind}"))
    test = made("def t(*args):\n    f(*args)\n", "t", "/project/tests/test_a.py", f=f)
    begin(watch)
    test(times)
    assert watch.is_cut is is_cut
    assert [kind for _, kind in swallowed(watch)] == ([] if is_cut else ["KeyError"])


@pytest.mark.parametrize("last", ["next(iter([]))", "raise ValueError", "raise KeyboardInterrupt"])
def test_what_runs_after_a_test_ended_is_not_of_it(watch, last):
    first = made("def first(): return 1", "first")
    test = made(f"def t():\n    first()\n    {last}\n", "t", "/project/tests/test_a.py", first=first)
    begin(watch)
    pytest.CallInfo.from_call(test, "call")
    call(watch, KeyError)
    assert swallowed(watch) == {}


def test_function_with_too_many_handlers_is_not_examined(watch):
    attempt = "    try:\n        int('x')\n    except ValueError:\n        pass\n"
    f = made(f"def f():\n{attempt * handled.LONGEST_HANDLERS}")
    begin(watch)
    made("def t():\n    f()\n", "t", "/project/tests/test_a.py", f=f)()
    assert watch.is_cut
    assert swallowed(watch) == {}


def codes_of(module):
    left = [each.__code__ for each in vars(module).values() if hasattr(each, "__code__")]
    while left:
        code = left.pop()
        yield code
        left += [each for each in code.co_consts if isinstance(each, CodeType)]


@pytest.mark.parametrize("module", [ast, dis, subprocess, threading])
def test_handlers_are_those_that_the_disassembler_shows(module):
    found = 0
    for code in codes_of(module):
        entries = dis.Bytecode(code).exception_entries
        for offset in range(0, len(code.co_code), 2):
            expected = next((each.target for each in entries if each.start <= offset < each.end), None)
            assert handler_of(code.co_exceptiontable, offset) == expected
            found += expected is not None
    assert found > 10


FULL_STACK = """\
import sys
from loop_close.monitor.codes import Ownership
from loop_close.monitor.watch import LineTracker
SOURCE = '''
def fields(node):
    for place in (0,):
        try:
            yield place, node[place]
        except IndexError:
            pass

def children(node):
    for place, field in fields(node):
        if isinstance(field, list):
            yield field

def walk(node):
    for child in children(node):
        yield child
        yield from walk(child)
'''
space = {"__name__": "core"}
watch = LineTracker(Ownership("/project"))
assert watch.start() == ""
exec(compile(SOURCE, "/project/core.py", "exec"), space)
watch.take()
watch.end_collection()
nested = []
for _ in range(3000):
    nested = [nested]
def started(pad):
    if pad:
        return started(pad - 1)
    try:
        list(space["walk"](nested))
    except RecursionError:
        return
for pad in range(4):
    watch.begin_test()
    started(pad)
    watch.take()
watch.stop()
print("end", watch.fault)
"""


def test_generator_on_a_full_stack_ends():
    """A callback cannot begin there; with ``EXCEPTION_HANDLED`` CPython never came to an end."""
    done = subprocess.run(
        [sys.executable, "-c", FULL_STACK], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "end \n"
