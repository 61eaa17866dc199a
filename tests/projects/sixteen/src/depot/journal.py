"""A journal that is closed when the day is over."""


class Journal:
    def __init__(self):
        self.entries = []
        self.open = True

    def write(self, text):
        self.entries.append(text)

    def close(self):
        """Closes the journal; a second call does nothing."""
        if self.entries and self.entries[-1] != "end of day":
            raise RuntimeError(f"journal has {len(self.entries)} entries after the end of day")
        self.open = False
