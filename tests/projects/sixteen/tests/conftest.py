import pytest
from depot.database import connect
from depot.journal import Journal


@pytest.fixture
def database():
    database = connect()
    database.insert("shelves", "A1", {"size": 10})
    return database


@pytest.fixture
def journal():
    journal = Journal()
    yield journal
    journal.close()
