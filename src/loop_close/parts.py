"""One run as a part of more: packed into its report, and read from a report or a JUnit file."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from loop_close import lazy
from loop_close.emit.report import ReportError, parsed
from loop_close.judge import report_of
from loop_close.lazy import NamedTuple
from loop_close.model import Observation, Provenance
from loop_close.prompt import safe
from loop_close.readers.junit_xml.case import test_of_case
from loop_close.store.records import RecordError, to_plain, to_record
from loop_close.text import digest
from loop_close.text.redact import redact

if TYPE_CHECKING:
    from loop_close.readers.junit_xml import JunitReading

#: No report holds more than this when it is unpacked, in bytes, nor so many times what it has packed: a tenth of that
#: is usual, and a small file must not fill the memory.
_MOST = 100_000_000
_MOST_TIMES = 200
_ANY = 1_000_000
_MOST_SHARDS = 100_000
#: Keys of a merged report.
REPORTS, UNREAD = "reports", "unread"
#: So many tests are named.
_NAMED = 3
#: Outcomes in a JUnit file.
_FAILED = ("failed", "errors")
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
    :ivar packed: the observation as it was read, for a merged report; empty if it is not needed.
    :ivar written: when the file was last written, in seconds since 1970; 0 if that is unknown.
    """

    name: str
    digest: str
    observation: Observation
    run: int = 0
    packed: str = ""
    written: float = 0.0


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
    """The observation, whose calls point to functions and import effects that are there, and whose numbers can be.

    :raises RejectedError: where one does not, or cannot.
    """
    numbers = [*astuple(observation.counts)]
    if (calls := observation.calls) is not None:
        numbers += [calls.passed, calls.omitted, calls.remembered, calls.cut, calls.passed_over]
        numbers += [each.passed for each in calls.swallowed]
        for each in calls.functions:
            numbers += [each.passed, each.returned_none, each.named, *each.lines.values()]
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
    if min(numbers) < 0:
        raise RejectedError("it counts less than nothing")
    return observation


def part_of(name: str, text: str, *, is_alone: bool = False) -> Part:
    """The part that a JSON report holds.

    :param is_alone: a shard stands for its source; else what failed before and did not run ran in another one.
    :raises RejectedError: for a text that is not a report, is cut off, has another version, or lacks the observation.
    """
    return _part_of(name, _parsed(text), is_alone=is_alone)


def parts_of(name: str, text: str) -> tuple[list[Part], list[tuple[str, str]]]:
    """The parts that a JSON report holds, several if it is a merged one; and what was rejected when it was merged.

    :raises RejectedError: as :func:`part_of`.
    """
    document = _parsed(text)
    if REPORTS not in document:
        return [_part_of(name, document)], []
    inputs, rejected = (_objects(document.get(key)) for key in (REPORTS, UNREAD))
    if [*inputs, *rejected] != [*_listed(document, REPORTS), *_listed(document, UNREAD)] or not (
        inputs or rejected
    ):
        raise RejectedError("the reports in it cannot be read: give them instead")
    parts = [_part_of(_text(each, "name") or name, each) for each in inputs]
    return parts, [(_text(each, "name") or name, _text(each, "reason")) for each in rejected]


def merged_document(parts: Iterable[Part], rejected: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """What a merged report holds to be merged again: the parts as they were read, not their sum."""
    return {
        REPORTS: [
            {
                "name": redact(each.name),
                "run": each.run,
                "incomplete": redact(each.observation.incomplete),
                "observation": each.packed or packed(each.observation),
            }
            for each in parts
        ],
        UNREAD: [{"name": redact(name), "reason": redact(why)} for name, why in rejected],
    }


def _parsed(text: str) -> dict[str, Any]:
    try:
        return parsed(text)
    except ReportError as fault:
        raise RejectedError(str(fault)) from fault


def _listed(document: Mapping[str, Any], key: str) -> list[Any]:
    return found if isinstance(found := document.get(key), list) else [None]


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: Mapping[str, Any], key: str) -> str:
    return found if isinstance(found := value.get(key), str) else ""


def _part_of(name: str, document: Mapping[str, Any], *, is_alone: bool = False) -> Part:
    """The part of a report, or of an input in a merged one."""
    if not (observed := _text(document, "observation")):
        raise RejectedError("it has no observation: write it again with --loop-close-json of this version")
    progress = document.get("progress", document)
    run = progress.get("run", 0) if isinstance(progress, dict) else 0
    observation, why = unpacked(observed), _text(document, "incomplete") or _text(document, "stall_reason")
    index, of = observation.provenance.shard
    if not 0 <= index <= of <= _MOST_SHARDS:
        raise RejectedError(f"there is no shard {index} of {of}")
    is_whole = is_alone or not observation.provenance.shard[1]
    is_red = is_whole and _own_verdict(document, observation) != "green"
    if is_red and report_of(observation).verdict == "green":
        # It knew more, such as failures of an earlier run that did not run again.
        observation = replace(observation, incomplete=why or "not green")
    return Part(name, digest(observed), observation, run if isinstance(run, int) else 0, observed)


