"""What the prompt states of the loop as a whole is true of the runs that it is about."""

import pytest
from test_memory import loop, signals  # noqa: F401

PROJECT = {
    "pytest.ini": "",
    "shop.py": """
        def total(x):
            return x - 1
        """,
    "test_shop.py": """
        import shop


        def test_total():
            assert shop.total(1) == 2


        def test_other():
            assert shop.total(2) == 3
        """,
}
ONE = {**PROJECT, "test_shop.py": PROJECT["test_shop.py"].split("\n\n        def test_other")[0]}


def test_a_failure_with_other_values_is_not_called_the_same(run, loop):  # noqa: F811
    run(ONE, remembers=True)
    loop(shop=("x - 1", "x * 3"))
    done = loop(shop=("x * 3", "x * 4"))
    assert signals(done) == ["repeated-failure"]
    assert done.says("Got `0`, `3`, `4`", "still failing in runs 1, 2 and 3, with other values")
    assert "same failure" not in done.prompt
