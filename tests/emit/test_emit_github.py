"""Step summary and annotations of GitHub Actions."""

import pytest
from emit_harness import command_of, document, many, plain
from records import failure, raised

from loop_close.emit import LIMIT, document_of, summary
from loop_close.emit import error_annotations as written
from loop_close.model import Counts


def error_annotations(found):
    return written(found).splitlines()


def size(text):
    return len(text.encode())


def test_a_green_run_is_one_line():
    green = document(exit_code=0, counts=Counts(passed=36, skipped=1))
    assert summary(green) == "loop-close: `36 passed, 1 skipped`\n"
    assert summary(green, held=5) == "\n\nloop-close: `36 passed, 1 skipped`\n"


def test_a_root_cause_with_its_tests():
    found = document(
        failure(raised("KeyError", "'eu'"), "t.py::test_a"), failure(raised("KeyError", "'eu'"), "t.py::b")
    )
    lines = summary(found).splitlines()
    assert (
        lines[0] == "# loop-close: `2 tests fail, 34 pass; look first at src/shop/cart.py:10 total() (76 %)`"
    )
    assert lines[2] == "## 1. `total() in src/shop/cart.py:10 (76 % probable)`"
    assert lines[4:] == [
        "`KeyError` at `src/shop/cart.py:10`, 2 tests:",
        "",
        "```text",
        "'eu'",
        "```",
        "",
        "Why: `the last project function on the traceback`",
        "",
        "- `t.py::b`",
        "- `t.py::test_a`",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "held", [0, 10_000, 500_000, LIMIT - 60_000, LIMIT - 2_000, LIMIT - 800, LIMIT - 20, LIMIT, 10**9]
)
def test_the_limit_is_kept_whatever_the_file_holds(held):
    message = "漢字 of a long message\n" * 160
    found = document(*(failure(raised(f"E{n}", message), f"t.py::test_{n}") for n in range(600)))
    text = summary(found, held)
    assert text == "" or held + size(text) <= LIMIT
    if held <= LIMIT - 800:
        assert text.lstrip().startswith("# loop-close: `600 tests fail, 34 pass; look first at ")
        assert "more root causes\n" in text
    if held <= LIMIT - 60_000:
        assert "## 1. `total() in " in text


def test_sources_are_listed():
    found = plain(failure())
    found["sources"] = [
        {"source": "pytest:py311", "summary": "3 passed"},
        {"source": "a|b`c", "summary": "Not green: shard 1 of 2 is missing"},
    ]
    text = summary(document_of(found))
    assert "- `pytest:py311`: `3 passed`\n" in text
    assert "- ``a|b`c``: `Not green: shard 1 of 2 is missing`\n" in text


def test_annotations_escape_what_the_runner_reads():
    found = document(failure(raised("KeyError", "100 %\n::error::a, b: c"), "t.py::test_a", file="a,b:c.py"))
    (line, *_) = error_annotations(found)
    name, properties, message = command_of(line)
    assert name == "error"
    assert "\n" not in line
    assert "100 %25%0A" in line
    assert message.startswith("KeyError: 100 %\n: :error::a, b: c\nFails: t.py::test_a")
    assert set(properties) == {"title", "file", "line"}


def test_root_causes_come_first_and_the_tenth_counts_the_others():
    found = error_annotations(document(*many(12, places=2)))
    assert len(found) == 10
    assert len({command_of(line)[2].split(":")[0] for line in found}) == 10
    assert command_of(found[9])[2].endswith("\n… and 2 more")
    assert not any("… and" in line for line in found[:9])


def test_green_has_no_annotation_and_a_run_without_result_has_one_without_file():
    assert error_annotations(document(exit_code=0, counts=Counts(passed=1))) == []
    (line,) = error_annotations(document(exit_code=5, counts=Counts()))
    assert line == "::error title=loop-close%3A No complete result::No tests collected"


def test_properties_escape_colon_and_comma():
    raw = plain(failure())
    raw["root_causes"][0]["place"] = {"file": "a,b:c%.py", "line": 7, "function": ""}
    line = error_annotations(document_of(raw))[0]
    assert ",file=a%2Cb%3Ac%25.py,line=7::" in line
