import pytest

from loop_close.readers.runners import read_coverage


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Required test coverage of 90% reached. Total coverage: 95.00%\n",
        "say Coverage failure: total of 81 is less than fail-under=90\n",
        "TOTAL   7   3   57%\n",
    ],
)
def test_nothing_is_found(text):
    assert read_coverage(text, "").failures == ()
