"""The tests as they were when ``loop-close drive`` began: kept by the driver, and out of the project's folder.

While it runs, the driver uses its own copy in memory. The file serves ``--resume``, ``accept`` and ``status`` after
it has ended.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loop_close import files
from loop_close.baseline import compared, judged, texts_at_head, texts_now
from loop_close.memory import ChangedTest
from loop_close.process import birth_of, is_alive
from loop_close.progress.tampering import is_settled, open_changes, unfixed_in_words
from loop_close.store.records import RecordError, to_plain, to_record
from loop_close.text import digest
from loop_close.text.redact import clean

_SCHEMA = "loop-close.tests/1"
_MOST_UNFIXED = 20
_LARGEST, _LARGEST_TEXTS = 20_000_000, 40_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfixed:
    """Tests pass that failed before, and the agent edited no source in between.

    :ivar files: what it edited, with the digest of what was in it until then; nothing for a file that was not there.
    :ivar before: how many tests failed until then.
    """

    change: ChangedTest
    files: Mapping[str, str | None]
    before: int

    @classmethod
    def of(cls, kind: str, before: int, files: Mapping[str, str | None], now: Mapping[str, str]) -> Unfixed:
        """The record of files that were edited.

        :param now: digests by path: another edit is another change.
        """
        parts = [kind, *(f"{path} {now.get(path)}" for path in sorted(files))]
        change = ChangedTest(
            file=clean(min(files, default="")),
            kind=kind,
            what=clean(unfixed_in_words(kind, sorted(files), before)),
            fingerprint=digest(*parts, size=12),
        )
        return cls(change=change, files=dict(files), before=before)

    def is_undone(self, root: Path) -> bool:
        """Whether all of these files are as they were."""
        from loop_close.workspace import FileEntry, take_known

        unread = FileEntry(size=-1, mtime_ns=-1, digest="")
        now = take_known(root, dict.fromkeys(self.files, unread)).entries
        return bool(self.files) and all(
            (now[path].digest if path in now else None) == digest for path, digest in self.files.items()
        )


@dataclass(kw_only=True, slots=True)
class DrivenTests:
    """The baseline of a driver's loop.

    :ivar texts: the tests at its start, by path.
    :ivar accepted: fingerprints of changes that a person accepted; ``asked`` of those that the agent was asked about.
    :ivar changes: what was done to the tests, as it was last judged.
    :ivar unfixed: what passes without a fix; ``is_cut_off``: the driver that kept them was killed.
    :ivar packed: the texts as they are written down; made once.
    """

    root: Path
    texts: Mapping[str, str]
    accepted: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    changes: tuple[ChangedTest, ...] = ()
    unfixed: list[Unfixed] = field(default_factory=list)
    is_cut_off: bool = False
    packed: str = ""

    def __post_init__(self) -> None:
        """Pack the texts: they are written down after each step of a loop, and stay the same."""
        self.packed = self.packed or _packed(self.texts)

    def compared(self) -> tuple[ChangedTest, ...]:
        """What was done to the tests, by what they are now."""
        return judged(compared(self.texts, texts_now(self.root, self.texts)), self.accepted, self.asked)

    def judge(self) -> tuple[ChangedTest, ...]:
        """What was done to the tests, and what passes without a fix."""
        found = self.compared()
        settled = {change.file for change in found if is_settled(change)}
        self.unfixed = [each for each in self.unfixed if not each.is_undone(self.root)]
        more = [each.change for each in self.unfixed if not each.files or not each.files.keys() <= settled]
        self.changes = (*found, *judged(more, self.accepted, self.asked))
        return self.changes

    def note(self, found: Unfixed) -> None:
        """Take up what passes without a fix."""
        self.unfixed = [*self.unfixed, found][-_MOST_UNFIXED:]

    def fail_again(self, failing: int) -> bool:
        """After a run in which so many tests failed: whether that undoes what had passed without a fix."""
        left = [each for each in self.unfixed if failing < each.before]
        is_undone = len(left) < len(self.unfixed)
        self.unfixed = left
        return is_undone

    def edited(self) -> None:
        """Source was edited: what passed with nothing edited may have been fixed."""
        self.unfixed = [each for each in self.unfixed if each.change.kind == "not-fixed"]

    def left_open(self) -> tuple[ChangedTest, ...]:
        """What was done to the tests, as far as it is neither undone nor accepted.

        What was found last says nothing of it where the driver was killed: it has not looked again.
        """
        return tuple(open_changes(self.judge())) if self.changes or self.is_cut_off else ()

    def mark_asked(self) -> None:
        """Note that the agent has seen the changes: about what cannot be decided it is asked once."""
        self.asked |= {change.fingerprint for change in self.changes if change.kind in ("unclear", "no-edit")}

    def is_asked(self, change: ChangedTest) -> bool:
        """Whether the agent has seen the change."""
        return change.fingerprint in self.asked

    @property
    def digest(self) -> str:
        """Of the texts, by which a loop knows them again."""
        return digest(self.packed, size=16)

    def keep(self, *, is_running: bool) -> bool:
        """Write them down; whether that could be done."""
        path = path_of(self.root)
        if path is None:
            return False
        pid = os.getpid()
        document = {
            "schema": _SCHEMA,
            "root": os.fsencode(self.root).hex(),
            "running": [pid, birth_of(pid)] if is_running else None,
            "accepted": sorted(self.accepted),
            "asked": sorted(self.asked),
            "changes": [to_plain(change) for change in self.changes],
            "unfixed": [to_plain(each) for each in self.unfixed],
            "tests": self.packed,
        }
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            files.write_private(path, json.dumps(document) + "\n")
        except OSError:
            return False
        return True

    def forget(self) -> None:
        """Remove what was written down."""
        path = path_of(self.root)
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def begin(root: Path) -> DrivenTests:
    """The tests as they are, for a loop that begins."""
    return DrivenTests(root=root, texts=texts_now(root))


def of_last_commit(root: Path) -> DrivenTests:
    """The tests as git has them, where what was kept is gone; those that git does not have as they are."""
    return DrivenTests(root=root, texts={**texts_now(root), **texts_at_head(root)})


def kept(root: Path) -> DrivenTests | None:
    """The tests that the last driver kept of this project; None if there are none."""
    document = _document(root)
    try:
        if document is None or document["schema"] != _SCHEMA or document["root"] != os.fsencode(root).hex():
            return None
        changes = tuple(to_record(ChangedTest, each) for each in document["changes"])
        return DrivenTests(
            root=root,
            texts=_unpacked(document["tests"]),
            packed=document["tests"],
            accepted=_texts(document["accepted"]),
            asked=_texts(document["asked"]),
            changes=changes,
            unfixed=[to_record(Unfixed, each) for each in document.get("unfixed", ())],
            is_cut_off=_is_cut_off(document),
        )
    except (KeyError, TypeError, ValueError, RecordError, zlib.error):
        return None


def left_open(root: Path) -> tuple[ChangedTest, ...]:
    """What was done to tests in the last loop and is neither undone nor accepted."""
    document = _document(root)
    if document is None or not (document.get("changes") or _is_cut_off(document)):  # most often
        return ()
    last = kept(root)
    return last.left_open() if last is not None else ()


def is_driven(root: Path) -> bool:
    """Whether a driver is at work in the project now."""
    document = _document(root)
    return document is not None and bool(document.get("running")) and not _is_cut_off(document)


def _is_cut_off(document: Mapping[str, Any]) -> bool:
    """Whether the driver is recorded as running, but its process is gone."""
    running = document.get("running")
    if running is None:
        return False
    is_known = isinstance(running, list) and len(running) == 2 and isinstance(running[1], str)
    return not (is_known and is_alive(running[0], running[1]))


def path_of(root: Path) -> Path | None:
    """The path of the file; None if there is no place for it."""
    return files.outside(root, "tests")


def _document(root: Path) -> dict[str, Any] | None:
    path = path_of(root)
    try:
        if path is None or not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
        document = json.loads(data) if len(data) <= _LARGEST else None
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _packed(texts: Mapping[str, str]) -> str:
    data = json.dumps(dict(sorted(texts.items())), separators=(",", ":")).encode()
    return base64.b85encode(zlib.compress(data, 6)).decode()


def _unpacked(text: str) -> dict[str, str]:
    data = zlib.decompressobj().decompress(base64.b85decode(text), _LARGEST_TEXTS)
    found = json.loads(data)
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise TypeError
    return found


def _texts(values: Iterable[object]) -> set[str]:
    return {value for value in values if isinstance(value, str)}
