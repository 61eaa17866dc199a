import unittest

from depot.shelves import Shelf


class ShelfTest(unittest.TestCase):
    def setUp(self):
        self.shelf = Shelf(3)

    def test_empty(self):
        self.assertEqual(self.shelf.parcels, [])

    def test_free(self):
        self.shelf.put("P-1")
        self.assertEqual(self.shelf.free(), 2)

    def test_full(self):
        for parcel in ("P-1", "P-2", "P-3"):
            self.shelf.put(parcel)
        self.assertEqual(self.shelf.free(), 0)
