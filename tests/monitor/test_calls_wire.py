import json

from hypothesis import given
from hypothesis import strategies as st

from loop_close.calls import Called, Calls, Constant, ImportEffect, Swallowed
from loop_close.monitor.count import MAX_FAILED, chosen
from loop_close.monitor.wire import from_wire, merge_calls, to_wire


def built(kind, **fields):
    """A record with these fields drawn and its defaults for the others, which ``st.builds`` would draw as well."""
    return st.fixed_dictionaries(fields).map(lambda values: kind(**values))


CALLED = built(
    Called,
    file=st.sampled_from(["a.py", "b.py"]),
    line=st.integers(1, 3),
    function=st.sampled_from("fg"),
    passed=st.integers(0, 9),
    lines=st.dictionaries(st.integers(1, 9), st.integers(1, 9), max_size=3).map(
        lambda d: dict(sorted(d.items()))
    ),
    in_import=st.booleans(),
    returned_none=st.integers(0, 9),
    returns_value=st.booleans(),
    none_before=st.booleans(),
)


@st.composite
def calls(draw, tests="abc"):
    functions = draw(
        st.lists(CALLED, min_size=1, max_size=5, unique_by=lambda c: (c.file, c.line, c.function))
    )
    functions.sort(key=lambda c: (c.file, c.line, c.function))
    hit = st.tuples(st.integers(0, len(functions) - 1), st.integers(1, 2**32 - 1))
    ran = st.lists(hit, max_size=5, unique=True).map(tuple)
    failed = draw(st.dictionaries(st.sampled_from(tests), ran))
    gave = st.frozensets(st.integers(0, len(functions) - 1), min_size=1)
    returned_none = draw(st.dictionaries(st.sampled_from(sorted(failed)), gave)) if failed else {}
    import_effects = draw(_makings(len(functions))) if failed else ()
    places = (
        st.frozensets(st.integers(0, len(import_effects) - 1)) if import_effects else st.just(frozenset())
    )
    return Calls(
        passed=draw(st.integers(0, 9)),
        functions=tuple(
            each._replace(**draw(_told(places))) if import_effects else each for each in functions
        ),
        import_effects=import_effects,
        uses={nodeid: draw(places) for nodeid in sorted(failed)} if import_effects else {},
        failed=dict(sorted(failed.items())),
        omitted=draw(st.integers(0, 9)),
        returned_none=dict(sorted(returned_none.items())),
        swallowed=draw(_swallowed(sorted(failed))),
        cut=draw(st.integers(0, 9)),
    )


def _swallowed(tests):
    """Each raised by some of the failing tests, sorted by place."""
    if not tests:
        return st.just(())
    each = built(
        Swallowed,
        file=st.sampled_from(["a.py", "b.py"]),
        line=st.integers(1, 3),
        function=st.sampled_from("fg"),
        type=st.sampled_from(["KeyError", "ValueError"]),
        message=st.just("m"),
        caught=st.just("a.py:1"),
        failed=st.frozensets(st.sampled_from(tests), min_size=1),
        passed=st.integers(0, 9),
    )
    by_place = {"unique_by": _swallowed_place, "max_size": 4}
    return st.lists(each, **by_place).map(lambda found: tuple(sorted(found, key=_swallowed_place)))


def _swallowed_place(each):
    return each.file, each.line, each.function, each.type


def _told(places):
    at_import = st.frozensets(st.integers(1, 9), max_size=3).map(sorted).map(tuple)
    return st.fixed_dictionaries({"uses": places, "at_import": at_import, "named": st.integers(0, 9)})


def _makings(functions):
    """Sorted by place, no two at one."""
    ran = st.frozensets(st.integers(0, functions - 1), max_size=3)
    spots = st.lists(
        st.tuples(st.sampled_from(["a.py", "b.py"]), st.integers(1, 2), st.integers(0, 1)),
        unique=True,
        max_size=4,
    )

    def made(spots):
        needs = st.frozensets(st.integers(0, max(0, len(spots) - 1)), max_size=2)
        each = (
            built(
                ImportEffect,
                file=st.just(file),
                line=st.just(line),
                column=st.just(column),
                ran=ran,
                needs=needs,
            )
            for file, line, column in sorted(spots)
        )
        return st.tuples(*each)

    return spots.flatmap(made)


@given(calls())
def test_there_and_back(found):
    assert from_wire(to_wire(found)) == found
    assert list(from_wire(to_wire(found)).failed) == list(found.failed)


@given(calls())
def test_plain_enough_to_send(found):
    sent = to_wire(found)
    assert json.loads(json.dumps(sent))["failed"] == sent["failed"]


@given(calls())
def test_one_part_is_the_sum(found):
    assert merge_calls([found]) == found


