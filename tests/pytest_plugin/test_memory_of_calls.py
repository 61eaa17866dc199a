"""One failing test run alone is compared with the passing ones of the last fuller run."""

from calls_harness import needs_monitoring

PROJECT = {
    "pytest.ini": "",
    "shop.py": """
        def price(item):
            return item["price"] * item["count"]


        def discount(total):
            if total > 100:
                return total * 0.9
            return total


        def total(items):
            return discount(sum(price(item) for item in items))
        """,
    "test_shop.py": """
        import pytest
        import shop


        @pytest.mark.parametrize("count", [1, 2, 3, 4])
        def test_price(count):
            assert shop.price({"price": 5, "count": count}) == 5 * count


        @pytest.mark.parametrize("total", [1, 50])
        def test_discount(total):
            assert shop.discount(total) == total


        def test_little():
            assert shop.total([{"price": 5, "count": 1}]) == 5


        def test_much():
            assert shop.total([{"price": 50, "count": 4}]) == 180
        """,
}
ALONE = "test_shop.py::test_much"


def compared(done):
    """How many failing and passing tests were compared."""
    calls = done.report["calls"]
    return calls["failing"], calls["passing"]


@needs_monitoring
def test_failing_test_alone_is_compared_with_the_last_run_of_all(loop):
    assert loop(own_process=True).ret == 0
    loop("-k", "price", own_process=True)  # which does not take its place
    done = loop(ALONE, own_process=True, test_shop=("== 180", "== 181"))
    assert compared(done) == (1, 7)  # of the 8, it was one itself
    (found,) = (each for each in done.causes[0]["suspects"] if each["function"] == "discount")
    assert "3 of 7 passing" in "".join(found["reasons"])


@needs_monitoring
def test_function_that_was_edited_is_not_compared_with_the_old_counts(loop):
    loop(own_process=True)
    done = loop(ALONE, own_process=True, shop=("total > 100", "total > 1000"))
    assert compared(done) == (1, 7)
    assert ": discount() in shop.py:" in done.title
    assert "run by 1 of 1 failing test; edited before run 2" in done.prompt
