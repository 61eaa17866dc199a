from unittest import mock

from called import called
from hypothesis import given
from hypothesis import strategies as st

from loop_close.calls import Calls, Constant
from loop_close.trace.code import Ownership
from loop_close.trace.counts import Counts, decode, encode, kept_of, merge_calls

F = "def f(a):\n    return a + 1\n"
OWNERSHIP = Ownership("/project")


def codes(*names):
    """Code objects of functions, by number."""
    found = {}
    for number, name in enumerate(names):
        space = {}
        exec(compile(F.replace("f(", f"{name}("), "/project/a.py", "exec"), space)
        found[number] = space[name].__code__
    return found


def masks(lines):
    """The masks of pairs of a function and a line."""
    found = {}
    for number, line in lines:
        found[number] = found.get(number, 0) | 1 << line - 1
    return found


def test_record():
    counts = Counts(codes("h", "g", "f"))
    counts.add("t::p", masks({(1, 2), (2, 2)}), "passed")
    counts.add("t::q", masks({(1, 2)}), "passed")
    counts.add("t::z", masks({(2, 2), (1, 2)}), "failed")
    counts.add("t::a", masks({(1, 2)}), "failed")
    counts.add("t::s", masks({(0, 2)}), "skipped")
    counts.outside |= {2, 1}
    calls = counts.calls(OWNERSHIP, ["b.py"])
    assert [(each.function, each.passed, each.lines, each.in_import) for each in calls.functions] == [
        ("f", 1, {2: 1}, True),
        ("g", 2, {2: 2}, True),
        ("h", 0, {}, True),
    ]
    assert [(each.file, each.line, each.end_line) for each in calls.functions] == [("a.py", 1, 2)] * 3
    assert list(calls.failed.items()) == [("t::a", ((1, 2),)), ("t::z", ((0, 2), (1, 2)))]
    assert (calls.passed, calls.omitted) == (2, 0)
    assert calls.modules == {"a.py", "b.py"}


def test_guards_are_the_passing_tests_that_ran_the_fewest_functions():
    counts = Counts(codes(*"fghi"))
    for test, functions in {"d": "0123", "c": "01", "b": "01", "a": "012", "e": "0", "x": "3"}.items():
        ran = masks((int(number), 2) for number in functions)
        counts.add(test, ran, "failed" if test == "x" else "passed")
    calls = counts.calls(OWNERSHIP)
    assert [each.guards for each in calls.functions] == [("e", "b", "c"), ("b", "c", "a"), ("a", "d"), ("d",)]
    assert calls.guards == {"a": 3, "b": 2, "c": 2, "d": 4, "e": 1}


@given(st.randoms(use_true_random=False), st.integers(1, 9))
def test_which_failing_tests_are_kept_does_not_depend_on_order(random, most):
    names = {f"test_a.py::test[{n}]": f"f{n}" for n in range(24)}
    functions = codes(*names.values())
    tests = list(enumerate(names))
    random.shuffle(tests)
    with mock.patch("loop_close.trace.counts.MOST_FAILED", most):
        expected = kept_of(names)
        counts = Counts(functions)
        for number, test in (*tests, tests[0]):  # the last one again
            counts.add(test, masks([(number, 2)]), "failed")
        calls = counts.calls(OWNERSHIP)
    assert (list(calls.failed), calls.omitted) == (expected, 24 - most)
    assert {each.function for each in calls.functions} == {names[test] for test in expected}
    for test, ((index, _),) in calls.failed.items():
        assert calls.functions[index].function == names[test]


# --- what several processes counted


@st.composite
def runs(draw):
    """What tests ran, by name, with their outcomes."""
    names = draw(st.lists(st.sampled_from("abcdefgh"), unique=True))
    lines = st.sets(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=6)
    outcomes = st.sampled_from(["passed", "passed", "failed", "skipped"])
    return [(name, draw(lines), draw(outcomes)) for name in names]


def counted(given_tests):
    counts = Counts(codes(*"kgfh"))
    for name, ran, outcome in given_tests:
        counts.add(name, masks(ran), outcome)
    return counts.calls(OWNERSHIP)


@given(
    runs(), st.lists(st.integers(0, 2), min_size=8, max_size=8), st.permutations([0, 1, 2]), st.integers(1, 3)
)
def test_processes_add_up_to_what_one_counts(given_tests, workers, order, most):
    with (
        mock.patch("loop_close.trace.counts.MOST_FAILED", most),
        mock.patch("loop_close.trace.counts._MOST_MASKS", most),
    ):
        parts = [[], [], []]
        for each, worker in zip(given_tests, workers, strict=False):
            parts[worker].append(each)
        sent = [encode(counted(part)) for part in parts]
        total = merge_calls(decode(sent[n]) for n in order)
        assert encode(total) == encode(counted(given_tests))
        assert merge_calls([total]) == total


def test_constants_of_several_runs():
    one, other = (Constant("a.py", line, line, "", "X", loads=(("a.py", 9),)) for line in (1, 2))
    parts = [Calls(constants=(other,)), Calls(functions=(called(),), constants=(one, other))]
    assert merge_calls(parts).constants == merge_calls(parts[::-1]).constants == (one, other)
    assert decode(encode(parts[1])) == parts[1]