def _own_verdict(document: Mapping[str, Any], observation: Observation) -> object:
    """That of the run itself: a report of several sources is as red as the worst of them.

    :raises RejectedError: where the run is none of the sources, or failed in more than its own: an older merged report.
    """
    rows = _objects(document.get("sources"))
    if not rows:  # an input in a merged report has no verdict
        return document.get("verdict", _text(document, "incomplete") or "green")
    own = next((each for each in rows if each.get("source") == observation.source), None)
    failed = own.get("failed", ()) if own is not None else None
    tests = {safe(failure.nodeid) for failure in observation.failures} - {""}
    if own is None or (
        isinstance(failed, list) and tests - {each for each in failed if isinstance(each, str)}
    ):
        raise RejectedError("it was merged by an older version, without its inputs: give those instead")
    return own.get("verdict", "green")


def part_of_junit(name: str, observation: Observation, junit: JunitReading, root: str) -> Part:
    """A JUnit file as a part: its source has the name of the file, as nothing else distinguishes them.

    :param junit: what was read of it; ``root`` the folder of the project.
    """
    made = replace(observation, source=name.rpartition("/")[2].removesuffix(".xml") or "junit")
    if junit.is_pytest:
        failing = {failure.nodeid for failure in junit.failures} - {""}
        others = {
            test_of_case(key, root): done for key, done in junit.cases.items() if {*done}.isdisjoint(_FAILED)
        }
        made = replace(
            made,
            rerun=("python", "-m", "pytest", "--loop-close"),
            failed_option="--loop-close-failed",
            tests=tuple(sorted(failing | others.keys()))
            if len(junit.cases) >= junit.counts.collected
            else (),
            spared=tuple(sorted(test for test, done in others.items() if "passed" not in done)),
        )
    text = packed(made)
    return Part(name, digest(text), made, packed=text)


# --- which parts belong together


def of_one_run(parts: Sequence[Part], here: Provenance) -> tuple[list[Part], list[tuple[str, str]]]:
    """The parts of one commit and one CI run, and the others with what is wrong with them."""
    kept, strangers = list(parts), []
    for what, of in (("commit", _commit), ("CI run", _run)):
        values = Counter(value for part in kept if (value := of(part.observation.provenance)))
        if len(values) < 2:
            continue
        newest = {
            value: max(_age(part) for part in kept if of(part.observation.provenance) == value)
            for value in values
        }
        order = sorted(values, key=lambda value: (value == of(here), values[value], newest[value], value))
        others = [part for part in kept if of(part.observation.provenance) not in ("", order[-1])]
        kept = [part for part in kept if part not in others]
        for part in others:
            which = of(part.observation.provenance)
            why = f"it is of {what} {which[:12]}, the others are of {order[-1][:12]}"
            strangers.append((part.name, why + _failing_in_words(part.observation)))
    return kept, strangers


def _failing_in_words(seen: Observation) -> str:
    """What failed in a run that is left out, as it may fail still; empty for nothing."""
    tests = sorted({each.nodeid or each.message.partition("\n")[0][:100] for each in seen.failures})
    if not tests:
        return ""
    more = f" and {len(tests) - _NAMED} more" if len(tests) > _NAMED else ""
    return f"; {', '.join(tests[:_NAMED])}{more} failed in it"


def _age(part: Part) -> tuple[int, float]:
    """Greater for a newer one."""
    run = _run(part.observation.provenance)
    return int(run) if run.isdecimal() and len(run) < 20 else 0, part.written


def _commit(made: Provenance) -> str:
    return made.commit


def _run(made: Provenance) -> str:
    """The CI system's name for the run, without the attempt."""
    return made.run_id.partition(".")[0]


def _attempt(part: Part) -> int:
    attempt = part.observation.provenance.run_id.partition(".")[2]
    return int(attempt) if attempt.isdecimal() and len(attempt) < 10 else 0


def by_source(parts: Sequence[Part]) -> dict[str, list[Part]]:
    """The parts by the name of their source, with the interpreter and platform where several have one name."""
    machines: dict[str, set[str]] = defaultdict(set)
    for part in parts:
        machines[part.observation.source].add(part.observation.provenance.machine)
    found: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        source, machine = part.observation.source, part.observation.provenance.machine
        is_shared_name = len(machines[source]) > 1 and machine and not source.endswith(machine)
        found[f"{source}:{machine}" if is_shared_name else source].append(part)
    named: dict[str, list[Part]] = {}
    for source, parts in sorted(found.items()):
        for name, group in _by_checkout(source, _latest(parts)):
            # inputs of two merged reports may have one name; a source that is named so keeps it
            names = chain((name,), (f"{name} {number}" for number in count(2)))
            free = (n for n in names if n not in named and (n == source or n not in found))
            named[next(free)] = group
    return named


def _by_checkout(source: str, parts: Sequence[Part]) -> Iterator[tuple[str, list[Part]]]:
    """Runs of all tests that have one source are of several checkouts: each is named by its input."""
    whole = [part for part in parts if not part.observation.provenance.shard[1]]
    if len(whole) == len(parts) > 1:
        yield from ((f"{source} ({part.name})", [part]) for part in whole)
    else:
        yield source, list(parts)


def _latest(parts: Sequence[Part]) -> list[Part]:
    """Of a shard that the CI system ran again, the last attempt."""
    last: dict[tuple[int, int], int] = {}
    for part in parts:
        shard = part.observation.provenance.shard
        last[shard] = max(last.get(shard, 0), _attempt(part))
    return [part for part in parts if _attempt(part) == last[part.observation.provenance.shard]]
