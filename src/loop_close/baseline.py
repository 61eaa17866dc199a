"""The tests of a project as a baseline: which files they are, what they hold, and what was done to them since.

A run of the plugin or of ``loop-close run`` is compared with what the history keeps, the runs of ``loop-close drive``
with what the driver keeps itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close.conventions import is_configuration, is_of_tests, is_sample, is_under_test

if TYPE_CHECKING:
    from loop_close.memory import ChangedTest
    from loop_close.settings import KnownEntry
    from loop_close.store import Changes, Entries, NewBaseline, RunHandle
    from loop_close.store.sqlite import SqliteHistory
    from loop_close.testcode import TestChange

#: Files of tests that are compared at most, and their characters in all: what is left out is never judged.
MAX_FILES, MAX_TEXT = 3_000, 16_000_000
_MAX_CHANGES = 40
_MAX_CODE = 100
_LONGEST_WHAT, _LONGEST_LINES = 300, 1_500
# Of files that configure other tools as well only these sections are kept: the rest may hold anything.
_OWN_SECTION = re.compile(r"\s*\[+\s*(?:pytest|tool:pytest|tool\s*\.\s*pytest\b[^\]]*)\s*\]")
_SECTION = re.compile(r"\s*\[+[^\[\]\"',]+\]+\s*(?:[#;].*)?$")
# Of other sections, such as those of tox, what turns assertions off.
_OPTIMIZED = re.compile(r"PYTHONOPTIMIZE|\bpython[\d.]*\s[^\n]*-OO?\b")
# What a configuration or a conftest names further files of tests by.
_NAMES = re.compile(
    r"python_files|testpaths|--doctest-glob|-p[ =]|\"-p|'-p|pytest_plugins|import[ (]+(?:\*|pytest_)"
)
_SETTINGS = "pyproject.toml"
_KNOWN = "# loop-close known: "
_SHARED = (_SETTINGS, "tox.ini", "setup.cfg")


def text_of(path: str, data: bytes) -> str:
    """What is kept of a file of tests: of a configuration the part for pytest, without credentials."""
    from loop_close.workspace import decoded

    if path.endswith(".py"):
        return decoded(data)
    from loop_close.text.redact import redact

    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    known = known_lines(text) if path == _SETTINGS else ""
    if path.rpartition("/")[2] in _SHARED:
        text = "".join(_own_lines(text.splitlines(keepends=True)))
        text = text.replace(_KNOWN, "# ")  # what looks like our own lines is none
    return redact(text) + known


def known_lines(text: str) -> str:
    """The entries of our setting ``known``, in whatever form the file has them: a comment for each.

    :param text: of the root's ``pyproject.toml``.
    :returns: nothing if there are none, or they are not valid: then no test runs.
    """
    if "known" not in text or "loop-close" not in text:
        return ""
    import tomllib

    from loop_close.settings import SettingsError, known_entries

    try:
        entries = known_entries(tomllib.loads(text)["tool"]["loop-close"]["known"])
    except (tomllib.TOMLDecodeError, SettingsError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    return "".join(f"{known_line(each)}\n" for each in entries)


def known_line(entry: KnownEntry) -> str:
    """An entry as :func:`loop_close.testcode.known_changes` reads it: without where it is tracked."""
    import json

    from loop_close.text.redact import redact

    named = (("test", redact(entry.test)), ("cause", entry.cause), ("until", entry.until))
    return f"{_KNOWN}{json.dumps({key: value for key, value in named if value})}"


def entries_added(
    entries: Collection[KnownEntry], history: SqliteHistory, begun: RunHandle
) -> list[KnownEntry]:
    """The entries of the setting ``known`` that the baseline does not have, and that no person accepted."""
    from loop_close.testcode import fingerprint, known_changes

    digest = history.baseline(begun.source).get(_SETTINGS)
    data = history.content(digest) if digest is not None else None
    if data is None and not any(path == _SETTINGS for path, _, _ in begun.tests or ()):
        return []  # it is none of the project's files
    before = data.decode("utf-8", "replace") if data is not None else ""
    accepted = history.accepted()
    now = "".join(f"{known_line(each)}\n" for each in entries)
    found = known_changes(_SETTINGS, before, now)
    added = {line for line, change in found if fingerprint(change) not in accepted}
    return [each for each in entries if known_line(each) in added]  # several may differ in their issue alone


def _own_lines(lines: Sequence[str]) -> Iterator[str]:
    is_own = False
    for line in lines:
        if _SECTION.match(line):
            is_own = _OWN_SECTION.match(line) is not None
        if is_own:
            yield line
        elif _OPTIMIZED.search(line):
            yield f"# {line.lstrip()}"  # as a comment: here it would not be valid


def texts_now(root: Path, known: Collection[str] = ()) -> dict[str, str]:
    """The tests of a project as they are, by path.

    :param known: paths that are read although nothing lists them: what is ignored by git now may have been a test.
    """
    from loop_close.workspace import list_files

    paths = list_files(root).paths
    found = _read(root, {*filter(is_of_tests, paths), *known}, known)
    return {**found, **_read(root, [path for path in _belonging(root, found, paths) if path not in found])}


def _belonging(root: Path, texts: Mapping[str, str], paths: Collection[str]) -> set[str]:
    """What belongs to the tests although its name does not say so."""
    settings = {path: text for path, text in texts.items() if is_configuration(path)}
    if not any(map(_NAMES.search, settings.values())):
        return set()
    from loop_close.testcode.selection import belonging

    return belonging(settings, set(paths), lambda path: _read(root, [path]).get(path, ""))


def _read(root: Path, paths: Collection[str], known: Collection[str] = ()) -> dict[str, str]:
    """The texts of files.

    :param known: those that come first: however many there are beside them, none of them is to seem gone.
    """
    from loop_close.workspace import read

    found: dict[str, str] = {}
    left = MAX_TEXT
    for path in sorted(paths, key=lambda path: (path not in known, path))[:MAX_FILES]:
        # The settings are read through a link as well, and so have to be compared.
        data = read(os.path.realpath(root / path) if path == _SETTINGS else str(root / path))
        if data is not None and len(data) <= left:
            left -= len(data)
            found[path] = text_of(path, data)
    return found


def texts_at_head(root: Path) -> dict[str, str]:
    """The tests as git has them at HEAD, by path; nothing without git."""
    from loop_close.workspace import contents_at_head

    found = contents_at_head(root, is_of_tests, MAX_FILES, MAX_TEXT)
    return {path: text_of(path, data) for path, data in found.items()}


def new_baseline(root: Path, entries: Entries | None) -> NewBaseline | None:
    """The tests as a run saw them, to be kept in the history.

    :param entries: all files of the project; None if they are not known.
    """
    if entries is None:
        return None
    from hashlib import blake2b

    from loop_close.store import NewBaseline

    files = {path: (entry[2], entry[2]) for path, entry in entries.items() if is_of_tests(path)}
    more = _belonging(root, _read(root, [*filter(is_configuration, files)]), entries) & entries.keys()
    files |= {path: (entries[path][2], entries[path][2]) for path in more}
    kept: dict[str, bytes] = {}
    for path, text in _read(root, [path for path in files if not path.endswith(".py")]).items():
        data = text.encode("utf-8", "surrogatepass")
        digest = blake2b(data, digest_size=16, person=b"tests").hexdigest()
        files[path], kept[digest] = (files[path][0], digest), data
    # Of too many, what is collected: folders of tests may hold any number of samples. What configures it comes first.
    first = sorted(files, key=lambda path: (not is_configuration(path), is_sample(path), path))[:MAX_FILES]
    return NewBaseline(files={path: files[path] for path in first}, contents=kept)


def compared_with_history(root: Path, history: SqliteHistory, begun: RunHandle) -> list[ChangedTest]:
    """What was done to the tests since the source's baseline, and what the code under test looks like since."""
    now = {path: after for path, _, after in begun.tests or ()}
    digests = history.baseline(begun.source)
    before: dict[str, str] = {}
    left = MAX_TEXT
    for path in (*now, *(path for path in digests if path not in now)):
        data = history.content(digests[path]) if path in digests else None
        if data is not None and len(data) <= left:
            left -= len(data)
            before[path] = text_of(path, data) if path.endswith(".py") else data.decode("utf-8", "replace")
    after = {path: text for path, text in before.items() if path not in now}
    # From the disk: what git ignores by now is no longer listed, but is still collected.
    unknown = [path for path in now if path in digests and path not in before]
    after |= _read(root, [path for path in now if path not in unknown], digests)
    # Plugins that are new were no tests when the baseline was kept.
    more = [path for path in _belonging(root, after, history.files()) if path not in digests]
    after |= _read(root, more)
    return compared(before, after, _code(history, begun))


