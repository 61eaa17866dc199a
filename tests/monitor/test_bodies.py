import pytest
from called import ran

from loop_close.monitor.bodies import Bodies
from loop_close.monitor.ran import NOTHING, Function, Ran

FUNCTIONS = {n: Function(compile("def f():\n    pass", "a.py", "exec").co_consts[0]) for n in (7, 8)}


@pytest.fixture
def bodies():
    return Bodies(FUNCTIONS)


def test_what_ran_to_collect_a_module_and_its_classes(bodies):
    bodies.add("tests/test_a.py", ran(FUNCTIONS, (7, 2), (8, 1)))
    bodies.add("tests/test_a.py::TestIt", ran(FUNCTIONS, (8, 1), (8, 3)))
    assert bodies.of_tests(["tests/test_a.py::test_x[a::b]", "tests/test_b.py::test_y"]) == {
        "tests/test_a.py": [(7, 2), (8, 1), (8, 3)]
    }


def test_passing_tests_of_modules(bodies):
    bodies.add("tests/test_a.py", ran(FUNCTIONS, (7, 2), (8, 1)))
    bodies.add("tests/test_b.py", ran(FUNCTIONS, (7, 2), (7, 4)))
    bodies.add("tests/test_c.py", ran(FUNCTIONS, (8, 9)))
    for nodeid in (
        "tests/test_a.py::TestIt::test_x[::]",
        "tests/test_a.py::test_y",
        "tests/test_b.py::test_z",
    ):
        bodies.passed(nodeid)
    bodies.passed("tests/test_d.py::test_x")
    assert bodies.by_function() == {7: {0: 3, 2: 3, 4: 1}, 8: {0: 2, 1: 2}}


def test_that_none_came_out_is_no_line(bodies):
    bodies.add("test_a.py", ran(FUNCTIONS, (7, 2), (7, NOTHING)))
    bodies.passed("test_a.py::test_x")
    assert bodies.of_tests(["test_a.py::test_x"]) == {"test_a.py": [(7, 2)]}
    assert bodies.by_function() == {7: {0: 1, 2: 1}}


def test_module_that_ran_nothing(bodies):
    bodies.add("test_a.py", Ran())
    assert not bodies.are_any
    assert bodies.of_tests(["test_a.py::test_x"]) == {}
