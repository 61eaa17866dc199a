"""Every piece of a real log, as ``head`` and ``tail`` and a pipe that breaks leave it: none is green that tells of a
failure or of a run without an end, and the end of a green log stays green."""

import json
import re
from itertools import islice
from pathlib import Path
from textwrap import indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from output_corpus import PIECES

from loop_close.library import close_loop
from loop_close.readers.logs import unfinished

CORPUS = Path(__file__).parent.parent / "corpus"
PIPE = 0  # the exit code of ``pytest | tail -4`` is that of ``tail``
LONGEST = 15_000
#: What tells of a failure, or of a run that has begun: a person would not call a text green that ends with it.
TELLING = re.compile(
    r"^!+ .* !+$|KeyboardInterrupt|^(?:\S+ )?[.F]*Fatal Python error|^Extension modules:|^  File \".*\", line \d+ in "
    r"|node down:|crashed while running|[ .](?:Segmentation fault|Killed)\b|^\S+ FAILED$|^FAILED\b|^ERROR\b|^FAIL\b"
    r"|: error: |INTERNAL ERROR|--show-traceback|\b[1-9]\d* (?:failed|errors?)\b|evaluation failed"
    r"|: FAIL\b|is less than fail-under|^No data to report|type=error|^::error|<failure|failures=\"[1-9]"
    r"|^(?:rootdir|plugins): |^collected \d|^\d+ workers \[|^\S+\.py [.sxF]|^\S+\.py::\S+ (?:$|[A-Z])"
    r"|^test_\w+ \([\w.]+\) \.\.\.|^={10,} (?:short test summary info|FAILURES|test session starts) ={10,}$",
    re.MULTILINE,
)


def logs(folder="unfinished", longest=LONGEST):
    paths = (path for path in CORPUS.glob(f"{folder}/*.json") if path.parent.name != "junit_xml")
    for path in sorted(paths):
        told = json.loads(path.read_text(encoding="utf-8"))
        text = path.with_suffix(".txt").read_bytes().decode()
        is_green = path.stem.startswith("green") or path.parent.name == "green"
        if len(text) < longest:
            yield pytest.param(text, id=f"{path.parent.name}-{path.stem}"), is_green, told


RED = [log for log, is_green, _ in logs() if not is_green]
#: Some have tests that print what a type checker says: a piece may begin with just that.
GREEN = [
    log
    for folder in ("unfinished", "green")
    for log, is_green, _ in logs(folder)
    if is_green and log.id not in ("green-pytest-passed-output", "green-pytest-nothing-captured")
]
#: Programs log tracebacks and a shell's words, and one is a quotation.
NOT_CUT = ("traceback", "asyncio", "shell", "cut_off")
OTHERS = [
    log
    for log, _, told in logs("*")
    if told["exit_code"] and told.get("expected") and log.id.partition("-")[0] not in NOT_CUT
]


def pieces(text):
    """Its first and its last lines, however many."""
    lines = text.splitlines(keepends=True)
    for number in range(1, len(lines) + 1):
        yield "".join(lines[:number])
        yield "".join(lines[-number:])


def last_lines(text):
    return "".join(text.splitlines(keepends=True)[-8:])


def check(piece):
    for code in (PIPE, None):
        made = close_loop(piece, exit_code=code)
        assert made.verdict != "green", piece
        assert "proceed" not in made.next_prompt


@pytest.mark.large
@pytest.mark.parametrize("text", RED)
def test_no_piece_of_a_red_log_is_green(text):
    for piece in pieces(text):
        if TELLING.search(last_lines(piece)):
            check(piece)


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("text", OTHERS)
def test_no_third_piece_of_any_red_log_is_green(text):
    for piece in islice(pieces(text), 0, None, 3):  # of heads and tails by turns
        if TELLING.search(last_lines(piece)):
            check(piece)


