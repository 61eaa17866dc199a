import pytest

from loop_close.text.notes import without_notes


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("assert 5 < 5\nFailing test case: test_a(\n    x=5,\n)", "assert 5 < 5"),
        ("assert 7 < 5\nFailing explicit example: test_b(\n    x=7,\n)", "assert 7 < 5"),
        ("assert 5 < 5\n + where\nFailing test case: f(\n)\nDraw 1: 5", "assert 5 < 5\n + where"),
        ("bad\nFalsifying example: test_a(x=5)", "bad"),
        ("bad\nFalsifying explicit example: test_a(x=5)", "bad"),
        ("Failing test case: test_a(\n    x=5,\n)", "Failing test case: test_a(\n    x=5,\n)"),
        ("\nFailing test case: test_a(\n    x=5,\n)", "\nFailing test case: test_a(\n    x=5,\n)"),
        ("ci\nFailing test case: no name server", "ci\nFailing test case: no name server"),
        ("no Failing test case: here", "no Failing test case: here"),
        ("", ""),
        ("two\nlines", "two\nlines"),
    ],
)
def test_without_notes(message, expected):
    """Outputs of Hypothesis 6.170.15; "Falsifying" is what earlier ones say."""
    assert without_notes(message) == expected
