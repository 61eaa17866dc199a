"""Imports that fail: a module that is not there, a name it lacks, modules that import each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loop_close.detectors.contract import Detector, claim
from loop_close.facts import is_a, is_about_import_cycle
from loop_close.model import Evidence, Observation

_MODULE = "missing module"
_NAME = "missing name"
_CYCLE = "circular import"
_OTHER = "failed import"
_ADVICE: Mapping[str, str] = {
    _MODULE: "The module's name is wrong, the module moved, its folder is not on the import path, or a dependency is "
    "not installed.",
    _NAME: "The module was found, and it does not define the name: the name is wrong, moved, or not written yet.",
    _CYCLE: "Modules import each other while they are loaded. What both need can move into a third module, or one "
    "import into the function that uses it.",
    _OTHER: "",
}


def detect(observation: Observation) -> Iterator[Evidence]:
    """ImportError and ModuleNotFoundError, wherever they were raised, and the use of a module before its end."""
    for failure in observation.failures:
        if is_a(failure.raised, "ImportError") or is_about_import_cycle(failure.raised):
            yield claim("missing-module", failure)


def label_for(evidence: Evidence) -> str:
    """What is missing: the module itself, a name in it, or neither."""
    raised = evidence.failure.raised if evidence.failure is not None else None
    if is_about_import_cycle(raised):
        return _CYCLE
    if raised is None or is_a(raised, "ModuleNotFoundError"):
        return _MODULE
    return _NAME if raised.message.startswith("cannot import name ") else _OTHER


DETECTOR = Detector(
    id="missing-module",
    label=_MODULE,
    priority=30,
    description="an import that fails: no such module, no such name in it, or a circular import",
    hint="An import fails: the module or the name in it does not exist, or modules import each other while they "
    "are loaded.",
    detect=detect,
    label_for=label_for,
    advise=lambda evidence: _ADVICE[label_for(evidence)],
)
