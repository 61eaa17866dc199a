import pytest
from driven import Project, cart

BOTH_WRONG = {"total": "sum(prices) + 1", "count": "len(prices) - 1"}


@pytest.fixture
def project(tmp_path):
    """A project of two functions, both wrong unless other files are given."""

    def make(turns, files=None):
        return Project(tmp_path, files or cart(**BOTH_WRONG), turns)

    return make
