"""Compare two versions of a project's files, function by function where they are Python."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from loop_close.conventions import is_test_file
from loop_close.memory import Change
from loop_close.syntax.meaning import MODULE, Part, parts_of
from loop_close.workspace.decode import decoded
from loop_close.workspace.scan import is_code

Content = Callable[[str], bytes | None]

_PROSE = (".md", ".rst")
#: The size of a file that was not read: its digest alone says that it is the same.
UNKNOWN = -1
# To read takes 0.3 s per million characters, 1 s where they are dense: where a whole branch was changed, the rest
# is told by the file.
_MAX_PARSED = 1_500_000
# A comment that a checker or coverage obeys is no remark.
_DIRECTIVE = re.compile(r"#\s*(?:type|noqa|pragma|mypy|pyright|pylint|ruff|flake8|nosec|doctest)\b.*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """A file whose content differs.

    :ivar before: its digest before, None where it did not exist; ``after`` likewise.
    """

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One part of a file that differs, or a whole file, whose part has an empty name.

    :ivar old: None where it is new; ``new``: None where it is gone.
    :ivar path_after: the file that the new part is in; another one than ``path`` where it was moved.
    """

    path: str
    old: Part | None
    new: Part | None
    is_effective: bool = True
    path_after: str = ""

    @property
    def part(self) -> Part:
        """The part as it is; as it was where it is gone."""
        part = self.new or self.old
        assert part is not None
        return part

    @property
    def change(self) -> Change:
        """What was done to it."""
        if self.path_after:
            return "moved"
        if self.old is None:
            return "added"
        return "removed" if self.new is None else "edited"


def differences(changed: Sequence[Changed], content: Content) -> list[Difference]:
    """What differs in the files that changed, in order.

    :param content: what a digest stands for; None where it was not kept. Not asked for what is no code.
    """
    found: list[Difference] = []
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
    """The text of one side, empty where there is no file; None where it is not known, or no code."""
    if not is_code(change.path):
        return None
    data = b"" if digest is None else content(digest)
    return None if data is None else decoded(data)


def _by_part(change: Changed, before: str, after: str) -> list[Difference] | None:
    """The parts that differ, None where one side is no Python."""
    old = {} if change.before is None else parts_of(before)
    new = {} if change.after is None else parts_of(after)
    if old is None or new is None:
        return None
    names = [*new, *(name for name in old if name not in new)]
    compared = (_compared(change.path, old.get(name), new.get(name)) for name in names)
    return [difference for difference in compared if difference is not None]


def _compared(path: str, old: Part | None, new: Part | None) -> Difference | None:
    difference = Difference(path=path, old=old, new=new)
    if old is None or new is None:
        return difference if difference.part.size or difference.part.name != MODULE else None
    if old.meaning != new.meaning:
        # Where only the parts inside are others, those tell it; where they are the same, their order differs.
        is_told = old.statements == new.statements and old.inner != new.inner
        return None if is_told else difference
    if _remarks(old) == _remarks(new):
        return None
    return replace(difference, is_effective=[*_directives(old)] != [*_directives(new)])


def _remarks(part: Part) -> list[str]:
    return [line.strip() for line in part.source if line.strip()]


def _directives(part: Part) -> Iterator[str]:
    for line in part.source:
        yield from _DIRECTIVE.findall(line)


def _whole(change: Changed, before: str | None, after: str | None, *, is_blank: bool) -> Difference:
    """The file as one difference.

    :param is_blank: it is Python, and no part of it differs.
    """
    is_prose = change.path.endswith(_PROSE) and not is_test_file(change.path)
    is_there = change.before is not None and change.after is not None  # an empty module can be imported
    if before is None or after is None:
        before = after = None  # against nothing, the side that is known would look new
    return Difference(
        path=change.path,
        old=_file(change.before, before),
        new=_file(change.after, after),
        is_effective=not is_prose and not (is_blank and is_there),
    )


def _file(digest: str | None, text: str | None) -> Part | None:
    if digest is None:
        return None
    lines = tuple(text.removesuffix("\n").split("\n")) if text else ()
    size = UNKNOWN if text is None else len(lines)
    return Part(name="", start=1, end=max(len(lines), 1), meaning=digest, size=size, source=lines)
