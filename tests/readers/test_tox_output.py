import pytest

from loop_close.readers.runners import read_tox


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  py311: FAIL code 1 (0.1 seconds)\n",
        "py311: exit 1 (0.1 seconds) /srv> pytest pid=3\n",
        "  congratulations :) (0.2 seconds)\n",
        "note: FAIL means that it failed\n",
    ],
)
def test_nothing_is_found(text):
    assert read_tox(text, "").failures == ()
