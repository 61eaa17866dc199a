import subprocess
import sys
from unittest import mock

import pytest
from called import ran
from hypothesis import given
from hypothesis import strategies as st

from loop_close.monitor.codes import Ownership
from loop_close.monitor.count import MAX_FAILED, CallCounts, calls_of, chosen, digest_of
from loop_close.monitor.executions import RETURNED_NONE, Function
from loop_close.monitor.imports import Imports


def made(source, name="f"):
    space = {}
    exec(compile(source, "/project/a.py", "exec"), space)
    return space[name].__code__


def counting(functions):
    return CallCounts({number: Function(code) for number, code in functions.items()})


F = "def f(a):\n    return a + 1\n"


@pytest.mark.parametrize(
    ("source", "is_same"),
    [
        (F, True),
        ("\n\n\n" + F, True),
        ("# a comment\n" + F.replace(":\n", ":\n\n    # another\n"), True),
        ("def g(): ...\n" + F, True),
        (F.replace("1", "2"), False),
        (F.replace("+", "-"), False),
        (F.replace("a", "b"), False),
        (F.replace("a + 1", "a + 1.0"), False),
        (F.replace("def", "async def"), False),
        (F.replace("a + 1", "lambda: a + 1"), False),
    ],
)
def test_digest(source, is_same):
    assert (digest_of(made(source)) == digest_of(made(F))) is is_same


def test_digest_of_what_a_function_holds():
    sources = [f"def f():\n    def g():\n        return {n}\n    return g\n" for n in (1, 2)]
    assert digest_of(made(sources[0])) != digest_of(made(sources[1]))


def test_digest_of_code_in_many_places():
    code = inner = made(F)
    for _ in range(100):
        code = code.replace(co_consts=(code, code))
    other = code.replace(co_consts=(code.co_consts[0], inner))
    assert len({digest_of(each) for each in (code, code.co_consts[0], other)}) == 3


