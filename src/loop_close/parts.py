"""A part: what one pytest, or one run of a tool, reports as a file. Parts are joined by :mod:`loop_close.merge`.

A part is written packed, bounded and without credentials. JSON reports carry it, so that they can be merged; JUnit XML
is read as a part of its own.
"""

from __future__ import annotations

import base64
import contextlib
import os
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from loop_close import lazy
from loop_close.calls import Called, Calls, Constant, ImportEffect, Swallowed
from loop_close.judge import report_of
from loop_close.model import Observation
from loop_close.records import Outcome, Record
from loop_close.text import sanitize
from loop_close.text.redact import redact

#: The end of the names of parts; their first bytes, with the version of what follows.
SUFFIX = ".part"
_BEGIN = b"loop-close.part/1\n"
#: The keys of a JSON report that holds parts. A merged report has the second one, too.
PARTS, UNREAD = "parts", "unread"
#: No part holds more bytes than this when it is unpacked, nor so many times what it has packed: a tenth of that is
#: usual, and a small file must not fill the memory. No file of another kind is larger than the last.
_MOST, _MOST_TIMES, _ANY, _MOST_OF_FILE = 100_000_000, 200, 1_000_000, 200_000_000
_MOST_SHARDS, _MOST_FILES = 100_000, 10_000
#: Of the parts that this process writes, in all of its threads.
_NUMBERS = count(1)
#: A node id without parameters: names of code alone, which need not be searched.
_NAMES = lazy.pattern(r"[\w./-]{1,300}\.py(?:::\w{1,200}){1,9}")
#: What files of these kinds that hold results begin with, in so many characters.
_BEGINNINGS, _BEGINNING = {".json": '"schema": "loop-close.report/', ".xml": "<testsuite"}, 1_000


class RejectedError(ValueError):
    """An input that cannot take part; the text says why, and what would be right."""


class PytestContext(Record, frozen=True):
    """How pytest was started: enough to run other tests in the same way.

    :ivar executable: the interpreter's path; ``args`` the words of the command line after ``pytest``.
    :ivar cwd: the folder in which it was started; ``rootdir`` as pytest found it, absolute.
    :ivar words: what comes before ``args`` after the interpreter: its flags and ``-m pytest`` or a script; empty if
        pytest was called by other code.
    :ivar pythonpath: the variable of that name.
    :ivar is_optimized: Python left out assertions (``-O``).
    """

    executable: str
    args: tuple[str, ...] = ()
    cwd: str = ""
    rootdir: str = ""
    words: tuple[str, ...] = ()
    pythonpath: str = ""
    is_optimized: bool = False


class Part(Record, frozen=True):
    """What one run reports, of all tests or of some.

    :ivar outcomes: by node id; empty if single tests are not known.
    :ivar context: None for what is not pytest.
    :ivar run: the number of the run in the store, 0 without one.
    :ivar name: the input's name as the user knows it; empty for a part that was not given as a file.
    """

    observation: Observation
    outcomes: Mapping[str, Outcome] = {}
    context: PytestContext | None = None
    run: int = 0
    name: str = ""


def encode(part: Part) -> bytes:
    """The part as the content of a file: sanitized, without credentials."""
    made = part.observation
    outcomes: dict[str, Outcome] = {}
    for test, outcome in part.outcomes.items():  # without their credentials two tests may have one name
        if outcomes.get(key := _clean(test)) != "failed":
            outcomes[key] = outcome
    bare = msgspec.structs.replace(part, observation=replace(made, calls=None), outcomes=outcomes)
    plain = _cleaned(msgspec.to_builtins(bare))
    if made.calls is not None:
        plain["observation"]["calls"] = msgspec.to_builtins(_clean_calls(made.calls), enc_hook=_plain)
    return _BEGIN + zlib.compress(msgspec.msgpack.encode(plain), 6)


def decode(data: bytes, name: str = "") -> Part:
    """The inverse of :func:`encode`.

    :param name: for a part that has no name.
    :raises RejectedError: for bytes that were not made by it, that are cut off, or too large.
    """
    if not data.startswith(_BEGIN):
        raise RejectedError(
            "it is not a part that this version of loop-close wrote; run the tests again with it"
        )
    packed = data[len(_BEGIN) :]
    lazy.complete(Called, Calls, Constant, ImportEffect, Swallowed)
    try:
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(packed, min(_MOST, _ANY + _MOST_TIMES * len(packed)))
        if not unpacker.eof:
            raise RejectedError("it is cut off or too large; copy the whole file, as it was written")
        part = msgspec.msgpack.decode(plain, type=Part)
    except (zlib.error, msgspec.MsgspecError, ValueError, RecursionError) as fault:
        if isinstance(fault, RejectedError):
            raise
        raise RejectedError(f"it cannot be read ({fault}); run the tests again to write it") from fault
    _check(part.observation)
    return part if part.name or not name else msgspec.structs.replace(part, name=name)


