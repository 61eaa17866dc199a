"""Outputs of which the beginning or the end was cut off: what fails in them is never called green."""

import json
from pathlib import Path

import output_corpus
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_close.library import close_loop

CORPUS = Path(__file__).parent.parent / "corpus"
TOOLS = ("pytest", "unittest", "ruff", "mypy", "tox")
LONGEST = 20_000


def red_logs():
    for tool in TOOLS:
        for path in sorted((CORPUS / tool).glob("*.json")):
            told = json.loads(path.read_text(encoding="utf-8"))
            text = path.with_suffix(".txt").read_bytes().decode()
            if told["expected"] and told["exit_code"] and len(text) < LONGEST:
                yield pytest.param(text, id=f"{tool}-{path.stem}")


RED = list(red_logs())
RUFF_END = "[*] 2 fixable with the `--fix` option.\n"


@pytest.mark.parametrize("name", output_corpus.samples("cut_off"))
def test_corpus(name):
    output_corpus.check("cut_off", name)


@given(log=st.sampled_from(RED), share=st.floats(0, 1), is_head=st.booleans(), is_by_line=st.booleans())
@settings(max_examples=150)
def test_red_log_that_is_cut_is_never_green(log, share, is_head, is_by_line):
    (text,) = log.values
    units = text.splitlines(keepends=True) if is_by_line else text
    at = int(share * len(units))
    cut = "".join(units[:at] if is_head else units[at:])
    made = close_loop(cut)
    assert made.verdict != "green"
    assert "proceed" not in made.next_prompt


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("FAILED tests/a_test.py::test_x - assert 1 == 2\n1 failed in 0.02s\n", "1 test failure detected"),
        ("=== 2 failed, 3 passed in 0.12s ===\n", "2 test failures detected"),
        ("FAILED (failures=1)\n", "1 test failure detected"),
        ("==== 1 failed, 3 passed in 0.10 seconds ====\n", "1 test failure detected"),
        ("py311: 1 failed, 3 passed in 0.10s\n", "1 process failure detected"),
        (" INFO 2 errors\nRun `pyrefly init` to continue setting up Pyrefly.\n", "2 type errors detected"),
        ("[*] 3 fixable with `--fix`.\n", "3 lint errors detected"),
        ("bash: line 1:  9245 Segmentation fault      python -m pytest\n", "1 crash detected"),
        (RUFF_END, "2 lint errors detected"),
        ("2 files would be reformatted, 3 files already formatted\n", "2 lint errors detected"),
        ("Found 3 errors in 1 file (checked 2 source files)\n", "3 type errors detected"),
        ("Found 3 diagnostics\n", "3 type errors detected"),
        ("  evaluation failed :( (0.55 seconds)\n", "1 process failure detected"),
        ("..F.F      [100%]\n", "1 process failure detected"),
        ("test_a (t.T.test_a) ... ok\ntest_b (t.T.test_b) ... FAIL\n", "1 test failure detected"),
    ],
)
@pytest.mark.parametrize("code", [0, None])
def test_last_lines_say_that_something_failed(text, reason, code):
    made = close_loop(text, exit_code=code)
    assert (made.verdict, made.stall_reason) == ("red", reason)


@pytest.mark.parametrize(
    "tail", ["", "Found 3 errors (3 fixed, 0 remaining).\n", "0 files would be reformatted\n"]
)
def test_nothing_is_red_where_nothing_is_left(tail):
    assert close_loop(f"checked\n{tail}", exit_code=0).verdict == "green"


def test_start_of_a_run_without_an_end_is_incomplete():
    text = (
        "============================= test session starts ==============================\n"
        "platform linux -- Python 3.11.7, pytest-9.2.0\nrootdir: /prog\ncollected 5 items\n\ntest_a.py .."
    )
    made = close_loop(text, exit_code=0)
    assert (made.verdict, made.stall_reason) == ("error", "the run is incomplete")


@pytest.mark.parametrize("given", [("", ""), (None, None), (" \n", b"")])
def test_no_output_and_no_exit_code_is_unknown(given):
    made = close_loop(*given)
    assert (made.verdict, made.stall_reason, made.exit_code) == ("error", "unknown", None)
    assert made.next_prompt.startswith("# Nothing is known: no output (exit code unknown)")
    assert "proceed" not in made.next_prompt
    assert close_loop("", exit_code=0).stall_reason == "unknown"


_FINDING = """\
  {{
    "code": "F401",
    "filename": "/x/a{0}.py",
    "location": {{"column": 8, "row": 1}},
    "message": "`os` imported but unused",
    "noqa_row": 1,
    "url": "https://docs.astral.sh/ruff/rules/unused-import"
  }}"""


@pytest.mark.parametrize(
    ("first", "last", "number"), [(0, 20, 2), (-4, None, 1), (-14, None, 2), (5, 22, 2), (0, None, 3)]
)
@pytest.mark.parametrize("code", [0, 1])
def test_pieces_of_json_of_ruff_are_not_green(first, last, number, code):
    whole = "[\n" + ",\n".join(_FINDING.format(n) for n in range(3)) + "\n]"
    report = close_loop("\n".join(whole.split("\n")[first:last]), exit_code=code)
    assert report.verdict == "red"
    assert report.stall_reason == f"{number} lint error{'s' * (number > 1)} detected"
