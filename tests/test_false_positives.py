"""What is not the output of a failing tool gives no evidence: sources, documentation, green logs."""

import json
import sysconfig
from functools import cache
from pathlib import Path

import pytest

from loop_close.library import close_loop
from loop_close.readers.streams import observe

GREEN = sorted((Path(__file__).parent / "corpus" / "green").glob("*.txt"))
ENDINGS = {".py", ".pyi", ".rst", ".txt", ".md"}


@cache
def standard_library():
    """Its sources and documents, its tests, too: the same files wherever this version of Python is."""
    return _documents("stdlib", lambda path: not {"site-packages", "dist-packages"} & set(path.parts))


@cache
def packages():
    """Sources and documents of what is installed: others with each release of a dependency."""
    return _documents("purelib", lambda path: True)


def _documents(folder, is_part):
    root = Path(sysconfig.get_path(folder))
    return sorted(p for p in root.rglob("*") if p.suffix in ENDINGS and p.is_file() and is_part(p))


def evidence_in(text, code):
    report = close_loop(text, exit_code=code)
    return [(e.kind, e.snippet[:200], e.file, e.line) for e in report.evidence]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("part", "code"), [*enumerate([0, 1, None])])
def test_of_sources_and_documents_three_in_a_thousand_at_most_looks_like_a_failing_tool(part, code):
    assert len(standard_library()) > 1_000
    files = [*standard_library(), *packages()][part::3]
    failed = [file for file in files if observe(file.read_bytes(), exit_code=code).failures]
    assert len(failed) / len(files) < 0.003, failed


@pytest.mark.parametrize("path", GREEN, ids=lambda path: path.stem)
def test_green_logs(path):
    told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert (told["exit_code"], told["expected"]) == (0, [])
    text = path.read_bytes()
    assert evidence_in(text, 0) == []
    assert close_loop(text, exit_code=0).stall_reason == "no-stall-detected"
    for code in (1, None):
        assert observe(text, exit_code=code).failures == ()


def test_green_logs_of_every_tool():
    tools = {json.loads(p.with_suffix(".json").read_text(encoding="utf-8"))["tool"].split()[0] for p in GREEN}
    assert tools == {"pip", "pytest", "mypy", "ruff", "tox"}


WORDS = [
    "ERROR: nothing of note failed",
    "tests/test_a.py::test_exception_ok PASSED",
    "try:\n    f()\nexcept SyntaxError:\n    pass\n",
    '{"is_error": false, "errors": [], "failed": 0, "severity": "none"}',
    "0 errors, 0 warnings, 0 failed",
    "The run failed with 3 errors, said the manual.",
    "see a.py:3 for the error, and b.py:4: it failed",
    "raise AssertionError('FAILED test_a.py::test_b - assert 0')",
    "TODO mend the Traceback (most recent call last) page\nFIXME error",
    "Segmentation fault lines are explained in chapter 3",
    "Traceback (most recent call last):\n  ...\nValueError: x\n",
    '    >>> for x in y:\n    ...     f(x)\n    ...\n    Traceback (most recent call last):\n      File "a.py",'
    " line 1, in <module>\n    ValueError: x\n",
]


@pytest.mark.parametrize("text", WORDS)
@pytest.mark.parametrize("code", [0, 1, None])
def test_words_alone_never_count(text, code):
    for whole in (text, f"{text}\n" * 3, f"first\n{text}\nlast\n"):
        assert evidence_in(whole, code) == []


def test_a_traceback_below_dots_of_a_program_counts():
    said = '... waiting\nTraceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: x\n'
    assert [f.raised.type for f in observe(said, exit_code=1).failures] == ["ValueError"]