def _plain(value: object) -> Any:
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise NotImplementedError(type(value))


def _clean(text: str) -> str:
    if _NAMES.fullmatch(text):
        return text
    return redact(sanitize(text).encode("utf-8", "backslashreplace").decode())


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, dict):
        return {key: _cleaned(each) for key, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list | tuple) else value


def _clean_calls(calls: Calls) -> Calls:
    """Names of files and functions stay: only node ids and messages hold values."""
    tables: dict[str, Any] = {
        name: {_clean(test): value for test, value in getattr(calls, name).items()}
        for name in ("failed", "returned_none", "uses", "like_tests")
    }
    swallowed = tuple(
        each._replace(message=_clean(each.message), failed=frozenset(map(_clean, each.failed)))
        for each in calls.swallowed
    )
    return calls._replace(swallowed=swallowed, **tables)


def _check(observation: Observation) -> None:
    """Numbers can be, and calls point to functions and import effects that are there.

    :raises RejectedError: where one does not.
    """
    index, of = observation.provenance.shard
    if not 0 <= index <= of <= _MOST_SHARDS or (of and not index):
        raise RejectedError(f"there is no shard {index} of {of}")
    numbers = [*astuple(observation.counts)]
    if (calls := observation.calls) is not None:
        numbers += [calls.passed, calls.omitted, calls.remembered, calls.cut, calls.passed_over]
        numbers += [number for f in calls.functions for number in (f.passed, f.named, *f.lines.values())]
        hits = [index for each in (*calls.failed.values(), *calls.like_tests.values()) for index, _ in each]
        hits += [index for each in calls.returned_none.values() for index in each]
        hits += [index for each in calls.import_effects for index in each.ran]
        effects = [*calls.uses.values(), *(f.uses for f in calls.functions)]
        effects += [each.needs for each in calls.import_effects]
        needed = [index for each in effects for index in each]
        for indexes, table in ((hits, calls.functions), (needed, calls.import_effects)):
            if indexes and not 0 <= min(indexes) <= max(indexes) < len(table):
                raise RejectedError("its calls name functions that it does not have; run the tests again")
        if not all(0 <= score <= 1e9 for like in calls.like_tests.values() for _, score in like):
            raise RejectedError(
                "its calls have relevances that are not positive numbers; run the tests again"
            )
    if min(numbers) < 0:
        raise RejectedError("it counts less than nothing; run the tests again")


# --- parts as files


