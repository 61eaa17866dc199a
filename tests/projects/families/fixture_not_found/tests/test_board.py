def test_empty(empty_board):
    assert empty_board.notes == []


def test_pinned(pinned_board):
    assert pinned_board.notes == ["hello"]


def test_pin_more(pinned_board):
    pinned_board.pin("again")
    assert len(pinned_board.notes) == 2


def test_pin_same(pinned_board):
    pinned_board.pin("hello")
    assert pinned_board.notes.count("hello") == 2
