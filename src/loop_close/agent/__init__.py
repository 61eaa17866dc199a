"""Judging the loop of an agent: its messages, the results of its tools, its limits. Pure functions."""
