"""After a green run: which edited functions no test ran. After a red one: what differs since the last green one."""

import pytest
from calls_harness import needs_monitoring

PROJECT = {
    "pytest.ini": "",
    "shop.py": """
        def total(items):
            return sum(items)


        class Cart:
            def mean(self, items):
                return sum(items) / len(items)


        def rest():
            return 1
        """,
    "test_shop.py": """
        import pytest
        import shop


        def test_total():
            assert shop.total([1, 2]) == 3


        @pytest.mark.xfail(strict=True)
        def test_mean():
            assert shop.Cart().mean([]) == 0
        """,
}
MORE = ("return 1", "return 2")


def not_run(done):
    edited = done.report["edited"]
    return edited and len(edited), [function for _, function, is_run in edited or () if not is_run]


@needs_monitoring
def test_edited_functions_that_no_test_ran(loop):
    ours = {"own_process": True}
    assert not_run(loop(**ours)) == (None, [])
    done = loop(shop=(*MORE, "return sum(items)\n", "return sum(items) + 0\n"), **ours)
    assert not_run(done) == (2, ["rest"])
    assert done.says("No test was seen to run 1 of 2 edited functions: `rest` (`shop.py`).")
    assert not_run(loop(**ours)) == ([], [])  # nothing was edited since
    assert not_run(loop(shop=("sum(items) + 0", "sum(items)"), **ours)) == (1, [])


@needs_monitoring
@pytest.mark.parametrize(
    "words", [("-k", "total"), ("test_shop.py",), ("--loop-close-suspects=off",)], ids=["some", "file", "off"]
)
def test_where_it_is_not_known(loop, words):
    loop(own_process=True)
    done = loop(*words, own_process=True, shop=MORE)
    assert not_run(done) == (None, [])
    assert "not run by any test" not in done.prompt
