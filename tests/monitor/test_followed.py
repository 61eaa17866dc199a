import gc
import weakref

import pytest

from loop_close.monitor import followed
from loop_close.monitor.followed import Followed, too_many
from loop_close.monitor.hits import CALLED, called, function_of, functions_of, line_of
from loop_close.monitor.ownership import Ownership

F = "def f(a):\n    return [g(lambda: x) for x in a]\n"


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(followed, "_FEW", 8)
    return Followed(Ownership("/project"))


def made(source=F, file="/project/a.py"):
    return compile(source, file, "exec")


def add(known, code):
    return [inner.co_qualname for inner, _ in known.add(code)]


def test_same_place_is_one_function(known):
    codes = [made(), made(), made("\n" + F), made(file="/project/b.py"), made(F.replace("f(", "g("))]
    names = [add(known, code) for code in codes]
    assert all(names)
    assert [code.co_qualname for code in known.functions.values()] == ["f", "f", "f", "g"]
    assert add(known, codes[0]) == []
    assert functions_of(known.called[number] for number in known.codes) == set(known.functions)


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
    first = {id(code): number for number, code in known.functions.items()}
    assert known.called.keys() == known.codes.keys()
    assert all(function_of(known.called[held]) == number for held, number in first.items())
    assert not known.is_due


def test_what_ran_is_told_by_functions(known):
    first, second, unknown = made(), made(), made()
    for code in (first, second):
        add(known, code)
    codes = [*known.codes.values()]
    ran = [(code, line) for line in (2, 3, 2) for code in (*codes, *codes, *unknown.co_consts)]
    found, ids = known.by_functions(ran)
    [hit] = map(called, known.functions)
    assert [*found] == [hit, hit + 2, hit + 3]
    assert ids == known.codes.keys()


def test_functions_far_down_a_file_are_followed(known):
    [far] = [code for code in made("\n" * 300_000 + F).co_consts if hasattr(code, "co_code")]
    assert add(known, far)[0] == "f"
    found, _ = known.by_functions([(far, 300_002)])
    assert [line_of(hit) for hit in found] == [CALLED, 300_002]


def test_what_ran_does_not_hold_what_is_released(known):
    first = made()
    add(known, first)
    again = made()
    add(known, again)
    ran = [(code, 2) for code in again.co_consts if hasattr(code, "co_code")]
    seen = weakref.ref(ran[0][0])
    ran = known.by_first_codes(ran)
    del again
    known.release()
    gc.collect()
    assert seen() is None
    [number] = [n for n, code in known.functions.items() if code.co_name == "f"]
    assert [*known.by_functions(ran)[0]] == [called(number), called(number) + 2]


def test_limit_is_told(known, monkeypatch):
    monkeypatch.setattr(followed, "MAX_FUNCTIONS", 2)
    for name in "fgh":
        add(known, made(F.replace("f(", f"{name}(")))
    assert [code.co_name for code in known.functions.values()] == ["f", "g"]
    assert known.is_full
    assert add(known, made())  # more of the same is no more
    assert too_many() == "only the first 2 functions that ran were looked at"
