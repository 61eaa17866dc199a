"""A part: what one pytest, or one run of a tool, reports as a file. Parts are joined by :mod:`loop_close.merge`.

A part is written packed, bounded and without credentials. JSON reports carry it, so that they can be merged; JUnit XML
is read as a part of its own.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import zlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from loop_close.calls import NO_CALLS, Calls
from loop_close.judge import judged
from loop_close.model import Observation
from loop_close.records import Outcome, PytestContext, Record
from loop_close.text import decoded, fields_of, parsed_json, reason_of, sanitize, with_texts
from loop_close.text.redact import redact

#: The end of the names of parts; their first bytes, with the version of what follows.
SUFFIX = ".part"
_BEGIN = b"loop-close.part/1\n"
#: The key of a JSON report that holds parts.
PARTS = "parts"
#: No part holds more bytes than this when it is unpacked, nor so many times what it has packed: a tenth of that is
#: usual, and a small file must not fill the memory.
_MOST, _MOST_TIMES, _ANY = 100_000_000, 200, 1_000_000
#: A node id without parameters: names of code alone, which need not be searched.
_NAMES = re.compile(r"[\w./-]{1,300}\.py(?:::\w{1,200}){1,9}")


class RejectedError(ValueError):
    """An input that cannot take part; the text says why, and what would be right."""


class Part(Record, frozen=True):
    """What one run reports, of all tests or of some.

    :ivar context: None for what is not pytest.
    :ivar name: the input's name as the user knows it; empty for a part that was not given as a file.
    """

    observation: Observation
    context: PytestContext | None = None
    name: str = ""


def encode(part: Part) -> bytes:
    """The part as the content of a file: sanitized, without credentials."""
    made = part.observation
    outcomes: dict[str, Outcome] = {}
    for test, outcome in sorted(made.outcomes.items()):  # without credentials two tests may have one name
        if outcomes.get(key := _clean(test)) != "failed":
            outcomes[key] = outcome
    bare = replace(part, observation=replace(made, calls=NO_CALLS, outcomes=outcomes))
    plain = with_texts(msgspec.to_builtins(bare), lambda text, field: _clean(text))
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
    unpacker = zlib.decompressobj()
    try:
        plain = unpacker.decompress(packed, min(_MOST, _ANY + _MOST_TIMES * len(packed)))
        part = msgspec.msgpack.decode(plain, type=Part) if unpacker.eof else None
    except (zlib.error, msgspec.MsgspecError, ValueError, RecursionError) as fault:
        raise RejectedError(f"it cannot be read ({fault}); run the tests again to write it") from fault
    if part is None:
        raise RejectedError("it is cut off or too large; copy the whole file, as it was written")
    return part if part.name or not name else replace(part, name=name)


def _plain(value: object) -> Any:
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise NotImplementedError(type(value))


def _clean(text: str) -> str:
    if _NAMES.fullmatch(text):
        return text
    return redact(sanitize(text).encode("utf-8", "backslashreplace").decode())


def _clean_calls(calls: Calls) -> Calls:
    """Names of files and functions stay: only node ids and messages hold values."""
    tables: dict[str, Any] = {
        name: {_clean(test): value for test, value in getattr(calls, name).items()}
        for name in ("failed", "guards")
    }
    functions = tuple(each._replace(guards=tuple(map(_clean, each.guards))) for each in calls.functions)
    return calls._replace(functions=functions, **tables)


# --- parts as files


def write(stem: Path, part: Part) -> None:
    """Write a part in one step; what was there before is replaced.

    :param stem: the path of the file without its suffix.
    :raises OSError: when it cannot be written.
    """
    temporary = stem.with_name(f"{stem.name}.tmp")
    temporary.write_bytes(encode(part))
    temporary.replace(stem.with_name(f"{stem.name}{SUFFIX}"))


def read_folder(folder: Path) -> tuple[list[Part], list[tuple[str, str]]]:
    """The parts in a folder and below, by their paths; and those that cannot be read, each with the reason."""
    found: list[Part] = []
    rejected: list[tuple[str, str]] = []
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        try:
            found.append(decode(path.read_bytes()))
        except (OSError, RejectedError) as fault:
            rejected.append((path.name, str(fault)))
    return found, rejected


def in_report(parts: Iterable[Part]) -> dict[str, Any]:
    """What a JSON report holds to be merged."""
    return {PARTS: [base64.b64encode(encode(each)).decode() for each in parts]}


def of_report(name: str, text: str) -> list[Part]:
    """The parts that a JSON report holds, several if it is a merged one.

    :raises RejectedError: for a text that is not a report, is cut off, has another version, or holds no parts.
    """
    from loop_close.emit import ReportError, parsed  # late: most runs read no report

    try:
        document = parsed(text)
        parts = [decode(each, name) for each in msgspec.convert(document.get(PARTS, []), list[bytes])]
    except (ReportError, msgspec.MsgspecError) as fault:
        raise RejectedError(str(fault)) from fault
    if not parts:
        raise RejectedError("it has no parts; write it again with --loop-close-json of this version")
    seen = parts[0].observation
    # It knew more, such as what a foreign detector found; that of a shard, only that others are missing.
    knows_more = len(parts) == 1 and not seen.provenance.shard[1] and document.get("verdict") != "green"
    if knows_more and judged(seen).verdict == "green":
        seen = replace(seen, incomplete=str(document.get("stall_reason")))
        return [replace(parts[0], observation=seen)]
    return parts


def of_junit(path: Path, root: str) -> Part:
    """A file of JUnit XML; its source has the name of the file, because nothing else distinguishes them.

    :param root: the folder of the project.
    :raises OSError: when it cannot be read. :raises RejectedError: where it is not whole.
    """
    from loop_close.readers.junit_xml import merge_junit, read_junit, test_of_case
    from loop_close.readers.streams import observe_texts, with_junit

    with path.open("rb") as file:
        junit = merge_junit([read_junit(str(path), iter(lambda: file.read(1 << 16), b""), root)])
    if junit.problems:
        raise RejectedError("; ".join(junit.problems))
    # A report says itself how it ended.
    nothing = replace(observe_texts([], None, root=root), is_good_news=True)
    made = replace(with_junit(nothing, junit), source=path.stem or "junit")
    if junit.is_pytest and len(junit.cases) >= junit.counts.collected:
        failing = {failure.nodeid for failure in junit.failures} - {""}
        outcomes = {
            test_of_case(key, root): "passed" if "passed" in results else "skipped"
            for key, results in junit.cases.items()
        }
        made = replace(made, outcomes={**outcomes, **dict.fromkeys(failing, "failed")})
    return Part(observation=made, name=str(path))


def read_paths(paths: Sequence[str], leave_out: Collection[str] = ()) -> list[Part]:
    """The parts in reports, JUnit XML and parts, and in all such files below folders.

    :param leave_out: real paths of files that the command writes itself: in a folder they are of an earlier merge.
    :returns: for an input that cannot be read, a part that is incomplete for this reason.
    :raises RejectedError: where none of the paths holds a report.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        files += [each for each in sorted(path.rglob("*")) if _is_report(each, path, leave_out)] or [path]
    if not any(map(Path.is_file, files)):
        raise RejectedError(f"there is no report and no JUnit XML in {', '.join(paths)}")
    return [part for path in files for part in _read_file(path)]