def _code(history: SqliteHistory, begun: RunHandle) -> tuple[dict[str, str], dict[str, str]]:
    """The code under test that was edited in the loop, as it was and as it is."""
    sides: tuple[dict[str, str], dict[str, str]] = ({}, {})
    edited = [change for change in history.changes_of_loop(begun) or () if is_under_test(change[0])]
    for path, *digests in edited[:_MAX_CODE]:
        for side, digest in zip(sides, digests, strict=True):
            data = history.content(digest) if digest is not None else None
            if data is not None:
                side[path] = text_of(path, data)
    return sides


def compared(
    before: Mapping[str, str],
    after: Mapping[str, str],
    code: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
) -> list[ChangedTest]:
    """What was done to the tests, certain changes first. All but hints are open so far.

    The list is bounded. What is left out, or cannot be compared, is a change that stays open.

    :param code: edited code under test, as it was and as it is, for hints.
    """
    if before == after and not code[1]:
        return []
    from loop_close.testcode import compare_tests, fingerprint
    from loop_close.text import fault_text

    try:
        found = sorted(
            compare_tests(before, after, *code), key=lambda each: (not each.blocks, each.kind == "unclear")
        )
        changes = [_changed(change) for change in found[:_MAX_CHANGES]]
    except Exception as fault:  # tests that cannot be compared may have been weakened
        return [not_compared(before, after, fault_text(fault))] if before != after else []
    left = [change for change in found[_MAX_CHANGES:] if change.blocks]
    if left:
        more = f"and {len(left)} more change{'s' * (len(left) != 1)} of tests"
        changes.append(_unlisted(left[0].file, more, [fingerprint(change) for change in left]))
    return changes


