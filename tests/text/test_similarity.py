import pytest

from loop_close.text.normalize import similar


# 20 and 20 characters with n of them alike give exactly n / 20.
@pytest.mark.parametrize("n", range(1, 21))
def test_threshold_itself_is_similar(n):
    assert similar("a" * 20, "a" * n + "b" * (20 - n)) is (n >= 18)
