"""Logs with something before each line read as the logs without it."""

import pytest
from hypothesis import given
from records import any_text

from loop_close.library import close_loop
from loop_close.readers.logs import without_prefixes

LOG = """\
============================= test session starts ==============================
rootdir: /srv/shop
collected 1 item

tests/test_cart.py F                                                     [100%]

=================================== FAILURES ===================================
__________________________________ test_total __________________________________

    def test_total():
>       assert total([1, 2]) == 4
E       assert 3 == 4

tests/test_cart.py:5: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 3 == 4
============================== 1 failed in 0.02s ===============================
"""
PREFIXES = [
    "2026-11-21T18:00:00.1234567Z ",
    "tests (3.11)\tRun pytest\t2026-11-21T18:00:00.1234567Z ",
    "2026-11-21T18:00:00.123456Z 01O ",
    "[2026-11-21T18:00:00.123Z] ",
    "[18:00:00] ",
    "web-1  | ",
    "2026-11-21T18:00:00Z web-1  | ",
    "2026-11-21 18:00:00,123 ",
    "#12 3.456 ",
]


@pytest.mark.parametrize(
    "text",
    [
        "",
        LOG,
        "a b | c d\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        LOG + "2026-11-21 18:00:00 done\n" * 2,
        "12:00:00 is noon\nand\nnot\na prefix\n",
    ],
)
def test_text_without_prefixes_stays(text):
    assert without_prefixes(text) == text


@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefix_is_taken_off(prefix):
    marked = "".join(f"{prefix}{line}\n" for line in LOG.splitlines())
    assert without_prefixes(marked) == LOG
    assert close_loop(marked, exit_code=1) == close_loop(LOG, exit_code=1)
    assert close_loop(marked, exit_code=1).stall_reason == "1 test failure detected"


def test_part_of_a_log_has_it():
    marked = "".join(f"2026-11-21T18:00:00.1234567Z {line}\n" for line in LOG.splitlines())
    green = "Success: no issues found in 5 source files\n"
    for text in (marked + green, green + marked):
        assert close_loop(text).stall_reason == "1 test failure detected"


def test_alternating_processes_are_kept_apart():
    lines = [f"{name} | {line}" for line in LOG.splitlines() for name in ("one", "two")]
    assert without_prefixes("\n".join(lines)) == (LOG + LOG).rstrip("\n")
    assert close_loop("\n".join(lines)).stall_reason == "1 test failure detected"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["a | ", "2026-", "1", "\t", "x\t", "[", "2026-11-21T18:00:00"])
def test_a_megabyte_of_the_same(piece):
    assert isinstance(without_prefixes(piece * (1_000_000 // len(piece))), str)


@given(any_text)
def test_total(text):
    assert isinstance(without_prefixes(text), str)
