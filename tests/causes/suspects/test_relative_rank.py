import pytest
from called import called, calls, nodeid

from loop_close.causes.candidates import candidates, with_relative_rank
from loop_close.causes.spectrum import spectra

TAX = "src/shop/tax.py"


def standing(*functions, **failed):
    """The two clues of each function."""
    made = calls(*functions, passed=15, **failed)
    found = with_relative_rank(candidates(spectra(made, [*map(nodeid, failed)]), {}, []))
    return {c.function: (c.features["contrast_rank"], round(c.features["file"], 2)) for c in found}


def test_the_few_that_stand_out_stand_in_one_file():
    functions = (
        called("rate", 10, file=TAX, passed=0),
        called("tax", 30, file=TAX, passed=0),
        called("total", 10, passed=4, lines={1: 4}),
        called("main", 30, passed=15, lines={1: 15}),
    )
    found = standing(*functions, test_a=[(0, 1), (1, 1), (2, 1), (3, 1)])
    assert {name: place for name, (place, _) in found.items()} == {
        "rate": 1,
        "tax": 1,
        "total": 1 / 2,
        "main": 1 / 3,
    }
    assert found["rate"][1] == found["tax"][1] > 0.95
    assert found["total"][1] == found["main"][1] < 0.05


def test_one_alone_stands_first():
    assert standing(called("total", passed=15, lines={1: 15}), test_a=[(0, 1)]) == {"total": (1, 1)}


@pytest.mark.parametrize("found", [[], candidates([], {}, [])])
def test_where_nothing_was_counted_there_is_none(found):
    assert with_relative_rank(found) == []
