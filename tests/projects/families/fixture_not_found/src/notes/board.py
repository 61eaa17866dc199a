class Board:
    """Notes in the order they were pinned."""

    def __init__(self):
        self.notes = []

    def pin(self, text):
        self.notes.append(text)
