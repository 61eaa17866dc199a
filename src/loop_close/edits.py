"""What was edited between two trees: function by function in Python files, by whole files elsewhere."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from loop_close.conventions import PYTHON, is_test_file, is_under_test
from loop_close.records import Edit, EditKind, Edits
from loop_close.syntax.meaning import MODULE, CodePart, parts_of
from loop_close.text.redact import clean

#: Returns the content of a digest, None if it is not kept.
Content = Callable[[str], bytes | None]

MAX_EDITS = 40
MAX_DIFFS = 12
_PROSE = (".md", ".rst")
# To parse a million characters takes 0.5 s, 1 s if they are dense: if a whole branch changed, files are named.
_MAX_PARSED = 1_000_000
# A comment for a checker or for coverage has an effect.
_DIRECTIVE = re.compile(r"#[ \t]*(?:type|noqa|pragma|mypy|pyright|pylint|ruff|flake8|nosec|doctest)\b.*")


def between(before: Mapping[str, str], after: Mapping[str, str], content: Content) -> Edits:
    """How the files differ.

    Both versions are parsed by this process, because digests of syntax trees differ between versions of Python.

    :param before: the digest of each file by path; ``after`` likewise.
    :param content: of a digest. A Python file without both contents is one edit, and no file without both has a diff.
    :returns: at most 40 edits: effective ones first; of these code under test, then other files, then tests. Never
        ``unknown``.
    """
    found = sorted(_differences(before, after, content), key=_order)
    kind: EditKind = "none"
    if found:
        kind = "effective" if found[0].is_effective else "ineffective"
    edits = tuple(_edit(each, has_diff=at < MAX_DIFFS) for at, each in enumerate(found[:MAX_EDITS]))
    effective = sum(each.is_effective for each in found)
    return Edits(kind=kind, edits=edits, omitted=max(0, effective - len(edits)))


def edited_functions(
    before: Mapping[str, str], after: Mapping[str, str], content: Content
) -> set[tuple[str, str]] | None:
    """The functions of the code under test that were edited or added, without the bodies of classes and modules.

    :returns: as (file, qualified name); None if a file could not be compared function by function.
    """
    old, new = ({path: side[path] for path in side if is_under_test(path)} for side in (before, after))
    found = set()
    for each in _differences(old, new, content):
        part = each.new
        if part is None or not each.is_effective:
            continue
        if not part.name and part.size:
            return None
        if part.is_function:
            found.add((each.path, part.name))
    return found


class _Difference(NamedTuple):
    """A part of a file that differs, or a whole file, which has an empty name.

    :ivar old: None if it was added; ``new``: None if it was removed.
    """

    path: str
    old: CodePart | None
    new: CodePart | None
    is_effective: bool = True

    @property
    def part(self) -> CodePart:
        """The new part; the old one if it was removed."""
        part = self.new or self.old
        assert part is not None
        return part


def _order(each: _Difference) -> tuple[bool, int, str, int, str]:
    rank = 2 if is_test_file(each.path) else 0 if each.path.endswith(PYTHON) else 1
    return not each.is_effective, rank, each.path, each.part.start, each.part.name


def _edit(each: _Difference, *, has_diff: bool) -> Edit:
    old, new = each.old, each.new
    sides = old.source if old else (), new.source if new else ()
    return Edit(
        file=each.path,
        function=each.part.name,
        change="added" if old is None else "removed" if new is None else "edited",
        is_effective=each.is_effective,
        diff=diff_of(*sides) if has_diff and each.is_effective else "",
    )


# --- compare two versions of a file


def _differences(before: Mapping[str, str], after: Mapping[str, str], content: Content) -> list[_Difference]:
    found: list[_Difference] = []
    left = _MAX_PARSED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the parser's, of an odd escape in a file that is not ours
        for path in sorted(before.keys() | after.keys()):
            digests = before.get(path), after.get(path)
            if digests[0] == digests[1]:
                continue
            texts = [_text(digest, content) for digest in digests]
            old, new = texts
            parts = None
            if path.endswith(PYTHON) and old is not None and new is not None and len(old) + len(new) <= left:
                left -= len(old) + len(new)
                parts = _by_part(path, old, new, digests)
            found += parts or [_whole(path, texts, digests, has_equal_parts=parts is not None)]
    return found


def _text(digest: str | None, content: Content) -> str | None:
    """The text of one side; empty if there is no file, None if it is not kept.

    Lines end as for the parser: other line breaks are formatting. It refuses what is not UTF-8.
    """
    data = b"" if digest is None else content(digest)
    if data is None:
        return None
    return data.decode("utf-8-sig", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")


def _by_part(
    path: str, before: str, after: str, digests: tuple[str | None, str | None]
) -> list[_Difference] | None:
    """The parts that differ; None if one side is not valid Python."""
    old = {} if digests[0] is None else parts_of(before)
    new = {} if digests[1] is None else parts_of(after)
    if old is None or new is None:
        return None
    compared = [_compared(path, old.get(name), new.get(name)) for name in dict.fromkeys((*new, *old))]
    return [*filter(None, compared)]


def _compared(path: str, old: CodePart | None, new: CodePart | None) -> _Difference | None:
    difference = _Difference(path, old, new)
    if old is None or new is None:
        return difference if difference.part.size or difference.part.name != MODULE else None
    if old.meaning != new.meaning:
        return difference
    if (
        old.inner != new.inner
    ):  # parts that are new or gone are listed themselves; else they have other places
        return difference if dict(old.inner).keys() == dict(new.inner).keys() else None
    if old.source == new.source:
        return None
    return difference._replace(is_effective=_directives(old) != _directives(new))


def _directives(part: CodePart) -> list[str]:
    return _DIRECTIVE.findall("\n".join(part.source))


def _whole(
    path: str, texts: Sequence[str | None], digests: tuple[str | None, str | None], *, has_equal_parts: bool
) -> _Difference:
    """The file as one difference; ``has_equal_parts``: it is Python, and no part of it differs."""
    is_prose = path.endswith(_PROSE) and not is_test_file(path)
    # An empty module can be imported; a file that became a program has the same content, see Tree.files.
    contents = {(digest or "").removesuffix("+x") for digest in digests}
    is_formatting = has_equal_parts and None not in digests and len(contents) == 2
    if None in texts:
        texts = (None, None)  # against nothing, the side that is known would look new
    old, new = (_file(digest, text) for digest, text in zip(digests, texts, strict=True))
    return _Difference(path, old, new, is_effective=not is_prose and not is_formatting)


def _file(digest: str | None, text: str | None) -> CodePart | None:
    if digest is None:
        return None
    lines = tuple(text.removesuffix("\n").split("\n")) if text else ()
    return CodePart(name="", start=1, meaning=digest, size=int(text != ""), source=lines)


# --- a diff that is short, redacted, and made in bounded time

MAX_LINES = 12
_LONGEST_LINE = 120
# difflib takes length times length, and more for lines that repeat: 400 lines are some 10 ms.
_LONGEST = 400


def diff_of(before: Sequence[str], after: Sequence[str]) -> str:
    """A unified diff without headers, at most 12 lines of 120 characters.

    :returns: sanitized and redacted text; a cut one ends in ``… 5 more lines``.
    """
    # Whole before they are compared: a line of a key between two of a diff no longer looks like one.
    numbers: dict[str, int] = {}
    texts = (
        clean("\n".join(lines), numbers=numbers).split("\n") if lines else [] for lines in (before, after)
    )
    return _cut(clean("\n".join(_changed_lines(*texts)), numbers=numbers).split("\n"))


def _changed_lines(old: list[str], new: list[str]) -> Iterator[str]:
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(removed), len(added)) > _LONGEST:
        yield from (f"-{line}" for line in removed)
        yield from (f"+{line}" for line in added)
        return
    old, new = (lines[max(head - 1, 0) : len(lines) - tail + 1] for lines in (old, new))  # one line around
    for line in islice(difflib.unified_diff(old, new, n=1, lineterm=""), 2, None):
        if not line.startswith("@@"):
            yield line


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """The number of equal lines at the start."""
    pairs = zip(old, new, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))


def _cut(lines: list[str]) -> str:
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], f"… {len(lines) - MAX_LINES + 1} more lines"]
    return "\n".join(
        line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…" for line in lines
    )
