"""Where parcels lie."""


class Shelf:
    def __init__(self, size):
        self.size = size
        self.parcels = []

    def free(self):
        """How many more parcels fit."""
        return self.size - len(self.parcels) - 1

    def put(self, parcel):
        self.parcels.append(parcel)
