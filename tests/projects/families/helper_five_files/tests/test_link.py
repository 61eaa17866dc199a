import pytest
from courier.link import HOSTS, open_link


@pytest.fixture
def link():
    return open_link("eu")


def test_link(link):
    assert link == HOSTS["eu"]


def test_direct():
    assert open_link("us") == HOSTS["us"]
