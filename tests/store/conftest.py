import pytest

from loop_close.store import Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".loop-close" / "history.sqlite3"


@pytest.fixture
def store(path):
    with Store(path) as opened:
        yield opened