@given(st.tuples(calls("ab"), calls("cd"), calls("ef")))
def test_order_of_parts_does_not_matter(parts):
    one, two, three = parts
    total = merge_calls([one, two, three])
    assert total == merge_calls([three, one, two]) == merge_calls([merge_calls([one, two]), three])
    assert total.passed == sum(part.passed for part in parts)
    places = [(each.file, each.line, each.function) for each in total.functions]
    assert places == sorted(set(places))
    for part in parts:
        for nodeid, ran in part.failed.items():
            names = [(part.functions[index].function, line) for index, line in ran]
            assert [(total.functions[index].function, line) for index, line in total.failed[nodeid]] == names


def test_no_more_failing_tests_than_one_process_keeps():
    function = Called(file="a.py", line=1, function="f")
    parts = [
        Calls(functions=(function,), failed={f"{name}{n:03}": ((0, 1),) for n in range(200)}, omitted=1)
        for name in "ba"
    ]
    total = merge_calls(parts)
    assert list(total.failed) == chosen(f"{name}{n:03}" for name in "ab" for n in range(200))
    assert (len(total.failed), total.omitted) == (MAX_FAILED, 102)
    assert total == merge_calls(parts[::-1])


def test_functions_of_tests_that_are_not_kept_are_left_out():
    functions = [Called(file="a.py", line=n, function=f"f{n}") for n in range(MAX_FAILED + 9)]
    functions[0] = functions[0]._replace(in_import=True)
    functions[1] = functions[1]._replace(passed=1)
    failed = {f"t{n}": ((n, n),) for n in range(2, MAX_FAILED + 9)}
    total = merge_calls([Calls(functions=tuple(functions), failed=failed)])
    kept = {int(name[1:]) for name in chosen(failed)}
    assert [each.line for each in total.functions] == sorted({0, 1} | kept)
    assert {name: total.functions[index].function for name, ((index, _),) in total.failed.items()} == {
        f"t{n}": f"f{n}" for n in kept
    }


def test_what_gave_none_to_tests_that_are_kept_stays():
    functions = [Called(file="a.py", line=n, function=f"f{n}") for n in range(MAX_FAILED + 9)]
    names = [f"t{n}" for n in range(MAX_FAILED + 9)]
    gave = {name: frozenset({n}) for n, name in enumerate(names)}
    part = Calls(functions=tuple(functions), failed=dict.fromkeys(names, ()), returned_none=gave)
    total = merge_calls([part])
    assert {
        name: {total.functions[n].function for n in each} for name, each in total.returned_none.items()
    } == {name: {f"f{name[1:]}"} for name in chosen(names)}


def test_tests_share_the_lines():
    function = Called(file="a.py", line=1, function="f")
    ran = tuple((0, line) for line in range(1, 100))
    sent = to_wire(Calls(functions=(function,), failed={"a": ran, "b": ran}))
    read = from_wire(sent)
    total = merge_calls([read, from_wire(sent)])
    for each in (read, total):
        assert all(one is two for one, two in zip(each.failed["a"], each.failed["b"], strict=True))


def test_nothing_at_all():
    assert merge_calls([]) == Calls()


def test_swallowed_in_several_processes():
    def part(passed, message, **failed):
        each = Swallowed(
            file="a.py",
            line=1,
            function="f",
            type="KeyError",
            message=message,
            caught=message,
            failed=frozenset(failed),
            passed=passed,
        )
        return Calls(failed=failed, swallowed=(each,))

    parts = [part(3, ""), part(1, "of b", b=()), part(0, "of a", a=())]
    for order in (parts, parts[::-1]):
        (found,) = merge_calls(order).swallowed
        assert (found.failed, found.passed, found.message, found.caught) == ({"a", "b"}, 4, "of a", "of a")
    assert merge_calls(parts[:1]).swallowed == ()


def test_constants_of_several_runs():
    one, other = (Constant("a.py", line, line, "", "X", loads=(("a.py", 9),)) for line in (1, 2))
    parts = [Calls(constants=(other,)), Calls(constants=(one, other))]
    assert merge_calls(parts).constants == merge_calls(parts[::-1]).constants == (one, other)


def test_functions_like_the_tests_of_several_runs():
    a, b = (Called(file="a.py", line=line, function=name) for line, name in ((1, "a"), (4, "b")))
    one = Calls(functions=(b,), failed={"a.py::b": ((0, 4),)}, like_tests={"a.py::b": ((0, 2.5),)})
    other = Calls(
        functions=(a, b), failed={"a.py::a": ((0, 1),)}, like_tests={"a.py::a": ((0, 1.5), (1, 1.0))}
    )
    for parts in ([one, other], [other, one]):
        merged = merge_calls(parts)
        assert [each.function for each in merged.functions] == ["a", "b"]
        assert merged.like_tests == {"a.py::a": ((0, 1.5), (1, 1.0)), "a.py::b": ((1, 2.5),)}
