from loop_close.calls import Body
from loop_close.monitor.bodies import Bodies
from loop_close.monitor.ran import Ran


def ran(*lines):
    return Ran({number: 1 for number, _ in lines}, dict.fromkeys(lines))


def test_what_ran_to_collect_a_module_and_its_classes():
    bodies = Bodies()
    bodies.add("tests/test_a.py", ran((7, 2), (8, 1)))
    bodies.add("tests/test_a.py::TestIt", ran((8, 1), (8, 3)))
    bodies.add("tests/test_b.py", Ran())
    for nodeid in (
        "tests/test_a.py::TestIt::test_x[a::b]",
        "tests/test_a.py::test_y",
        "tests/test_b.py::test_z",
    ):
        bodies.passed(nodeid)
    assert bodies.counted({7: 1, 8: 0}) == {"tests/test_a.py": Body(lines=((1, 2), (0, 1), (0, 3)), passed=2)}


def test_functions_that_are_not_in_the_record():
    bodies = Bodies()
    bodies.add("test_a.py", ran((7, 2), (8, 1)))
    assert bodies.counted({8: 0}) == {"test_a.py": Body(lines=((0, 1),), passed=0)}
