import pytest
from vault.keys import KEYS, unlock


@pytest.fixture
def front_key():
    return unlock("Front")


@pytest.fixture
def spare_key():
    yield "spare"
    unlock("Back")


def test_front(front_key):
    assert front_key == "f-1"


def test_front_is_text(front_key):
    assert isinstance(front_key, str)


def test_back():
    assert unlock("BACK") == "b-1"


def test_spare(spare_key):
    assert spare_key not in KEYS


def test_lower():
    assert unlock("back") == "b-1"