def _is_report(path: Path, folder: Path, leave_out: Collection[str]) -> bool:
    """Whether a file below a folder is an input: a part, XML, or JSON that is a report or cannot be read."""
    is_hidden = "/." in f"/{path.relative_to(folder).as_posix()}"
    is_other = path.suffix not in (".json", ".xml", SUFFIX) or path.stem == "coverage"
    if is_hidden or is_other or os.path.realpath(path) in leave_out or not path.is_file():
        return False
    document = None
    if path.suffix == ".json":
        with contextlib.suppress(OSError):
            document = parsed_json(decoded(path.read_bytes()))
    return document is None or "loop-close" in str(fields_of(document).get("schema"))


def _read_file(path: Path) -> list[Part]:
    try:
        if not path.is_file():  # a pipe would wait for a writer
            raise RejectedError("there is no report and no JUnit XML")
        if path.suffix == ".xml":
            return [of_junit(path, os.getcwd())]
        if path.suffix == SUFFIX:
            return [decode(path.read_bytes(), str(path))]
        return of_report(str(path), path.read_text(encoding="utf-8-sig", errors="replace"))
    except (OSError, RejectedError) as fault:
        why = f"it was not read: {reason_of(fault)}"
        return [Part(observation=Observation(source=str(path), incomplete=why, rerun=""), name=str(path))]
