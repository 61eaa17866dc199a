"""One run as a part of more: packed into its report, and read from a report or a JUnit file."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from loop_close import lazy
from loop_close.emit.report import ReportError, parsed
from loop_close.judge import report_of
from loop_close.lazy import NamedTuple
from loop_close.model import Observation
from loop_close.store.records import RecordError, to_plain, to_record
from loop_close.text import digest
from loop_close.text.redact import redact

#: No report holds more than this when it is unpacked, in bytes, nor so many times what it has packed: a tenth of that
#: is usual, and a small file must not fill the memory.
_MOST = 100_000_000
_MOST_TIMES = 200
_ANY = 1_000_000
_MOST_SHARDS = 100_000
#: A node id without parameters: names of code alone, which need not be searched.
_NAMES = lazy.pattern(r"[\w./-]{1,300}\.py(?:::\w{1,200}){1,9}")
#: What of calls holds names of files and functions alone, and many of them.
_OF_CODE = frozenset(("functions", "import_effects", "modules", "constants"))
#: Fields of calls that older reports name otherwise.
_RENAMED = {"gave_none": "returned_none", "makings": "import_effects", "owes": "returns_value"}


class RejectedError(ValueError):
    """An input that cannot take part; the text says why, and what would be right."""


class Part(NamedTuple):
    """What one run said, of all tests or of some.

    :ivar name: the input's name, as a user knows it.
    :ivar digest: the same for the same observation: an input that is given twice counts once.
    :ivar run: its number among the runs of its source, 0 if that is unknown.
    """

    name: str
    digest: str
    observation: Observation
    run: int = 0


def packed(observation: Observation) -> str:
    """All that was observed, as a text of ASCII characters for a report."""
    plain = _redacted(to_plain(observation))
    text = json.dumps(plain, separators=(",", ":")).encode("ascii")
    return base64.b64encode(zlib.compress(text, 6)).decode("ascii")


def _redacted(value: Any) -> Any:
    """The same without credentials, also in node ids, which hold the parameters of tests and are keys, too."""
    if isinstance(value, str):
        return value if _NAMES.fullmatch(value) else redact(value)
    if isinstance(value, dict):
        return {
            redact(key) if "::" in key else key: each if key in _OF_CODE else _redacted(each)
            for key, each in value.items()
        }
    return [_redacted(each) for each in value] if isinstance(value, list | tuple) else value


def unpacked(text: str) -> Observation:
    """The inverse of :func:`packed`.

    :raises RejectedError: when the text was not made by it.
    """
    try:
        # older reports have base 85, in which what zlib writes begins with a c: it takes Python many times longer
        raw = base64.b85decode(text) if text.startswith("c") else base64.b64decode(text, validate=True)
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(raw, min(_MOST, _ANY + _MOST_TIMES * len(raw)))
        if not unpacker.eof:
            raise RejectedError("its observation is cut off or too large")
        plain = json.loads(data)
        is_old = any(f'"{name}":'.encode() in data for name in _RENAMED)
        return _checked(to_record(Observation, _with_new_names(plain) if is_old else plain))
    except (ValueError, zlib.error, binascii.Error, RecordError, RecursionError) as fault:
        if isinstance(fault, RejectedError):
            raise
        raise RejectedError(
            "its observation cannot be read; write the report again with --loop-close-json"
        ) from fault


def _with_new_names(plain: Any) -> Any:
    """The observation of an older report with the fields of calls as they are named now."""
    calls = plain.get("calls") if isinstance(plain, dict) else None
    if isinstance(calls, dict):
        renamed = {_RENAMED.get(key, key): value for key, value in calls.items()}
        if isinstance(functions := renamed.get("functions"), list):
            renamed["functions"] = [
                {_RENAMED.get(key, key): value for key, value in each.items()}
                if isinstance(each, dict)
                else each
                for each in functions
            ]
        return {**plain, "calls": renamed}
    return plain


def _checked(observation: Observation) -> Observation:
    """The observation, whose calls point to functions and import effects that are there.

    :raises RejectedError: where one does not.
    """
    if (calls := observation.calls) is not None:
        likes = calls.like_tests.values()
        hits = ([index for index, _ in each] for each in (*calls.failed.values(), *likes))
        functions = [*hits, *calls.returned_none.values(), *(each.ran for each in calls.import_effects)]
        effects = [*calls.uses.values(), *(each.uses for each in calls.functions)]
        effects += [each.needs for each in calls.import_effects]
        for indexes, number in ((functions, len(calls.functions)), (effects, len(calls.import_effects))):
            if not all(0 <= index < number for each in indexes for index in each):
                raise RejectedError("its calls name functions that it does not have")
        if not all(0 <= score <= 1e9 for like in likes for _, score in like):  # sums are finite
            raise RejectedError("its calls have relevances that are not positive numbers")
    return observation


def part_of(name: str, text: str, *, is_alone: bool = False) -> Part:
    """The part that a JSON report holds.

    :param is_alone: a shard stands for its source; else what failed before and did not run ran in another one.
    :raises RejectedError: for a text that is not a report, is cut off, has another version, or lacks the observation.
    """
    try:
        document = parsed(text)
    except ReportError as fault:
        raise RejectedError(str(fault)) from fault
    observed = document.get("observation")
    if not isinstance(observed, str) or not observed:
        raise RejectedError("it has no observation: write it again with --loop-close-json of this version")
    progress = document.get("progress")
    run = progress.get("run", 0) if isinstance(progress, dict) else 0
    observation, why = unpacked(observed), document.get("stall_reason")
    index, of = observation.provenance.shard
    if not 0 <= index <= of <= _MOST_SHARDS:
        raise RejectedError(f"there is no shard {index} of {of}")
    is_whole = is_alone or not observation.provenance.shard[1]
    is_red = is_whole and _own_verdict(document, observation.source) != "green"
    if is_red and report_of(observation).verdict == "green":
        # It knew more, such as failures of an earlier run that did not run again.
        observation = replace(observation, incomplete=why if isinstance(why, str) and why else "not green")
    return Part(name, digest(observed), observation, run if isinstance(run, int) else 0)


def _own_verdict(document: Mapping[str, Any], source: str) -> object:
    """That of the run itself: a report of several sources is as red as the worst of them."""
    sources = document.get("sources")
    rows = [each for each in sources if isinstance(each, dict)] if isinstance(sources, list) else []
    own = next((each for each in rows if each.get("source") == source), document)
    return own.get("verdict", "green")


def part_of_junit(name: str, observation: Observation) -> Part:
    """A JUnit file as a part: its source has the name of the file, as nothing else distinguishes them."""
    made = replace(observation, source=name.rpartition("/")[2].removesuffix(".xml") or "junit")
    return Part(name, digest(packed(made)), made)
