import sys
from pathlib import Path

import pytest

# The benchmarks make large histories; a plain ``pytest`` does not have the folder it is started in.
sys.path.append(str(Path(__file__).parent.parent.parent))


@pytest.fixture
def path(tmp_path):
    (tmp_path / ".loop-close").mkdir()
    return tmp_path / ".loop-close" / "history.sqlite3"
