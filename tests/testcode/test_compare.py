import pytest
from cases import CHEATS, HONEST, texts

from loop_close.testcode import compare_tests


@pytest.mark.parametrize("case", CHEATS, ids=lambda case: case.name)
def test_cheats_are_reported(case):
    found = compare_tests(texts(case.before), texts(case.after))
    assert any(c.kind == case.kind and case.words in c.what for c in found), found
    assert all(change.blocks for change in found)


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_honest_edits_are_not(case):
    assert compare_tests(texts(case.before), texts(case.after)) == ()
