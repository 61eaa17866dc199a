import pytest
from called import called, calls, nodeid

from loop_close.causes.candidates import Candidate
from loop_close.causes.clues import Clue
from loop_close.causes.rank import odd_line, reasons_of
from loop_close.causes.spectrum import spectra


def candidate(**fields):
    return Candidate(
        **{"file": "a.py", "function": "f", "spectrum": None, "clue": None, "features": {}} | fields
    )


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({}, ()),
        ({"framed": 0.5}, ("on the traceback",)),
        ({"framed": 1.0, "raised": 1.0}, ("the exception was raised in it",)),
        ({"framed": 1.0, "refused": 1.0}, ("it raised the exception",)),
        ({"judged": 0.5, "edited": 6}, ("edited before run 6",)),
        ({"judged": 1.0}, ()),
    ],
)
def test_reasons(fields, reasons):
    assert reasons_of(candidate(clue=Clue(file="a.py", function="f", **fields))) == reasons


def test_no_clue_no_reason():
    assert reasons_of(candidate()) == ()


@pytest.mark.parametrize(
    ("passed", "lines", "odd"),
    [
        (0, {}, (0, 0, 0)),
        (4, {1: 4}, (0, 0, 0)),
        (4, {1: 3}, (0, 0, 0)),
        (4, {1: 2}, (11, 1, 2)),
        (4, {1: 0}, (11, 1, 0)),
    ],
)
def test_odd_line(passed, lines, odd):
    known = calls(called("f", 10, passed=passed, lines=lines), passed=9, test_a=[(0, 1)])
    (spectrum,) = spectra(known, [nodeid("test_a")])
    assert odd_line(candidate(spectrum=spectrum)) == odd


def test_a_line_that_not_all_of_them_ran():
    known = calls(
        called("f", 10, passed=9, lines={1: 9, 2: 0}), passed=9, test_a=[(0, 1)], test_b=[(0, 1), (0, 2)]
    )
    (spectrum,) = spectra(known, [nodeid("test_a"), nodeid("test_b")])
    assert odd_line(candidate(spectrum=spectrum)) == (0, 0, 0)
