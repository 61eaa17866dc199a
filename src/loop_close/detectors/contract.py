"""What a detector is: the record that the built-in ones and those of third parties share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import force_setattr

from loop_close import lazy
from loop_close.facts import failure_place
from loop_close.model import Evidence, Failure, Observation
from loop_close.records import Record

_DETECTOR_TYPES = dict.fromkeys(("id", "label", "description", "hint", "kind"), str) | {"priority": int}
_EVIDENCE_TYPES = dict.fromkeys(("kind", "snippet", "label", "file"), str) | {"line": int}


class Detector(Record, frozen=True, kw_only=True):
    """One way to find out what is wrong.

    :ivar id: unique; also the name users type.
    :ivar kind: the kind of the evidence it yields.
    :ivar label: what one finding is called, in the singular ("test failure").
    :ivar priority: the smaller, the more it blocks everything else; the built-in ones go by tens from 10.
    :ivar description: one line for a list of detectors.
    :ivar hint: a sentence or two on how such a thing is fixed, for the prompt; true of every finding.
    :ivar detect: a pure function from what was observed to what was found.
    :ivar is_fallback: its finding on a failure counts only when no other detector claims that failure.
    :ivar label_for: what one finding is called, in the singular, where findings are of several kinds; None where
        ``label`` fits all of them.
    :ivar advise: how this very finding is fixed, empty if nothing general is true of it; None where ``hint`` fits.
    """

    id: str
    label: str
    priority: int
    description: str
    hint: str
    detect: Callable[[Observation], Iterable[Evidence]]
    kind: str = ""
    is_fallback: bool = False
    label_for: Callable[[Evidence], str] | None = None
    advise: Callable[[Evidence], str] | None = None

    def __post_init__(self) -> None:
        _check_types(self, _DETECTOR_TYPES)
        if not callable(self.detect):
            raise TypeError(f"Detector.detect is {type(self.detect).__name__}, which cannot be called")
        force_setattr(self, "kind", self.kind or self.id)

    def count(self, number: int) -> str:
        """``1 test failure``, ``3 test failures``."""
        return _counted(number, self.label)

    def count_of(self, found: Iterable[Evidence]) -> str:
        """The findings by what each is called, ``label`` first: ``1 missing module, 2 missing names``."""
        counts: Counter[str] = Counter()
        for each in found:
            counts[_asked(self.label_for, each, self.label)] += each.failure.number if each.failure else 1
        ordered = sorted(counts.items(), key=lambda pair: (pair[0] != self.label, pair[0]))
        return ", ".join(_counted(number, label) for label, number in ordered)

    def hint_for(self, evidence: Evidence) -> str:
        """The hint, as far as it is true of this finding; empty for none."""
        return _asked(self.advise, evidence, self.hint)


_PREPOSITION = lazy.pattern(r"(?<=\w) (?:without|outside|inside|with|of|in|on|at|for|from|by|to) ")


def _asked(function: Callable[[Evidence], str] | None, evidence: Evidence, default: str) -> str:
    """What the function says of a finding; one of a third party that fails costs only its own words."""
    if function is None:
        return default
    try:
        said = function(evidence)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return default
    return said if type(said) is str else default


def _counted(number: int, label: str) -> str:
    return f"{number} {label}" if number == 1 else f"{number} {_plural(label)}"


def _plural(label: str) -> str:
    """The plural of the noun that a label begins with: ``functions without a body``."""
    noun = _PREPOSITION.search(label)
    if noun is not None:
        return f"{_plural(label[: noun.start()])}{label[noun.start() :]}"
    return f"{label}es" if label.endswith(("s", "x", "sh", "ch")) else f"{label}s"


def check_evidence(found: object) -> None:
    """Make sure that a detector's finding can be sorted and shown.

    :raises TypeError: naming what it is instead, or the field that has the wrong type.
    """
    if not isinstance(found, Evidence):
        raise TypeError(f"yielded {type(found).__name__}, not loop_close.Evidence")
    _check_types(found, _EVIDENCE_TYPES)
    if not isinstance(found.failure, Failure | None):
        raise TypeError(f"Evidence.failure is {type(found.failure).__name__}, not loop_close.Failure")


def _check_types(record: Detector | Evidence, types: Mapping[str, type]) -> None:
    for name, expected in types.items():
        value = getattr(record, name)
        if not isinstance(value, expected):
            kinds = type(value).__name__, expected.__name__
            raise TypeError(f"{type(record).__name__}.{name} is {kinds[0]}, not {kinds[1]}")


def claim_each(kind: str, applies: Callable[[Failure], bool]) -> Callable[[Observation], Iterator[Evidence]]:
    """A detector function that claims the failures to which a condition applies."""
    return lambda observation: (claim(kind, failure) for failure in observation.failures if applies(failure))


def claim(kind: str, failure: Failure) -> Evidence:
    """Evidence that says what kind a failure is; its place and message come from the failure."""
    file, line, function = failure_place(failure)
    return Evidence(
        kind=kind,
        snippet=failure.message,
        label=function or failure.code,
        file=file,
        line=line,
        failure=failure,
    )
