"""The detectors of what static checkers find."""

from loop_close import close_loop


def test_body_that_a_type_checker_calls_empty_is_an_incomplete_function():
    text = "shop.py:3: error: Missing return statement  [empty-body]\nFound 1 error in 1 file (checked 1 source file)\n"
    report = close_loop(text, exit_code=1)
    assert [(each.kind, each.file, each.line) for each in report.evidence] == [
        ("typecheck-error", "shop.py", 3),
        ("incomplete-function", "shop.py", 3),
    ]
    assert "- 1 empty function: `mypy empty-body` at `shop.py:3`" in report.next_prompt
