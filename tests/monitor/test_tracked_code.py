import ast
import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.monitor import executions
from loop_close.monitor.codes import Ownership
from loop_close.monitor.executions import RETURNED_NONE, TrackedCode, too_many_functions

F = "def f(a):\n    return [g(lambda: x) for x in a]\n"


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(executions, "_FIRST_RELEASE", 8)
    return TrackedCode(Ownership("/project"))


def made(source=F, file="/project/a.py"):
    return compile(source, file, "exec")


def add(known, code):
    return [inner.co_qualname for inner, _ in known.add(code)]


def test_same_place_is_one_function(known):
    codes = [made(), made(), made("\n" + F), made(file="/project/b.py"), made(F.replace("f(", "g("))]
    names = [add(known, code) for code in codes]
    assert all(names)
    assert [each.code.co_qualname for each in known.functions.values()] == ["f", "f", "f", "g"]
    assert add(known, codes[0]) == []
    assert {known.numbers[number] for number in known.codes} == set(known.functions)


@pytest.mark.large
def test_what_nobody_holds_is_released(known):
    add(known, made())
    kept = made()
    add(known, kept)
    seen = []
    while not known.is_due:
        code = made()
        seen.append(weakref.ref(code))
        add(known, code)
        del code
    gc.collect()
    before = len(known.codes)
    known.release()
    gc.collect()
    assert [ref() for ref in seen] == [None] * len(seen)
    assert len(known.codes) < before
    assert add(known, kept) == []
    assert known.numbers.keys() == known.codes.keys()
    assert all(known.numbers[id(each.code)] == number for number, each in known.functions.items())
    assert not known.is_due


def test_what_ran_is_told_by_functions(known):
    first, second, unknown = made(), made(), made()
    for code in (first, second):
        add(known, code)
    codes = [*known.codes.values()]
    hits = [(code, line) for line in (2, 3, 2) for code in (*codes, *codes, *unknown.co_consts)]
    [(number, function)] = known.functions.items()
    masks, ids = known.masks(hits)
    assert masks == {number: function.bit(2) | function.bit(3)}
    assert ids >= known.codes.keys()
    assert known.masks([]) == ({}, set())
    marked = [*hits, (codes[0], RETURNED_NONE)]
    lines, nothing = known.in_order(marked), known.returned_none(marked)
    assert [*lines] == [(number, 2), (number, 3)]
    assert nothing == {number}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 300_000))))
def test_masks_are_the_lines(ran):
    known = TrackedCode(Ownership("/project"))
    for name in "fgh":
        add(known, made(F.replace("f(", f"{name}(")))
    codes = [each.code for each in known.functions.values()] + [made()]
    hits = [(codes[place], line) for place, line in ran]
    masks, _ = known.masks(hits)
    lines = known.in_order(hits)
    assert [*lines] == [*dict.fromkeys((place, line) for place, line in ran if place < 3)]
    of_masks = {
        (number, line) for number, mask in masks.items() for line in known.functions[number].lines(mask)
    }
    assert of_masks == lines.keys()


def test_lines_far_down_a_file_take_no_room(known):
    [far] = [code for code in made("\n" * 300_000 + F).co_consts if hasattr(code, "co_code")]
    assert add(known, far)[0] == "f"
    assert known.masks([(far, 300_002)])[0] == {0: 2}


def at(line, body):
    """The function with its body on another line, as where a template engine gives the lines of the template."""
    tree = ast.parse(F)
    ast.increment_lineno(tree.body[0].body[0], body - 2)
    tree.body[0].lineno = tree.body[0].end_lineno = line
    [code] = [code for code in made(tree).co_consts if hasattr(code, "co_code")]
    return code


def lines_in(known, masks):
    return [{*known.functions[number].lines(mask)} for number, mask in masks.items()]


def test_lines_before_the_first_one(known):
    odd = at(300, 2)
    add(known, odd)
    masks, _ = known.masks([(odd, 2), (odd, 300), (odd, RETURNED_NONE), (odd, 2)])
    assert lines_in(known, masks) == [{300, 2, RETURNED_NONE}]


def test_odd_lines_of_what_is_released(known):
    plain, odd = at(300, 301), at(300, 2)
    add(known, plain)
    add(known, odd)
    assert len(known.functions) == 1
    known.masks([(plain, 301)])
    hits = known.by_first_codes([(plain, 301), (odd, 2)])
    assert {code for code, _ in hits} == {plain}
    masks, _ = known.masks([*hits, (plain, 301)])
    assert lines_in(known, masks) == [{301, 2}]


@pytest.mark.large
def test_what_ran_does_not_hold_what_is_released(known):
    first = made()
    add(known, first)
    again = made()
    add(known, again)
    hits = [(code, 2) for code in again.co_consts if hasattr(code, "co_code")]
    seen = weakref.ref(hits[0][0])
    hits = known.by_first_codes(hits)
    del again
    known.release()
    gc.collect()
    assert seen() is None
    [number] = [n for n, each in known.functions.items() if each.code.co_name == "f"]
    assert known.masks(hits)[0] == {number: 2}


def test_limit_is_told(known, monkeypatch):
    monkeypatch.setattr(executions, "MAX_FUNCTIONS", 2)
    for name in "fgh":
        add(known, made(F.replace("f(", f"{name}(")))
    assert [each.code.co_name for each in known.functions.values()] == ["f", "g"]
    assert known.is_full
    assert add(known, made())  # more of the same changes nothing
    assert too_many_functions() == "only the first 2 functions that ran were tracked"
