"""Step summary and annotations of GitHub Actions."""

import pytest
from emit_harness import command_of, document, many, plain
from records import failure, raised

from loop_close.emit.formats import LIMIT, error_annotations, summary
from loop_close.emit.report import checked
from loop_close.model import Counts


def size(text):
    return len(text.encode())


def test_a_green_run_is_one_line():
    green = document(exit_code=0, counts=Counts(passed=36, skipped=1))
    assert summary(green) == "loop-close: the tests pass: 36 passed, 1 skipped\n"
    assert summary(green, held=5) == "\n\nloop-close: the tests pass: 36 passed, 1 skipped\n"


def test_a_root_cause_with_its_tests():
    found = document(
        failure(raised("KeyError", "'eu'"), "t.py::test_a"), failure(raised("KeyError", "'eu'"), "t.py::b")
    )
    lines = summary(found).splitlines()
    assert lines[0] == "# loop-close: 2 tests fail, 34 pass"
    assert lines[2] == "## 1. `total()` in `src/shop/cart.py:10` (76 %)"
    assert lines[4:] == [
        "`KeyError` at `src/shop/cart.py:10`, 2 tests:",
        "",
        "```text",
        "'eu'",
        "```",
        "",
        "Why: `the exception was raised in it`",
        "",
        "- `t.py::b`",
        "- `t.py::test_a`",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "held", [0, 10_000, 500_000, LIMIT - 60_000, LIMIT - 2_000, LIMIT - 300, LIMIT - 20, LIMIT, 10**9]
)
def test_the_limit_is_kept_whatever_the_file_holds(held):
    message = "漢字 of a long message\n" * 160
    found = document(*(failure(raised(f"E{n}", message), f"t.py::test_{n}") for n in range(600)))
    text = summary(found, held)
    assert text == "" or held + size(text) <= LIMIT
    if held <= LIMIT - 300:
        assert text.lstrip().startswith("# loop-close: 600 tests fail, 34 pass\n")
        assert "more root causes\n" in text
    if held <= LIMIT - 60_000:
        assert "## 1. `total()` in " in text


def test_sources_are_a_table():
    found = plain(failure())
    counts = found["counts"]
    names = (("pytest:py311", "green", ""), ("a|b`c", "error", "shard 1 of 2 is missing"))
    found["sources"] = [
        {
            "source": name,
            "verdict": verdict,
            "counts": counts,
            "root_causes": [],
            "failed": [],
            "incomplete": why,
        }
        for name, verdict, why in names
    ]
    text = summary(checked(found))
    assert "| `pytest:py311` | `green` | 1 | 0 | 34 |  |\n" in text
    assert "| ``a\\|b`c`` | `error` | 1 | 0 | 34 | `incomplete: shard 1 of 2 is missing` |\n" in text


def test_an_incomplete_run_says_so():
    assert "`The run is incomplete: Ctrl-C`" in summary(document(failure(), incomplete="Ctrl-C"))


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
    assert line == "::error title=loop-close%3A No complete result::No result: no tests collected"


def test_properties_escape_colon_and_comma():
    raw = plain(failure())
    raw["root_causes"][0]["location"] = {"file": "a,b:c%.py", "line": 7, "function": ""}
    raw["root_causes"][0]["suspects"] = []
    line = error_annotations(checked(raw))[0]
    assert ",file=a%2Cb%3Ac%25.py,line=7::" in line
