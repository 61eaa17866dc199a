from called import ran

from loop_close.monitor.executions import RETURNED_NONE, Function
from loop_close.monitor.imports import Imports


def test_what_had_run_before():
    imports = Imports()
    imports.begin(1, 5)
    assert imports.is_open(1)
    assert imports.next_line(1, 4) == (5, 0)
    assert imports.end(1, 9) == (5, 4)
    assert not imports.is_open(1)
    assert imports.end(1, 9) == (9, 0)


def test_those_that_failed_are_forgotten():
    imports = Imports()
    imports.begin(1, 5)
    imports.begin(2, 6)
    imports.keep({2, 3})
    assert [imports.is_open(number) for number in (1, 2, 3)] == [False, True, False]


def test_what_ran_meanwhile():
    functions = {7: Function(compile("1", "a.py", "exec")), 8: Function(compile("2", "b.py", "exec"))}
    imports = Imports()
    imports.add(ran(functions, (7, 1)))
    imports.add(ran(functions, (8, 1), (8, RETURNED_NONE)))
    assert (imports.functions, imports.returned_none) == ({7, 8}, {8})
