from called import hits

from loop_close.monitor.count import Count
from loop_close.monitor.functions import calls_of
from loop_close.monitor.hits import NOTHING
from loop_close.monitor.nothing import nothing_in
from loop_close.monitor.ownership import Ownership

SOURCE = "def f(): 1 + 1\n\n\ndef g(n): return n\n"


def functions(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(SOURCE, encoding="utf-8")
    space = {}
    exec(compile(SOURCE, str(path), "exec", dont_inherit=True), space)
    return {1: space["f"].__code__, 2: space["g"].__code__}


def counted():
    count = Count()
    count.add("t::p", hits((1, 1), (1, NOTHING)), "passed")
    count.add("t::q", hits((1, 1), (2, 4)), "passed")
    count.add("t::a", hits((2, 4), (2, NOTHING), (1, 1), (1, NOTHING)), "failed")
    count.add("t::b", hits((1, 1)), "failed")
    return count


def test_taken_out_of_the_lines(tmp_path):
    calls = calls_of(counted(), functions(tmp_path), Ownership(str(tmp_path)))
    assert [(each.function, each.lines) for each in calls.functions] == [("f", {1: 2}), ("g", {4: 1})]
    assert calls.failed == {"t::a": ((1, 4), (0, 1)), "t::b": ((0, 1),)}
    assert calls.gave_none == {"t::a": {0, 1}}
    assert [(each.gave_none, each.owes) for each in calls.functions] == [(1, True), (0, False)]


def test_nothing_given_nothing_found(tmp_path):
    count = Count()
    count.add("t::a", hits((1, 1)), "failed")
    found = nothing_in(count, functions(tmp_path))
    assert (found.failed, found.owing, found.marks) == ({}, frozenset(), {})
    assert found.without(count.failed) is count.failed
