"""The edits between two snapshots of a project."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from loop_close import lazy
from loop_close.conventions import is_test_file
from loop_close.lazy import dataclass
from loop_close.memory import Change, Edit, EditKind, Edits
from loop_close.syntax.meaning import MODULE, CodePart, parts_of
from loop_close.text.redact import clean
from loop_close.workspace import FileEntry, decoded, is_code

__all__ = ["Changed", "changed", "edits_of"]

MAX_EDITS = 40
MAX_DIFFS = 12
_ABSTRACT = {"@abstractmethod", "@abc.abstractmethod"}


def changed(before: Mapping[str, FileEntry], after: Mapping[str, FileEntry]) -> tuple[Changed, ...]:
    """The files that were changed, added or removed, by path."""
    found = []
    for path in before.keys() | after.keys():
        digests = [entries[path].digest if path in entries else None for entries in (before, after)]
        if digests[0] != digests[1]:
            found.append(Changed(path=path, before=digests[0], after=digests[1]))
    return tuple(sorted(found, key=lambda change: change.path))


def edits_of(changed: Sequence[Changed], content: Content) -> Edits:
    """What was edited in the files that changed.

    Both versions are parsed by this process, because digests of syntax differ between versions of Python.

    :param content: returns the content of a digest, None if it was not kept; the file is then one edit.
    :returns: at most 40 edits, in the order of files and lines, effective ones first; never ``unknown``.
    """
    if not changed:
        return Edits(kind="none")
    found = sorted(with_moves(differences(changed, content)), key=_importance)
    kind: EditKind = "effective" if any(difference.is_effective for difference in found) else "ineffective"
    kept = [(difference, at < MAX_DIFFS) for at, difference in enumerate(found[:MAX_EDITS])]
    kept.sort(key=lambda item: (not item[0].is_effective, *_place(item[0])))
    edits = tuple(_edit(difference, has_diff=has_diff) for difference, has_diff in kept)
    return Edits(kind=kind, edits=edits, omitted=len(found) - len(edits))


def edited_functions(changed: Sequence[Changed], content: Content) -> set[tuple[str, str]] | None:
    """The functions and methods of these Python files that were edited, added or moved, and still exist.

    Comments, formatting and docstrings are not edits. Left out are functions without a body (``...``, an abstract
    method), and the bodies of classes and modules.

    :returns: as (file, qualified name); None if a file could not be compared function by function.
    """
    found = set()
    for difference in with_moves(differences(changed, content)):
        part = difference.new
        if part is None or not difference.is_effective:
            continue
        if not part.name and part.size:
            return None
        if part.is_function and not _is_abstract(part):
            found.add((difference.path_after or difference.path, part.name))
    return found


def _is_abstract(part: CodePart) -> bool:
    lines = [line.strip() for line in part.source if line.strip()]
    last = lines[-1] if lines else ""
    return last == "..." or last.endswith(": ...") or not _ABSTRACT.isdisjoint(lines)


def _importance(difference: CodeDifference) -> tuple[bool, bool, bool, str, int, str]:
    """The order by importance: removed tests, then code, then tests."""
    is_test = is_test_file(difference.path)
    is_gone = is_test and difference.change == "removed"
    return (not difference.is_effective, not is_gone, is_test, *_place(difference))


def _place(difference: CodeDifference) -> tuple[str, int, str]:
    return difference.path, difference.part.start, difference.part.name


def _edit(difference: CodeDifference, *, has_diff: bool) -> Edit:
    old, new = difference.old, difference.new
    is_moved = difference.change == "moved"
    diff = ""
    if has_diff and difference.is_effective and not is_moved:
        diff = diff_of(old.source if old else (), new.source if new else ())
    return Edit(
        file=difference.path,
        function=(old or difference.part).name,
        change=difference.change,
        is_effective=difference.is_effective,
        moved_to=(difference.path_after, difference.part.name) if is_moved else ("", ""),
        diff=diff,
    )


# --- compare two versions of a project's files, function by function where they are Python

Content = Callable[[str], bytes | None]

_PROSE = (".md", ".rst")
#: The size of a file that was not read: its digest alone says that it is the same.
UNKNOWN = -1
# To read takes 0.3 s per million characters, 1 s where they are dense: where a whole branch was changed, the rest
# is a matter of the file.
_MAX_PARSED = 1_500_000
# A comment for a checker or for coverage has an effect.
_DIRECTIVE = lazy.pattern(r"#\s*(?:type|noqa|pragma|mypy|pyright|pylint|ruff|flake8|nosec|doctest)\b.*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """A file whose content differs.

    :ivar before: the digest before, None if the file did not exist; ``after`` likewise.
    """

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeDifference:
    """A part of a file that differs, or a whole file, with an empty name.

    :ivar old: None if it was added; ``new``: None if it was removed.
    :ivar path_after: the file of the new part; not ``path`` if the part was moved.
    """

    path: str
    old: CodePart | None
    new: CodePart | None
    is_effective: bool = True
    path_after: str = ""

    @property
    def part(self) -> CodePart:
        """The new part; the old one if it was removed."""
        part = self.new or self.old
        assert part is not None
        return part

    @property
    def change(self) -> Change:
        """The kind of change."""
        if self.path_after:
            return "moved"
        if self.old is None:
            return "added"
        return "removed" if self.new is None else "edited"


def differences(changed: Sequence[Changed], content: Content) -> list[CodeDifference]:
    """The differences in the changed files, in order.

    :param content: returns the content of a digest; None if it was not kept. Only called for code.
    """
    found: list[CodeDifference] = []
    left = _MAX_PARSED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the parser's, of an odd escape in a file that is not ours
        for change in changed:
            before, after = (_text(change, digest, content) for digest in (change.before, change.after))
            size = len(before or "") + len(after or "")
            parts = None
            if before is not None and after is not None and size <= left:
                left -= size
                parts = _by_part(change, before, after)
            found += parts or [_whole(change, before, after, is_blank=parts is not None)]
    return found


def _text(change: Changed, digest: str | None, content: Content) -> str | None:
    """The text of one side; empty if there is no file, None if it is unknown or not code."""
    if not is_code(change.path):
        return None
    data = b"" if digest is None else content(digest)
    return None if data is None else decoded(data)


def _by_part(change: Changed, before: str, after: str) -> list[CodeDifference] | None:
    """The parts that differ, None if one side is not Python."""
    old = {} if change.before is None else parts_of(before)
    new = {} if change.after is None else parts_of(after)
    if old is None or new is None:
        return None
    names = [*new, *(name for name in old if name not in new)]
    compared = (_compared(change.path, old.get(name), new.get(name)) for name in names)
    return [difference for difference in compared if difference is not None]


def _compared(path: str, old: CodePart | None, new: CodePart | None) -> CodeDifference | None:
    difference = CodeDifference(path=path, old=old, new=new)
    if old is None or new is None:
        return difference if difference.part.size or difference.part.name != MODULE else None
    if old.meaning != new.meaning:
        # If only the parts inside differ, they are listed; if they are the same, their order differs.
        is_inner = old.statements == new.statements and old.inner != new.inner
        return None if is_inner else difference
    if _remarks(old) == _remarks(new):
        return None
    return replace(difference, is_effective=[*_directives(old)] != [*_directives(new)])


def _remarks(part: CodePart) -> list[str]:
    return [line.strip() for line in part.source if line.strip()]


def _directives(part: CodePart) -> Iterator[str]:
    for line in part.source:
        yield from _DIRECTIVE.findall(line)


def _whole(change: Changed, before: str | None, after: str | None, *, is_blank: bool) -> CodeDifference:
    """The file as one difference.

    :param is_blank: it is Python, and no part of it differs.
    """
    is_prose = change.path.endswith(_PROSE) and not is_test_file(change.path)
    is_there = change.before is not None and change.after is not None  # an empty module can be imported
    if before is None or after is None:
        before = after = None  # against nothing, the side that is known would look new
    return CodeDifference(
        path=change.path,
        old=_file(change.before, before),
        new=_file(change.after, after),
        is_effective=not is_prose and not (is_blank and is_there),
    )


def _file(digest: str | None, text: str | None) -> CodePart | None:
    if digest is None:
        return None
    lines = tuple(text.removesuffix("\n").split("\n")) if text else ()
    size = UNKNOWN if text is None else len(lines)
    return CodePart(name="", start=1, end=max(len(lines), 1), meaning=digest, size=size, source=lines)


# --- show what differs between two versions of a function: short, redacted, in bounded time

MAX_LINES = 12
MAX_CHARACTERS = 900
_LONGEST_LINE = 160
# difflib takes length times length, and more for lines that repeat: 400 lines are some 10 ms.
_LONGEST = 400


def diff_of(before: Sequence[str], after: Sequence[str]) -> str:
    """A unified diff without headers, at most 12 lines and 900 characters.

    :returns: sanitized text; a cut one ends in ``… 5 more lines``.
    """
    # Whole before they are compared: a line of a key between two of a diff no longer looks like one.
    numbers: dict[str, int] = {}
    texts = (
        clean("\n".join(lines), numbers=numbers).split("\n") if lines else [] for lines in (before, after)
    )
    lines = clean("\n".join(_changed_lines(*texts)), numbers=numbers).split("\n")
    return _cut(lines) if lines != [""] else ""


def _changed_lines(old: list[str], new: list[str]) -> Iterator[str]:
    head = _same(old, new)
    tail = _same(old[head:][::-1], new[head:][::-1])
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(removed), len(added)) > _LONGEST:
        yield from (f"-{line}" for line in removed)
        yield from (f"+{line}" for line in added)
        return
    around = max(head - 1, 0), min(tail, 1)  # one line of context
    old, new = (lines[around[0] : len(lines) - tail + around[1]] for lines in (old, new))
    for line in islice(difflib.unified_diff(old, new, n=1, lineterm=""), 2, None):
        if not line.startswith("@@"):
            yield line


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """The number of equal lines at the start."""
    pairs = zip(old, new, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))


def _cut(lines: list[str]) -> str:
    lines = [line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…" for line in lines]
    text = "\n".join(lines)
    if len(lines) <= MAX_LINES and len(text) <= MAX_CHARACTERS:
        return text
    kept = lines[: MAX_LINES - 1]
    while sum(map(len, kept)) + len(kept) + len(_more(lines, kept)) > MAX_CHARACTERS:
        kept.pop()
    return "\n".join([*kept, _more(lines, kept)])


def _more(lines: list[str], kept: list[str]) -> str:
    left = len(lines) - len(kept)
    return f"… {left} more line{'s' if left != 1 else ''}"


# --- find what was moved: gone in one place, and there again with the same meaning in another

# Smaller ones are alike by chance: a function that passes has 2 nodes, one that returns an attribute 4.
_SMALLEST = 10


def with_moves(differences: Sequence[CodeDifference]) -> list[CodeDifference]:
    """Join each removed part with the added part that replaced it.

    The same name in another file is preferred, then the same last part of the name (another class), then the only
    candidate. A tiny part must keep its name. Digests of the meaning are only comparable within one process.
    """
    moves = dict(_pairs(differences))
    arrived = set(moves.values())
    joined = []
    for at, difference in enumerate(differences):
        if at in moves:
            target = differences[moves[at]]
            is_effective = difference.is_effective or target.is_effective
            moved = replace(difference, new=target.new, path_after=target.path, is_effective=is_effective)
            joined.append(moved)
        elif at not in arrived:
            joined.append(difference)
    return joined


def _pairs(differences: Sequence[CodeDifference]) -> Iterator[tuple[int, int]]:
    """Positions of removed parts, with those of the parts that replaced them."""
    groups: dict[str, tuple[list[int], list[int]]] = {}
    for at, difference in enumerate(differences):
        if difference.old is None or difference.new is None:
            removed, added = groups.setdefault(difference.part.meaning, ([], []))
            (added if difference.old is None else removed).append(at)
    for removed, added in groups.values():
        if removed and added:
            yield from _matched(differences, removed, added)


def _matched(
    differences: Sequence[CodeDifference], removed: list[int], added: list[int]
) -> Iterator[tuple[int, int]]:
    """Match parts with the same meaning, and remove them from the lists."""

    def key(at: int, tier: int) -> str:
        path, name = differences[at].path, differences[at].part.name
        return (f"{path.rpartition('/')[2]}:{name}", name, name.rpartition(".")[2])[tier]

    for tier in range(3):
        by_key: dict[str, list[int]] = {}
        for at in added:
            by_key.setdefault(key(at, tier), []).append(at)
        for gone in list(removed):
            candidates = by_key.get(key(gone, tier), [])
            # A mere last part, such as "setUp", may stand in many classes.
            if candidates and (tier < 2 or len(candidates) == 1):
                found = candidates.pop(0)
                removed.remove(gone)
                added.remove(found)
                yield gone, found
    if len(removed) == len(added) == 1 and not _is_tiny(differences[added[0]].part):
        yield removed[0], added[0]


def _is_tiny(part: CodePart) -> bool:
    return UNKNOWN < part.size < _SMALLEST and not part.inner  # a class is known by its methods
