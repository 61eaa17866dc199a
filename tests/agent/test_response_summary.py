import pytest

from loop_close.agent.analyzer import ResponseAnalyzer

ANALYZER = ResponseAnalyzer()


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (
            "Modified 3 files, 12 tests passing, 2 errors fixed.",
            "Modified 3 files, 12 tests passing, 2 errors fixed",
        ),
        ("I fixed the `KeyError` bug in `a/b.py` and updated c.py.", "Modified 2 files, 1 error fixed"),
        ("3 files changed", "Modified 3 files"),
        ("Changed one file. All 7 tests pass.", "Modified 1 file, 7 tests passing"),
        ("Fixed two bugs and resolved a regression.", "3 errors fixed"),
        ("```\n1 failed, 2 passed in 0.1s\n```", "2 tests passing, 1 test failing"),
        ("```diff\n--- a/x.py\n+++ b/x.py\n```", "Modified 1 file"),
        ("I read a.py.", ""),
        ("", ""),
    ],
)
def test_summary(text, summary):
    assert ANALYZER.extract_work_summary(text) == summary
