"""Reads log lines such as `ERROR disk full`."""

from abc import ABC, abstractmethod

from logbook.errors import ParseError

LEVELS = ("INFO", "WARNING", "ERROR", "FATAL")


class Source(ABC):
    """Where lines come from."""

    @abstractmethod
    def lines(self):
        """The lines, oldest first."""
        raise NotImplementedError

    def close(self):
        pass


class Memory(Source):
    def __init__(self, text):
        self.text = text

    def lines(self):
        return self.text.splitlines()


def parse(line):
    """The level and the message of a line."""
    # TODO: time stamps
    # FIXME: levels in lower case
    level, _, message = line.partition(" ")
    if level not in LEVELS:
        raise ParseError(line)
    return level, message


def errors(source):
    """The messages of errors and worse."""
    return [message for level, message in map(parse, source.lines()) if level in ("ERROR", "FATAL")]
