import pytest

from loop_close.readers.processes import read_asyncio


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Task exception was never retrieved\n",
        "no Task exception was never retrieved here\nValueError: bad\n",
        "Exception in thread pool\nnothing more\n",
        "Exception ignored in: <x>\nand nothing else\n",
        "a warning says that coroutine 'f' was never awaited\n",
        "Task was destroyed but it is pending!\n",
    ],
)
def test_nothing_is_found(text):
    reading = read_asyncio(text, "")
    assert (reading.failures, reading.warnings) == ((), ())


def test_a_warning_from_elsewhere_has_no_file():
    text = "sys:1: RuntimeWarning: coroutine 'save' was never awaited\n"
    (warned,) = read_asyncio(text, "").warnings
    assert (warned.file, warned.line, warned.message) == ("", 0, "coroutine 'save' was never awaited")