def write(folder: Path, part: Part, name: str = "") -> Path:
    """Write a part into a folder, in one step, beside others of any process.

    :param name: without its suffix, of the file that is made or replaced; by default one that no other has.
    :raises OSError: when it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = (folder / f"{os.getpid()}-{number}{SUFFIX}" for number in _NUMBERS)
    path = folder / f"{name}{SUFFIX}" if name else next(path for path in names if not path.exists())
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(encode(part))
    temporary.replace(path)
    return path


def read_folder(folder: Path) -> tuple[list[Part], list[tuple[str, str]]]:
    """The parts in a folder, by the names of their files; and those that cannot be read, each with the reason."""
    found: list[Part] = []
    rejected: list[tuple[str, str]] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            found.append(decode(path.read_bytes()))
        except (OSError, RejectedError) as fault:
            rejected.append((path.name, str(fault)))
    return found, rejected


def in_report(parts: Iterable[Part], unread: Iterable[tuple[str, str]] | None = None) -> dict[str, Any]:
    """What a JSON report holds to be merged.

    :param unread: for a merged report, the inputs that were not read.
    """
    packed: dict[str, Any] = {PARTS: [base64.b64encode(encode(each)).decode() for each in parts]}
    return (
        packed
        if unread is None
        else {**packed, UNREAD: [[_clean(name), _clean(why)] for name, why in unread]}
    )


def of_report(name: str, text: str) -> tuple[list[Part], list[tuple[str, str]]]:
    """The parts that a JSON report holds, several if it is a merged one; and what was rejected when it was merged.

    :raises RejectedError: for a text that is not a report, is cut off, has another version, or holds no parts.
    """
    from loop_close.emit.report import ReportError, parsed  # late: most runs read no report

    try:
        document = parsed(text)
        packed = msgspec.convert(document.get(PARTS, []), list[bytes])
        unread = msgspec.convert(document.get(UNREAD, []), list[tuple[str, str]])
    except (ReportError, msgspec.MsgspecError) as fault:
        raise RejectedError(str(fault)) from fault
    if not packed and not unread:
        raise RejectedError("it has no parts; write it again with --loop-close-json of this version")
    parts = [decode(each, name) for each in packed]
    if UNREAD not in document and document.get("verdict") != "green":
        # It knew more, such as what a foreign detector found; that of a shard, only that others are missing.
        why = str(document.get("incomplete") or document.get("stall_reason") or "not green")
        parts = [_not_green(each, why) for each in parts]
    return parts, unread


def _not_green(part: Part, why: str) -> Part:
    if part.observation.provenance.shard[1] or report_of(part.observation).verdict != "green":
        return part
    return msgspec.structs.replace(part, observation=replace(part.observation, incomplete=why))


def of_junit(path: Path, root: str) -> Part:
    """A file of JUnit XML; its source has the name of the file, because nothing else distinguishes them.

    :param root: the folder of the project.
    :raises OSError: when it cannot be read. :raises RejectedError: where it is not whole.
    """
    from loop_close.readers.junit_xml import merge_junit, read_junit
    from loop_close.readers.junit_xml.case import test_of_case
    from loop_close.readers.streams import observe_texts, with_junit

    with path.open("rb") as file:
        junit = merge_junit([read_junit(str(path), iter(lambda: file.read(1 << 16), b""), root)])
    if junit.problems:
        raise RejectedError("; ".join(junit.problems))
    nothing = replace(
        observe_texts([], None, root=root), is_good_news=True
    )  # a report says itself how it ended
    made = replace(with_junit(nothing, junit), source=path.stem or "junit")
    outcomes: dict[str, Outcome] = {}
    if junit.is_pytest and len(junit.cases) >= junit.counts.collected:
        failing = {failure.nodeid for failure in junit.failures} - {""}
        outcomes = dict.fromkeys(sorted(failing), "failed")
        for key, results in junit.cases.items():
            outcomes.setdefault(test_of_case(key, root), "passed" if "passed" in results else "skipped")
    return Part(observation=made, outcomes=outcomes, name=str(path))


def read_paths(
    paths: Sequence[str], leave_out: Collection[str] = ()
) -> tuple[list[Part], list[tuple[str, str]]]:
    """The parts in reports, JUnit XML and parts, and in all such files below folders; and what was rejected.

    :param leave_out: real paths of files that the command writes itself: in a folder they are of an earlier merge.
    :raises RejectedError: where none of the paths holds a report.
    """
    found: list[Part] = []
    rejected: list[tuple[str, str]] = []
    files: list[Path] = []
    for name in paths:
        path = Path(name)
        inside = _reports_below(path, leave_out) if path.is_dir() else [path] if path.exists() else []
        if not inside:
            rejected.append(
                (name, "it holds no report, no JUnit XML" if path.is_dir() else "it does not exist")
            )
        files += inside
    if not files:
        raise RejectedError("; ".join(f"{name}: {why}" for name, why in rejected))
    for path in files:
        try:
            parts, unread = _read_file(path)
            found += parts
            rejected += unread
        except RejectedError as fault:
            rejected.append((str(path), str(fault)))
        except OSError as fault:
            rejected.append((str(path), fault.strerror or str(fault)))
    return found, rejected


def _reports_below(top: Path, leave_out: Collection[str]) -> list[Path]:
    """Parts, reports and JUnit XML, but not what ``emit`` wrote, which says in another format what a report says."""
    from loop_close.emit import BEGINNINGS

    found = []
    for path in (Path(folder, file) for folder, _, files in os.walk(top) for file in files):
        begin = ""
        if path.suffix in _BEGINNINGS and path.is_file():
            with contextlib.suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
                begin = file.read(_BEGINNING)
        is_report = _BEGINNINGS.get(path.suffix, "-") in begin and not begin.startswith(BEGINNINGS)
        if (is_report or path.suffix == SUFFIX) and os.path.realpath(path) not in leave_out:
            found.append(path)
    return sorted(found)[:_MOST_FILES]


def _read_file(path: Path) -> tuple[list[Part], list[tuple[str, str]]]:
    if not path.is_file():  # a pipe would wait for a writer
        raise RejectedError("it is not a regular file")
    if path.stat().st_size > _MOST_OF_FILE:
        raise RejectedError(f"it is larger than {_MOST_OF_FILE:,} bytes")
    if path.suffix == ".xml":
        return [of_junit(path, os.getcwd())], []
    if path.suffix == SUFFIX:
        return [decode(path.read_bytes(), str(path))], []
    return of_report(str(path), path.read_text(encoding="utf-8-sig", errors="replace"))
