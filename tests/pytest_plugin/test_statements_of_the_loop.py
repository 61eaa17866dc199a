"""What the prompt states of the loop as a whole is true of the runs that it is about."""

import textwrap

import pytest
from test_memory import loop, progress, signals  # noqa: F401

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


PATCHED = """
    import pytest
    import shop


    @pytest.fixture(autouse=True)
    def patched(monkeypatch):
        monkeypatch.setattr(shop, "total", lambda x: 2)
    """


@pytest.mark.parametrize(
    "edit",
    [
        ("== 2", "== 2 or True"),
        ("== 2", "== 0"),
        ("total(1) == 2", "total(3) == 2"),  # it cannot be decided whether it demands less
        None,  # a new conftest has a replacement of what is tested
    ],
)
def test_a_test_that_passes_as_it_was_changed_is_not_fixed(run, loop, pytester, edit):  # noqa: F811
    run(PROJECT, remembers=True)
    path = pytester.path / "conftest.py"
    if edit is None:
        path.write_text(textwrap.dedent(PATCHED))
    done = loop(**({"test_shop": edit} if edit else {}))
    assert (done.report["verdict"], progress(done)) == ("no-progress", {"not_fixed": 1, "unresolved": 1})
    assert "run 2 of this loop: no progress" in done.summary[0]
    assert done.says("Run 2 of this loop: 1 unresolved, 1 stopped failing without a fix. No progress.")
    assert done.says("## Tests that were changed")
    path.unlink(missing_ok=True)
    done = loop(**({"test_shop": edit[::-1]} if edit else {}))
    assert progress(done) == {"unresolved": 2}  # it had not passed, and is not broken
    assert "failing again" not in done.prompt


def test_a_test_that_is_restored_with_the_fix_is_fixed(run, loop):  # noqa: F811
    run(PROJECT, remembers=True)
    weaker = ("== 2", "== 2 or True")
    loop(test_shop=weaker)
    done = loop(shop=("x - 1", "x + 1 if x == 2 else 5"))
    assert done.title == "# Tests were changed, and pass: 2 passed"
    assert done.says("1 test that had failed passes after 3 runs: `test_shop.py::test_other`.")
    done = loop(test_shop=weaker[::-1], shop=("else 5", "else 2"))
    assert (done.report["verdict"], progress(done)) == ("green", {"fixed": 1})
    assert done.says("2 tests that had failed pass after 4 runs")
