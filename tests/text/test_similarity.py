import subprocess
import sys

import pytest

from loop_close.text.normalize import similar


# 20 and 20 characters with n of them alike give exactly n / 20.
@pytest.mark.parametrize("n", range(1, 21))
def test_threshold_itself_is_similar(n):
    assert similar("a" * 20, "a" * n + "b" * (20 - n)) is (n >= 18)


def test_rapidfuzz_is_imported_when_first_needed():
    code = "import sys, loop_close.text.normalize as s; s.similar('a', 'a'); sys.exit('rapidfuzz' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
