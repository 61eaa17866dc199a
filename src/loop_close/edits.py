"""What was edited between two trees: function by function in Python files, by whole files elsewhere."""

from __future__ import annotations

import difflib
import io
import tokenize
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from loop_close import lazy
from loop_close.conventions import PYTHON, is_test_file, is_under_test
from loop_close.records import Change, Edit, EditKind, Edits
from loop_close.syntax.meaning import MODULE, CodePart, parts_of
from loop_close.text.redact import clean

#: Returns the content of a digest, None if it is not kept.
Content = Callable[[str], bytes | None]

MAX_EDITS = 40
MAX_DIFFS = 12
_PROSE = (".md", ".rst")
_ABSTRACT = {"@abstractmethod", "@abc.abstractmethod"}
# To parse a million characters takes 0.3 s, 1 s if they are dense: if a whole branch changed, files are named.
_MAX_PARSED = 1_500_000
# A comment for a checker or for coverage has an effect.
_DIRECTIVE = lazy.pattern(r"#\s*(?:type|noqa|pragma|mypy|pyright|pylint|ruff|flake8|nosec|doctest)\b.*")


def between(before: Mapping[str, str], after: Mapping[str, str], content: Content) -> Edits:
    """How the files differ.

    Both versions are parsed by this process, because digests of syntax trees differ between versions of Python.

    :param before: the digest of each file by path; ``after`` likewise.
    :param content: of a digest. A Python file without both contents is one edit, and no file without both has a diff.
    :returns: at most 40 edits: effective ones first; of these code under test, then other files, then tests. Never
        ``unknown``.
    """
    found = sorted(_with_moves(_differences(before, after, content)), key=_order)
    kind: EditKind = "none"
    if found:
        kind = "effective" if found[0].is_effective else "ineffective"
    edits = tuple(_edit(each, has_diff=at < MAX_DIFFS) for at, each in enumerate(found[:MAX_EDITS]))
    return Edits(kind=kind, edits=edits, omitted=len(found) - len(edits))


def edited_functions(
    before: Mapping[str, str], after: Mapping[str, str], content: Content
) -> set[tuple[str, str]] | None:
    """The functions of the code under test that were edited, added or moved, and still exist.

    Left out are functions without a body (``...``, an abstract method), and the bodies of classes and modules.

    :returns: as (file, qualified name); None if a file could not be compared function by function.
    """
    old, new = ({path: side[path] for path in side if is_under_test(path)} for side in (before, after))
    found = set()
    for each in _with_moves(_differences(old, new, content)):
        part = each.new
        if part is None or not each.is_effective:
            continue
        if not part.name and part.size:
            return None
        if part.is_function and not _is_abstract(part):
            found.add((each.path_after or each.path, part.name))
    return found


def _is_abstract(part: CodePart) -> bool:
    lines = [line.strip() for line in part.source if line.strip()]
    last = lines[-1] if lines else ""
    return last == "..." or last.endswith(": ...") or not _ABSTRACT.isdisjoint(lines)


class _Difference(NamedTuple):
    """A part of a file that differs, or a whole file, which has an empty name.

    :ivar old: None if it was added; ``new``: None if it was removed.
    :ivar path_after: the file of the new part if it was moved.
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
        if self.path_after:
            return "moved"
        if self.old is None:
            return "added"
        return "removed" if self.new is None else "edited"


def _order(each: _Difference) -> tuple[bool, int, str, int, str]:
    rank = 2 if is_test_file(each.path) else 0 if each.path.endswith(PYTHON) else 1
    return not each.is_effective, rank, each.path, each.part.start, each.part.name


def _edit(each: _Difference, *, has_diff: bool) -> Edit:
    old, new = each.old, each.new
    is_moved = each.change == "moved"
    diff = ""
    if has_diff and each.is_effective and not is_moved:
        diff = diff_of(old.source if old else (), new.source if new else ())
    return Edit(
        file=each.path,
        function=(old or each.part).name,
        change=each.change,
        is_effective=each.is_effective,
        moved_to=(each.path_after, each.part.name) if is_moved else ("", ""),
        diff=diff,
    )


# --- compare two versions of a file

#: The size of a whole file that is not empty: its digest alone says that it is the same.
_UNKNOWN = -1


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
    """The text of one side; empty if there is no file, None if it is not kept."""
    data = b"" if digest is None else content(digest)
    return None if data is None else decoded(data)


def decoded(content: bytes) -> str:
    r"""The text, by its BOM or coding cookie, else as UTF-8; what cannot be decoded becomes ``U+FFFD``.

    Every line ends in ``\n``, as for the parser: other line breaks are formatting.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        text = content.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _by_part(
    path: str, before: str, after: str, digests: tuple[str | None, str | None]
) -> list[_Difference] | None:
    """The parts that differ; None if one side is not valid Python."""
    old = {} if digests[0] is None else parts_of(before)
    new = {} if digests[1] is None else parts_of(after)
    if old is None or new is None:
        return None
    names = [*new, *(name for name in old if name not in new)]
    compared = (_compared(path, old.get(name), new.get(name)) for name in names)
    return [difference for difference in compared if difference is not None]


