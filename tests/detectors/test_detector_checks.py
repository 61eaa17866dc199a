"""The detectors of what static checkers find."""

import pytest
from records import failure, observed, raised

from loop_close import close_loop
from loop_close.detectors import LINT_ERROR, TYPECHECK_ERROR
from loop_close.model import Failure

DETECTORS = {"typecheck-error": TYPECHECK_ERROR, "lint-error": LINT_ERROR}
TOOLS = {
    "typecheck-error": ("mypy", "pyright", "ty", "pyrefly"),
    "lint-error": ("ruff", "flake8"),
}


def check(tool, phase="check"):
    return Failure(nodeid="", phase=phase, tool=tool, code="c", message="m", file="src/a.py", line=3)


@pytest.mark.parametrize("kind", DETECTORS)
@pytest.mark.parametrize(
    "found",
    [
        failure(raised()),
        failure(raised("mypy", "ruff")),
        check(""),
        check("gcc"),
        check("mypy", "call"),
        check("ruff", "process"),
    ],
)
def test_others(kind, found):
    assert list(DETECTORS[kind].detect(observed(found))) == []


@pytest.mark.parametrize("kind", DETECTORS)
def test_own_tools_and_no_other(kind):
    everything = observed(*(check(tool) for tools in TOOLS.values() for tool in tools))
    found = list(DETECTORS[kind].detect(everything))
    assert tuple(evidence.failure.tool for evidence in found) == TOOLS[kind]
    assert {(e.kind, e.file, e.line, e.snippet) for e in found} == {(kind, "src/a.py", 3, "m")}


def test_type_errors_block_more_than_lint():
    assert (TYPECHECK_ERROR.priority, LINT_ERROR.priority) == (50, 110)


def test_body_that_a_type_checker_calls_empty_is_an_incomplete_function():
    text = "shop.py:3: error: Missing return statement  [empty-body]\nFound 1 error in 1 file (checked 1 source file)\n"
    report = close_loop(text, exit_code=1)
    assert [(each.kind, each.file, each.line) for each in report.evidence] == [
        ("typecheck-error", "shop.py", 3),
        ("incomplete-function", "shop.py", 3),
    ]
    assert "- 1 function without a body: `mypy empty-body` at `shop.py:3`" in report.next_prompt
