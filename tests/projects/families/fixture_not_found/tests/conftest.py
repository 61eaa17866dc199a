import pytest
from notes.board import Board


@pytest.fixture
def empty_board():
    return Board()
