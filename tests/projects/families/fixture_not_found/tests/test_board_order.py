class TestOrder:
    def test_last(self, pinned_board):
        pinned_board.pin("last")
        assert pinned_board.notes[-1] == "last"

    def test_first(self, pinned_board, empty_board):
        assert pinned_board.notes[0] not in empty_board.notes
