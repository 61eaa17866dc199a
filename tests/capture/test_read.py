import pytest

from loop_close.capture.exceptions import unwrapped


class CollectError(Exception):
    pass


class ConftestImportFailure(Exception):  # noqa: N818
    def __init__(self, cause):
        self.cause = cause


class ImportPathMismatchError(ImportError):
    pass


def caused(cause):
    exc = CollectError("words")
    exc.__cause__ = cause
    return exc


class Order(Exception):  # noqa: N818
    cause = ValueError("of the project's own")


@pytest.mark.parametrize(
    "exc",
    [
        ValueError("x"),
        Order(),
        CollectError("x"),
        ConftestImportFailure("x"),
        ConftestImportFailure(None),
        caused(ImportPathMismatchError()),
        caused(type("Skipped", (BaseException,), {})()),
    ],
)
def test_left_as_it_is(exc):
    assert unwrapped(exc) is exc


@pytest.mark.parametrize("wrap", [caused, ConftestImportFailure])
def test_wrapper_of_pytest(wrap):
    inner = ImportError("x")
    assert unwrapped(wrap(inner)) is inner
