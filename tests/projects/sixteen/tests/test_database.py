import pytest
from depot.database import SCHEMA_VERSION, Database


def test_new_database_is_empty():
    assert Database(SCHEMA_VERSION).count("parcels") == 0


def test_version(database):
    assert database.version == SCHEMA_VERSION


def test_shelves(database):
    assert database.count("shelves") == 1


@pytest.mark.parametrize("number", range(1, 16))
def test_parcels(database, number):
    for parcel in range(number):
        database.insert("parcels", parcel, {})
    assert database.count("parcels") == number


class TestTables:
    @pytest.mark.parametrize("table", ["parcels", "shelves"])
    def test_table_exists(self, database, table):
        assert table in database.tables

    def test_same_key_twice(self, database):
        database.insert("parcels", 1, {"grams": 10})
        database.insert("parcels", 1, {"grams": 20})
        assert database.count("parcels") == 1

    def test_unknown_table(self, database):
        with pytest.raises(KeyError):
            database.insert("drivers", 1, {})


@pytest.fixture
def full_shelf(database):
    for number in range(10):
        database.insert("parcels", number, {"shelf": "A1"})
    return database


def test_full_shelf(full_shelf):
    assert full_shelf.count("parcels") == 10


def test_full_shelf_and_one_more(full_shelf):
    full_shelf.insert("parcels", 11, {})
    assert full_shelf.count("parcels") == 11


def test_full_shelf_keeps_shelves(full_shelf):
    assert full_shelf.count("shelves") == 1


def test_full_shelf_rows(full_shelf):
    assert full_shelf.tables["parcels"][3] == {"shelf": "A1"}
