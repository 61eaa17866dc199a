"""Calls and their values, by ``sys.settrace``."""

import importlib.util

import pytest

from loop_close.trace.code import Ownership
from loop_close.trace.lines import lines_in
from loop_close.trace.traced import MOST_CALLS, TracedLines

SOURCE = """
import asyncio

def add(items, item):
    items.append(item)

def pairs(items):
    for item in items:
        yield item, 1

def find(items, name):
    with open(__file__):
        return items[name]

def handled(items, name):
    try:
        return find(items, name)
    except KeyError:
        pass

async def wait(seconds):
    await asyncio.sleep(0)
    return seconds

def several(*items, key=None, **more):
    return [add(list(items), each) for each in items]

def deep(number):
    return deep(number - 1) if number else 0

async def rows(number):
    for each in range(number):
        await asyncio.sleep(0)
        yield each

async def total(number):
    return sum([each async for each in rows(number)])

def padded(text, width):
    text = text.strip()
    text = text.lower()
    width += 1
    del width
    return text

def many(number):
    for _ in range(number):
        add([], 1)
"""


@pytest.fixture
def trace(tmp_path):
    """Run a function of the module; its calls as text, and the lines of each function."""
    path = tmp_path / "shop.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("traced_shop", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def run(work, *watched):
        names = {("shop.py", name) for name in watched}
        tracker = TracedLines(Ownership(str(tmp_path)), lambda _: None, lambda value, _: repr(value), names)
        tracker.start()
        try:
            work(module)
        finally:
            tracker.stop()
        assert not tracker.fault
        calls = [
            (call.name[1], call.parent, ", ".join(f"{k}={v}" for k, v in call.arguments.items()), call.result)
            for _, call in sorted(tracker.calls.items())
        ]
        functions = {code.co_name: code.co_firstlineno for code in tracker.functions.values()}
        ran = {
            tracker.functions[number].co_name: lines_in(mask, tracker.functions[number].co_firstlineno)
            for number, mask in tracker.take().items()
        }
        return (
            calls,
            {name: [line - functions[name] for line in lines] for name, lines in ran.items()},
            tracker,
        )

    return run


def test_how_a_call_ends(trace):
    def work(shop):
        shop.add([1], 2)
        assert list(shop.pairs("ab"))
        assert shop.asyncio.run(shop.wait(0)) == 0
        shop.handled({}, "x")

    calls, lines, tracker = trace(work, "add", "pairs", "find", "handled", "wait")
    assert calls == [
        ("add", -1, "items=[1], item=2", "= None"),
        ("pairs", -1, "items='ab'", "yielded ('a', 1), ('b', 1)"),
        ("wait", -1, "seconds=0", "= 0"),
        ("handled", -1, "items={}, name='x'", "= None"),
        ("find", 3, "items={}, name='x'", "raised KeyError('x')"),
    ]
    assert tracker.calls[0].changed == {"items": "[1, 2]"}
    assert lines["find"] == [1, 2]
    assert lines["pairs"] == [1, 2]


def test_a_generator_that_is_left_or_closed_or_fails(trace):
    def work(shop):
        found = shop.pairs("abc")
        next(found)
        found.close()
        next(shop.pairs("xyz"))
        with pytest.raises(TypeError):
            list(shop.pairs(1))

    results = [result for *_, result in trace(work, "pairs")[0]]
    assert results[:2] == ["yielded ('a', 1)", "yielded ('x', 1)"]
    assert results[2].startswith("raised TypeError(")


def test_no_value_of_an_async_generator(trace):
    assert trace(lambda shop: shop.asyncio.run(shop.total(3)), "rows", "total")[0] == [
        ("total", -1, "number=3", "= 3")
    ]


def test_a_name_that_is_bound_anew_is_no_argument_that_changed(trace):
    calls, _, tracker = trace(lambda shop: shop.padded(" ABC" * 9, 9), "padded")
    assert [each[1:3] for each in calls] == [(-1, f"text={' ABC' * 9!r}, width=9")]
    assert tracker.calls[0].changed == {}


def test_all_kinds_of_arguments_and_calls_inside_of_comprehensions(trace):
    calls = trace(lambda shop: shop.several(1, 2, key=3, other=4), "several", "add")[0]
    assert calls[0] == ("several", -1, "key=3, items=(1, 2), more={'other': 4}", "= [None, None]")
    assert [each[1] for each in calls[1:]] == [0, 0]


def test_only_watched_functions_and_so_many_calls(trace):
    assert trace(lambda shop: shop.several(1), "several")[0] == [
        ("several", -1, "key=None, items=(1,), more={}", "= [None]")
    ]
    assert len(trace(lambda shop: shop.many(MOST_CALLS + 9), "add")[0]) == MOST_CALLS


def test_a_recursion_that_does_not_end_stays_the_error_of_the_program(trace):
    def work(shop):
        with pytest.raises(RecursionError):
            shop.deep(10**9)

    trace(work, "deep")