def _compared(path: str, old: CodePart | None, new: CodePart | None) -> _Difference | None:
    difference = _Difference(path, old, new)
    if old is None or new is None:
        return difference if difference.part.size or difference.part.name != MODULE else None
    if old.meaning != new.meaning:
        # If only the parts inside differ, they are listed; if they are the same, their order differs.
        is_inner = old.statements == new.statements and old.inner != new.inner
        return None if is_inner else difference
    if _remarks(old) == _remarks(new):
        return None
    return difference._replace(is_effective=[*_directives(old)] != [*_directives(new)])


def _remarks(part: CodePart) -> list[str]:
    return [line.strip() for line in part.source if line.strip()]


def _directives(part: CodePart) -> Iterator[str]:
    for line in part.source:
        yield from _DIRECTIVE.findall(line)


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
    size = 0 if text == "" else _UNKNOWN
    return CodePart(name="", start=1, end=max(len(lines), 1), meaning=digest, size=size, source=lines)


# --- a diff that is short, redacted, and made in bounded time

MAX_LINES = 12
MAX_CHARACTERS = 900
_LONGEST_LINE = 160
# difflib takes length times length, and more for lines that repeat: 400 lines are some 10 ms.
_LONGEST = 400


def diff_of(before: Sequence[str], after: Sequence[str]) -> str:
    """A unified diff without headers, at most 12 lines and 900 characters.

    :returns: sanitized and redacted text; a cut one ends in ``… 5 more lines``.
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


# --- what was moved: gone in one place, and there again with the same meaning in another

# Smaller ones are alike by chance: a function that passes has 2 nodes, one that returns an attribute 4.
_SMALLEST = 10


def _with_moves(differences: Sequence[_Difference]) -> list[_Difference]:
    """Join each removed part with the added part that replaced it."""
    moves = dict(_pairs(differences))
    arrived = set(moves.values())
    joined = []
    for at, each in enumerate(differences):
        if at in moves:
            target = differences[moves[at]]
            is_effective = each.is_effective or target.is_effective
            joined.append(each._replace(new=target.new, path_after=target.path, is_effective=is_effective))
        elif at not in arrived:
            joined.append(each)
    return joined


def _pairs(differences: Sequence[_Difference]) -> Iterator[tuple[int, int]]:
    """Positions of removed parts, with those of the parts that replaced them."""
    groups: dict[str, tuple[list[int], list[int]]] = {}
    for at, each in enumerate(differences):
        if each.old is None or each.new is None:
            removed, added = groups.setdefault(each.part.meaning, ([], []))
            (added if each.old is None else removed).append(at)
    for removed, added in groups.values():
        if removed and added:
            yield from _matched(differences, removed, added)


def _matched(
    differences: Sequence[_Difference], removed: list[int], added: list[int]
) -> Iterator[tuple[int, int]]:
    """Match parts of one meaning: the same name in another file first, then in another class, then the only one."""

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
    """Whether its meaning says little; a class is known by its methods."""
    return _UNKNOWN < part.size < _SMALLEST and not part.inner
