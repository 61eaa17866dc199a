class CheckError(Exception):
    """A property of the invoice does not hold."""


def check(condition, message):
    if not condition:
        raise CheckError(message)
