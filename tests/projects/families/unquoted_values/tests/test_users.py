from accounts.users import USERS, born


def test_users():
    assert len(USERS) == 8


def test_ada():
    assert born("ada") == 1815


def test_alan():
    assert born("Alan") == 1912


def test_grace():
    assert born("grace") == 1906


def test_edsger():
    assert born("EDSGER") == 1930


def test_barbara():
    assert born("Barbara") == 1939


def test_donald():
    assert born("donald") == 1938


def test_tony():
    assert born("Tony") == 1934


def test_niklaus():
    assert born("niklaus") == 1934