@pytest.mark.slow
@given(log=st.sampled_from(RED), share=st.floats(0, 1), is_head=st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_cut_within_a_line_is_not_greener(log, share, is_head):
    (text,) = log.values
    at = int(share * len(text))
    piece = text[:at] if is_head else text[at:]
    whole = piece[: piece.rfind("\n") + 1] if is_head else piece[piece.find("\n") + 1 :]
    if TELLING.search(last_lines(whole)):
        check(piece)


@pytest.mark.parametrize("text", GREEN)
def test_end_of_a_green_log_is_green(text):
    lines = text.splitlines(keepends=True)
    for number in range(1, len(lines) + 1):
        piece = "".join(lines[-number:])
        assert close_loop(piece, exit_code=0).verdict == "green", piece


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("!!!! KeyboardInterrupt !!!!\n/srv/test_r.py:10: KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("!!!! _pytest.outcomes.Exit: stop !!!!\n=== 1 passed in 0.02s ===\n", "pytest.exit: stop"),
        ("!!!! Interrupted: 1 error during collection !!!!\n", "Interrupted: 1 error during collection"),
        ("Fatal Python error: Segmentation fault\n", "Fatal Python error: Segmentation fault"),
        ("Extension modules: numpy.core (total: 1)\n", "Extension modules: numpy.core (total: 1)"),
        ("[gw0] node down: Not properly terminated\n", "[gw0] node down: Not properly terminated"),
        ("=== short test summary info ===\n", "its output ends before the run does"),
        ("collected 3 items\n\ntest_r.py .free(): invalid pointer\n", "its output ends before the run does"),
        ("E       assert 1 == 2\n\ntest_a.py:3: AssertionError\n", "its output ends before the run does"),
        ("test_1 (t.T.test_1) ... ok\ntest_2 (t.T.test_2) ... ", "its output ends before the run does"),
        ("-" * 70 + "\nRan 3 tests in 0.001s\n", "its output ends before the run does"),
        (
            'Traceback (most recent call last):\n  File "a.py", line 1, in f\n',
            "its output ends before the run does",
        ),
        ('  File "a.py", line 1 in f\n', "its output ends before the run does"),
    ],
)
def test_why(text, why):
    assert f"({why})" in close_loop(text, exit_code=0).next_prompt.replace("`", "")
    assert close_loop(text, exit_code=0).stall_reason == "the run is incomplete"


TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (indent(TRACEBACK, "    "), "error"),
        (f"    print of the log:\n{indent(TRACEBACK, '    ')}", "error"),
        (f"{indent(TRACEBACK, '    ')}    ValueError: no\n    Seen of that kind.\n", "red"),
        (
            "     >>> f()\n     Traceback (most recent call last):\n     ...\n     E: no\n\n     We go on.\n",
            "green",
        ),
        (">>> f()\nTraceback (most recent call last):\n    ...\n", "green"),
        (f">>> for x in y:\n...     f()\n...\n{TRACEBACK}", "error"),
    ],
)
def test_traceback_that_is_open_at_the_end(text, verdict):
    """It is open while its lines are indented deeper than its first; documentation shows others below a prompt."""
    assert close_loop(text, exit_code=0).verdict == verdict


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Killed\n", "1 crash detected"),
        ("FAIL: test_x (m.T.test_x)\n", "1 test failure detected"),
        ("sh: 1: pytset: not found\n", "1 process failure detected"),
        ("/usr/bin/python3: No module named pytest\n", "1 failed import detected"),
        (
            "FAIL Required test coverage of 90% not reached. Total coverage: 57.14%\n1 passed in 0.05s\n",
            "coverage",
        ),
    ],
)
def test_last_lines_that_name_what_failed(text, reason):
    made = close_loop(text, exit_code=0)
    assert (made.verdict, reason in made.stall_reason) == ("red", True)


@pytest.mark.parametrize(
    "text",
    [
        "collected 3 items\n\ntest_r.py ...   [100%]\n\n=== 3 passed in 0.02s ===\n",
        "rootdir: /srv\nplugins: sugar-1.0\ncollected 1 item\n\n test_r.py ✓\n\nResults (0.05s):\n       1 passed\n",
        "the index was killed and built again\n",
        '>>> f()\nTraceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: x\n',
    ],
)
def test_what_ends_well(text):
    assert unfinished(text) is None
    assert close_loop(text, exit_code=0).verdict == "green"


@pytest.mark.large
@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "piece",
    ["!", ".", "\n", "a.py ", "a.py::b ", "a (b.c) ... ", "error: ", '"code": ', "  File ", "x=1 "],
)
def test_hostile_text_is_read_in_time(piece):
    unfinished(piece * (300_000 // len(piece)))


@given(st.lists(st.sampled_from([*PIECES, "!!! ", "a.py .", "Traceback (most"]), max_size=40))
def test_total(parts):
    text = "".join(parts)
    end = unfinished(text)
    assert end is None or end.end() <= len(text)
