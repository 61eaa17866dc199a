"""What conftests and installed packages add: detectors and sections."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import pytest

from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.prompt.compose import Section

_PLAIN: dict[str, type] = {"str": str, "int": int, "bool": bool}


@dataclass(frozen=True, slots=True)
class Extensions:
    """Everything to run with, and what went wrong while asking for it."""

    detectors: tuple[Detector, ...]
    sections: tuple[Section, ...]
    faults: tuple[str, ...]


def extensions(config: pytest.Config, unloadable: Sequence[str] = ()) -> Extensions:
    """Ask every plugin once. One that fails is named and left out; the others count.

    :param unloadable: what went wrong with packages that could not be loaded, a line each.
    """
    faults = list(unloadable)
    hook = config.hook
    root = str(config.rootpath) + os.sep  # a conftest goes by its path
    detectors = _asked(hook.pytest_loop_close_detectors, Detector, root, faults)
    sections = _asked(hook.pytest_loop_close_sections, Section, root, faults)
    return Extensions((*DEFAULT_DETECTORS, *_unique(detectors, faults)), tuple(sections), tuple(faults))


def _asked(hook: Any, kind: type, root: str, faults: list[str]) -> list[Any]:
    """What every implementation of a hook gives, one after the other, so that one fault costs only itself."""
    found: list[Any] = []
    for implementation in hook.get_hookimpls():
        try:
            for item in implementation.function() or ():
                if not isinstance(item, kind):
                    raise TypeError(f"gave {type(item).__name__}, not loop_close.{kind.__name__}")
                _check_fields(item)
                found.append(item)
        except (Exception, SystemExit) as fault:
            plugin = implementation.plugin_name.removeprefix(root)
            faults.append(f"{hook.name} of {plugin}: {type(fault).__name__}: {fault}")
    return found


def _check_fields(item: Any) -> None:
    """Refuse a record whose fields are not of the types they say: it would fail where nobody expects it."""
    for field in fields(item):
        if not isinstance(getattr(item, field.name), _PLAIN.get(str(field.type), object)):
            raise TypeError(f"{type(item).__name__}.{field.name} takes {field.type}")


def _unique(detectors: list[Detector], faults: list[str]) -> list[Detector]:
    """Refuse an id that is taken: two detectors by one name could not be told apart."""
    taken = {d.id for d in DEFAULT_DETECTORS}
    kept = []
    for detector in detectors:
        if detector.id in taken:
            faults.append(f"the detector id {detector.id!r} is taken; this one was left out")
        else:
            kept.append(detector)
        taken.add(detector.id)
    return kept
