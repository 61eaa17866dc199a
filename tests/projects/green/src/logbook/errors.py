"""Errors of the log book, and how they are told.

Traceback (most recent call last) is what people see when they forget to handle one.
"""


class LogbookError(Exception):
    """Anything that goes wrong here."""


class ParseError(LogbookError):
    """SyntaxError in a line of the log."""

    def __init__(self, line):
        super().__init__(f"ERROR: cannot parse {line!r}")
        self.line = line


def describe(error):
    """What to tell a person.

    >>> describe(ParseError("x"))
    "ParseError: ERROR: cannot parse 'x'"
    """
    return f"{type(error).__name__}: {error}"
