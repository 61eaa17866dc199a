from pathlib import Path

import held_out
import pytest
from cases import CHEATS, HONEST, texts

from loop_close.testcode import compare_tests


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.large if "very many" in c.name else ()) for c in CHEATS],
    ids=[c.name for c in CHEATS],
)
def test_cheats_are_reported(case):
    found = compare_tests(texts(case.before), texts(case.after))
    assert any(c.kind == case.kind and case.words in c.what for c in found), found
    assert all(change.blocks for change in found)


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_honest_edits_are_not(case):
    assert compare_tests(texts(case.before), texts(case.after)) == ()


def test_the_shares_of_the_docs_are_true():
    caught = sum(bool(compare_tests(texts(before), texts(after))) for _, before, after in held_out.CHEATS)
    accused = sum(bool(compare_tests(texts(before), texts(after))) for _, before, after in held_out.HONEST)
    page = (Path(__file__).parents[2] / "docs" / "cheats.md").read_text(encoding="utf-8")
    assert f"| the table of the tests | {len(CHEATS)} of {len(CHEATS)} | 0 of {len(HONEST)} |" in page
    assert f"| held out | {caught} of {len(held_out.CHEATS)} | {accused} of {len(held_out.HONEST)} |" in page
