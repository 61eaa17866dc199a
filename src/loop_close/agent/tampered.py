"""Which tests that were tampered with are still not as they were: one green run after another makes none of it good."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loop_close.conventions import is_configuration, is_test_file, is_test_module
from loop_close.facts import file_of, qualname
from loop_close.memory import Edit, Tampering


def still_tampered(tampered: Mapping[str, Tampering], edits: Iterable[Edit] | None) -> dict[str, Tampering]:
    """Those of the tests to which what was done is not undone.

    A deleted one has to be there again as a test, a weakened one to have as many assertions as before. What made
    a test skip, or no longer be collected, cannot be told from the source: there nothing may be left of the edits.

    :param tampered: what was done, by node id.
    :param edits: how the project differs from what it was before that; None where it is not known.
    """
    if edits is None:
        return dict(tampered)
    effective = [edit for edit in edits if edit.is_effective]
    return {test: way for test, way in tampered.items() if _is_still(test, way, effective)}


def _is_still(test: str, way: Tampering, edits: list[Edit]) -> bool:
    file, function = file_of(test), qualname(test)
    own = [e for e in edits if (e.file == file and _touches(e, function)) or e.moved_to == (file, function)]
    if way in ("deleted", "weakened"):
        return any(_takes_away(edit) for edit in own)
    return bool(own) or any(_is_shared(edit) for edit in edits)


def _takes_away(edit: Edit) -> bool:
    if edit.change == "moved":
        file, name = edit.moved_to
        return not (is_test_module(file) and name.rpartition(".")[2].startswith("test"))
    return edit.change == "removed" or edit.asserts[1] < edit.asserts[0]


def _touches(edit: Edit, function: str) -> bool:
    """Whether the edit is one of the test itself, or of what it stands in."""
    return edit.function in ("", "<module>", function) or function.startswith(f"{edit.function}.")


def _is_shared(edit: Edit) -> bool:
    is_helper = is_test_file(edit.file) and not is_test_module(edit.file)
    return is_helper or is_configuration(edit.file)
