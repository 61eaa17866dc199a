"""Users by login name."""

USERS = {"Ada": 1815, "Alan": 1912, "Grace": 1906, "Edsger": 1930, "Barbara": 1939}
USERS |= {"Donald": 1938, "Tony": 1934, "Niklaus": 1934}


def born(name):
    """The year a user was born in, whatever the case of the name."""
    year = USERS.get(name.lower())
    if year is None:
        raise LookupError(f"no user {name}")
    return year
