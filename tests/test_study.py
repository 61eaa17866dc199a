import json
import subprocess

import pytest
from benchmarks import study


def test_names_are_changed_word_by_word():
    text = "from loop_close.progress import SuspectScore, suspects_of, PROGRESS; unsuspected, progressed"
    found = "from fieldbook.headway import QuarryScore, quarrys_of, HEADWAY; unsuspected, progressed"
    assert study.renamed(text) == found


def test_new_names_are_names():
    assert study.renamed("class Clue: clue_of = CLUES") == "class TraceMark: trace_mark_of = TRACE_MARKS"


FAULT = {"function": "Cart.total.<locals>.each", "file": "src/fieldbook/cart.py", "line": 10}


@pytest.mark.parametrize(
    ("given", "right", "near"),
    [
        ({"function": "each", "file": "cart.py", "line": 12}, True, True),
        ({"function": "Cart.total", "file": "src/fieldbook/cart.py", "line": 14}, True, False),
        ({"function": "`total()`", "line": "10"}, True, True),
        ({"function": "total", "file": "src/fieldbook/other.py", "line": 10}, False, False),
        ({"function": "", "file": "src/fieldbook/cart.py", "line": 10}, False, False),
        ({"function": "tot"}, False, False),
    ],
)
def test_an_answer_names_the_function_and_its_line(given, right, near):
    assert study.is_right(FAULT, given) is right
    assert study._is_near(FAULT, given) is near


def test_answers_are_counted(tmp_path):
    key = {name: {**FAULT, "tokens": {"prompt": 100, "plain": 900}} for name in ("01", "02")}
    (tmp_path / "key.json").write_text(json.dumps(key))
    answers = tmp_path / "a-plain.json"
    answers.write_text(
        json.dumps({"01": {"function": "each", "line": 10, "sure": 0.9}, "02": {"sure": 0.25}})
    )
    assert study.score(tmp_path, [answers]).splitlines()[2:] == [
        "| a-plain | plain | 1 of 2 | 1 | 1,800 | 0.90 | 0.25 |"
    ]


@pytest.mark.parametrize(
    ("tool", "code", "shown"), [("plain", 1, "all of it"), ("prompt", 1, "next"), ("prompt", 0, "all of it")]
)
def test_what_a_run_shows_is_counted(tmp_path, tool, code, shown):
    """A stand-in for Python, which exits as pytest does."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "nextprompt.md").write_text("next\n")
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho all of it\nexit {code}\n")
    python.chmod(0o755)
    study._write_check(tmp_path, tool, ["tests/test_a.py::test_b[c d]"])
    text = (tmp_path / "check").read_text().replace(study.sys.executable, str(python))
    (tmp_path / "check").write_text(text)
    for _ in range(2):
        ran = subprocess.run([tmp_path / "check"], capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stdout) == (code, f"{shown}\n")
    assert (tmp_path / ".read").read_text() == 2 * f"{shown}\n"
    assert len((tmp_path / ".times").read_text().split()) == 2
