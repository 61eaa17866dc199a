import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from output_corpus import PIECES, best_of, check, check_total, samples
from records import any_text

from loop_close.readers.asyncio_output import READER

LINES = [
    "Task exception was never retrieved\n",
    "future: <x>\n",
    "Traceback (most recent call last):\n",
    '  File "a.py", line 3, in f\n',
    "ValueError: x\n",
    "Task was destroyed but it is pending!\n",
    "task: <Task pending x>\n",
    "a.py:1: RuntimeWarning: coroutine 'f' was never awaited\n",
    "Exception ignored in: x\n",
]


@pytest.mark.parametrize("name", samples(READER))
def test_corpus(name):
    check(READER, name)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(LINES) | any_text, max_size=14).map("".join))
def test_total(text):
    check_total(READER, text)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", [*PIECES, *LINES])
def test_a_megabyte_of_the_same(piece):
    assert best_of(READER, piece * (1_000_000 // len(piece)), times=1) < 5


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
def test_nothing_is_told(text):
    reading = READER.read(text, "")
    assert (reading.failures, reading.warnings) == ((), ())


def test_a_warning_from_elsewhere_has_no_file():
    text = "sys:1: RuntimeWarning: coroutine 'save' was never awaited\n"
    (warned,) = READER.read(text, "").warnings
    assert (warned.file, warned.line, warned.message) == ("", 0, "coroutine 'save' was never awaited")
