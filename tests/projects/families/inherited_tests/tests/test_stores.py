import unittest

from stores import memory


class StoreContract:
    store = memory.Store

    def test_put_and_get(self):
        store = self.store()
        store.put("name", "Jo")
        self.assertEqual(store.get("name"), "Jo")

    def test_last_one_wins(self):
        store = self.store()
        store.put("name", "Jo")
        store.put("name", "Sam")
        self.assertEqual(store.get("name"), "Sam")


class TestStore(StoreContract, unittest.TestCase):
    pass


class TestUpperStore(StoreContract, unittest.TestCase):
    store = memory.UpperStore


class TestPrefixStore(StoreContract, unittest.TestCase):
    store = memory.PrefixStore


class TestHashedStore(StoreContract, unittest.TestCase):
    store = memory.HashedStore
