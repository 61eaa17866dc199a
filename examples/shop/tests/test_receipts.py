from shop.receipts import WIDTH, receipt


def test_rows_are_as_wide_as_the_paper(tea_cart):
    assert {len(row) for row in receipt(tea_cart, "US").splitlines()} == {WIDTH}


def test_total_comes_last(tea_cart):
    assert receipt(tea_cart, "US").splitlines()[-1].split() == ["Total", "37.83", "EUR"]