def test_digest_is_the_same_with_other_hashes():
    code = (
        "from loop_close.monitor.count import digest_of\n"
        "def f(x):\n    return x in {'a', 'b', 'c', 'd'}, x in ('e', ('f', 1))\n"
        "print(digest_of(f.__code__))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(found) == 1


def test_record():
    one, two, three = (made(F.replace("f(", f"{name}("), name) for name in "fgh")
    count = counting({1: three, 2: two, 3: one})
    count.add("t::p", ran(count.functions, (2, 2), (3, 2)), "passed")
    count.add("t::q", ran(count.functions, (2, 2)), "passed")
    count.add("t::z", ran(count.functions, (3, 2), (2, 2)), "failed")
    count.add("t::a", ran(count.functions, (2, 2)), "failed")
    count.add("t::s", ran(count.functions, (1, 2)), "skipped")
    count.add_outside(ran(count.functions, (3, 2)))
    imports = Imports()
    imports.add(ran(count.functions, (2, 2)))
    calls = calls_of(count, Ownership("/project"), imports)
    assert [(each.function, each.passed, each.lines, each.in_import) for each in calls.functions] == [
        ("f", 1, {2: 1}, True),
        ("g", 2, {2: 2}, True),
        ("h", 0, {}, True),  # in a test that was skipped
    ]
    assert [(each.file, each.line, each.end_line) for each in calls.functions] == [("a.py", 1, 2)] * 3
    assert list(calls.failed.items()) == [("t::a", ((1, 2),)), ("t::z", ((0, 2), (1, 2)))]
    assert (calls.passed, calls.omitted) == (2, 0)


def test_what_gave_none_is_apart_from_the_lines(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("def f(): 1 + 1\n\n\ndef g(n): return n\n", encoding="utf-8")
    space = {}
    exec(compile(path.read_bytes(), str(path), "exec", dont_inherit=True), space)
    count = counting({1: space["f"].__code__, 2: space["g"].__code__})
    count.add("t::p", ran(count.functions, (1, 1), (1, RETURNED_NONE)), "passed")
    count.add("t::q", ran(count.functions, (1, 1), (2, 4)), "passed")
    count.add("t::a", ran(count.functions, (2, 4), (2, RETURNED_NONE), (1, 1), (1, RETURNED_NONE)), "failed")
    count.add("t::b", ran(count.functions, (1, 1)), "failed")
    calls = calls_of(count, Ownership(str(tmp_path)))
    assert [(each.function, each.lines) for each in calls.functions] == [("f", {1: 2}), ("g", {4: 1})]
    assert calls.failed == {"t::a": ((1, 4), (0, 1)), "t::b": ((0, 1),)}
    assert calls.returned_none == {"t::a": {0, 1}}
    assert [(each.returned_none, each.returns_value) for each in calls.functions] == [(1, True), (0, False)]


def test_what_a_failing_test_saw_only_the_end_of():
    """As of a thread that began in a test that was skipped."""
    count = counting({1: made(F)})
    count.add("t::a", ran(count.functions, (1, RETURNED_NONE)), "failed")
    calls = calls_of(count, Ownership("/project"))
    assert [each.function for each in calls.functions] == ["f"]
    assert (calls.failed, calls.returned_none) == ({"t::a": ()}, {"t::a": {0}})


def test_bound_of_failing_tests():
    tests = [f"t{number}" for number in range(MAX_FAILED + 5)]
    kept, gone = chosen(tests)[0], min(set(tests) - set(chosen(tests)))
    count = counting({1: made(F)})
    for test in (*tests, gone):  # the last one again
        count.add(test, ran(count.functions, (1, 1)), "failed")
    count.add(kept, ran(count.functions, (1, 2)), "failed")  # again, after a rerun
    calls = calls_of(count, Ownership("/project"))
    assert (len(calls.failed), calls.omitted) == (MAX_FAILED, 5)
    assert calls.failed[kept] == ((0, 2),)


@given(st.randoms(use_true_random=False), st.integers(1, 9))
def test_which_failing_tests_are_kept_does_not_depend_on_order(random, most):
    names = {f"test_a.py::test[{n}]": f"f{n}" for n in range(12)}
    functions = {n: made(F.replace("f(", f"f{n}("), f"f{n}") for n in range(12)}
    count = counting(functions)
    tests = [(test, ran(count.functions, (n, 2))) for n, test in enumerate(names)]
    random.shuffle(tests)
    with mock.patch("loop_close.monitor.count.MAX_FAILED", most):
        expected = chosen(names)
        for test, lines in tests:
            count.add(test, lines, "failed")
    calls = calls_of(count, Ownership("/project"))
    assert (list(calls.failed), calls.omitted) == (expected, 12 - most)
    assert {each.function for each in calls.functions} == {names[test] for test in expected}
    for test, ((index, _),) in calls.failed.items():
        assert calls.functions[index].function == names[test]


@pytest.mark.slow
def test_room_of_many_lines():
    import tracemalloc

    count = counting({1: made(F)})
    lines = ran(count.functions, *((1, line) for line in range(5_000)))
    tracemalloc.start()
    try:
        for number in range(MAX_FAILED):
            count.add(f"t{number}", lines, "failed")
        calls = calls_of(count, Ownership("/project"))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(calls.failed) == MAX_FAILED
    assert used < 25_000_000


def counting_nothing(tmp_path, outcome):
    """One function that gives what it works out, and one that does not."""
    path = tmp_path / "a.py"
    path.write_text("def f(n):\n    n + 1\ndef g(n):\n    return n\n", encoding="utf-8")
    names = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    count = counting({1: names["f"].__code__, 2: names["g"].__code__})
    for number in (1, 2):
        count.add_before(ran(count.functions, (number, 2), (number, RETURNED_NONE)))
    count.add("t::a", ran(count.functions, (2, 4)), outcome)
    return calls_of(count, Ownership(str(tmp_path)))


@pytest.mark.parametrize("outcome", ["failed", "skipped"])
def test_none_before_of_tests(tmp_path, outcome):
    calls = counting_nothing(tmp_path, outcome)
    assert [(each.none_before, each.returns_value) for each in calls.functions] == [
        (True, True),
        (True, False),
    ]


def test_none_before_of_tests_that_the_annotation_has(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("def f(n) -> int | None:\n    return n\n", encoding="utf-8")
    names = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    count = counting({1: names["f"].__code__})
    count.add_before(ran(count.functions, (1, 2), (1, RETURNED_NONE)))
    count.add("t::a", ran(count.functions), "failed")
    calls = calls_of(count, Ownership(str(tmp_path)))
    assert [each.none_before for each in calls.functions] == [False]


def test_none_between_tests_is_no_matter_of_any(tmp_path):
    count = counting({1: made(F)})
    count.add_outside(ran(count.functions, (1, 2), (1, RETURNED_NONE)))
    assert [each.none_before for each in calls_of(count, Ownership("/project")).functions] == [False]


def test_what_is_owed_is_not_asked_where_nothing_failed(tmp_path):
    calls = counting_nothing(tmp_path, "passed")
    assert [(each.none_before, each.returns_value) for each in calls.functions] == [
        (True, False),
        (True, False),
    ]
