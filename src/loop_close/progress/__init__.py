"""A run against the runs before it: what moved, what did not, whether to go on. Pure functions of records."""
