import pytest

from loop_close.readers.runners import read_tox


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  py311: FAIL code 1 (0.1 seconds)\n", "py311: failed"),
        ("py311: exit 1 (0.1 seconds) /srv> pytest pid=3\n", "py311: exit 1: pytest"),
        ("  evaluation failed :( (0.2 seconds)\n", "an environment failed"),
        (
            "py33: skipped because could not find python interpreter with spec(s): py33\n"
            "  py33: SKIP (0.15 seconds)\n  evaluation failed :( (0.19 seconds)\n",
            "py33: skipped because could not find python interpreter with spec(s): py33",
        ),
    ],
)
def test_what_is_left_of_a_run_or_was_skipped(text, message):
    reading = read_tox(text, "")
    assert [failure.message for failure in reading.failures] == [message]
