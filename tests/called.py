"""What tests ran, for tests: short to write."""

from loop_close.calls import Called, Calls

CART = "src/shop/cart.py"


def called(function="total", line=10, passed=0, lines=None, file=CART, **fields):
    """A function of ten lines; ``lines`` gives the passing tests of each by its distance from the first line."""
    lines = {line + offset: number for offset, number in (lines or {}).items()}
    fields.setdefault("end_line", line + 9)
    return Called(file=file, line=line, function=function, passed=passed, lines=lines, **fields)


def calls(*functions, passed=0, **failed):
    """Calls of failing tests by name: pairs of (position of the function, distance of the line from its first)."""
    found = {
        f"tests/test_cart.py::{name}": tuple((index, functions[index].line + offset) for index, offset in ran)
        for name, ran in failed.items()
    }
    return Calls(passed=passed, functions=functions, failed=found)


def nodeid(name):
    return f"tests/test_cart.py::{name}"