def undone(since: Changes, then: Changes, content: Callable[[str], bytes | None]) -> set[str]:
    """The fingerprints of those changes to tests that were there at one state of the files, and are gone by now.

    :param since: how the files as they are differ from those before the changes; ``then``: from those with them.
    """
    since, then = (tuple(each for each in side if is_of_tests(each[0])) for side in (since, then))
    digests = {each for _, *pair in (*since, *then) for each in pair if each is not None}
    contents = {each: content(each) for each in digests} if len(digests) <= 2 * _MAX_CODE else {"": None}
    if None in contents.values():
        return set()  # it is not known

    def texts(of: Mapping[str, str | None]) -> dict[str, str]:
        return {path: text_of(path, contents[each] or b"") for path, each in of.items() if each is not None}

    now = {path: new for path, _, new in (*since, *then)}
    before, made = ({**now, **{path: old for path, old, _ in side}} for side in (since, then))
    were, are = (compared(texts(before), texts(side)) for side in (made, now))
    left = {(each.file, each.test) for each in are}  # also with another edit on top
    return {each.fingerprint for each in were if (each.file, each.test) not in left}


def _changed(change: TestChange) -> ChangedTest:
    from loop_close.memory import ChangedTest
    from loop_close.testcode import fingerprint
    from loop_close.text import one_line
    from loop_close.text.redact import clean

    return ChangedTest(
        file=clean(change.file, _LONGEST_WHAT),
        test=clean(change.test, _LONGEST_WHAT),
        kind=change.kind,
        what=one_line(clean(change.what), _LONGEST_WHAT),
        before=clean(change.before, _LONGEST_LINES),
        after=clean(change.after, _LONGEST_LINES),
        line=change.line,
        fingerprint=fingerprint(change),
        state="open" if change.blocks else "hint",
    )


def not_compared(before: Mapping[str, str], after: Mapping[str, str], why: str) -> ChangedTest:
    """The one change that is known where tests differ and could not be compared."""
    paths = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    texts = [f"{path}\0{before.get(path)}\0{after.get(path)}" for path in paths]
    return _unlisted(paths[0] if paths else "", f"the tests could not be compared: {why}", texts)


def _unlisted(path: str, what: str, parts: Sequence[str]) -> ChangedTest:
    """One change for all that are not listed. It stays open until they are undone or accepted."""
    from loop_close.memory import ChangedTest
    from loop_close.text import digest
    from loop_close.text.redact import clean

    print_ = digest(what, *parts, size=12)
    return ChangedTest(file=clean(path, _LONGEST_WHAT), kind="not-compared", what=what, fingerprint=print_)


def judged(
    changes: Sequence[ChangedTest], accepted: Collection[str], asked: Collection[str], *, is_new: bool = False
) -> tuple[ChangedTest, ...]:
    """The changes with their states.

    :param accepted: fingerprints that a person accepted; ``asked`` those that were reported before.
    :param is_new: no run of this loop was before them, so that no failure can be what they were made for.
    """
    return tuple(_judged(change, accepted, asked, is_new=is_new) for change in changes)


def _judged(
    change: ChangedTest, accepted: Collection[str], asked: Collection[str], *, is_new: bool
) -> ChangedTest:
    if change.state == "hint":
        return change
    if change.fingerprint in accepted:
        return replace(change, state="accepted")
    from loop_close.testcode.changes import is_named_by_known

    # A new entry of the setting ``known``, or a new name that one matches, is for a failure that was not seen before.
    is_entry = (change.file, change.test) == (_SETTINGS, "known")
    is_new = is_new and not (is_entry or is_named_by_known(change.what))
    is_asked = is_new or change.kind == "no-edit" or change.fingerprint in asked
    return replace(change, state="asked") if is_asked else change
