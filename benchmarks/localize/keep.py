"""Keep what loop-close saw of a run, so that rules can be tried without running the tests.

As a pytest plugin it writes the observation to the file that ``LOCALIZE_KEEP`` names; :func:`load` reads it back.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from loop_close import Detector, Evidence, Observation


def pytest_loop_close_detectors() -> list[Detector]:
    """One that finds nothing."""
    return [
        Detector(
            id="localize-keep",
            label="kept observation",
            priority=999,
            description="keeps what was observed; finds nothing",
            hint="",
            detect=_keep,
        )
    ]


def _keep(observation: Observation) -> Iterable[Evidence]:
    Path(os.environ["LOCALIZE_KEEP"]).write_bytes(dumps(observation))
    return ()


class _ByField(pickle.Pickler):
    """Writes records by the names of their fields: the standard form of slotted ones goes by their order alone."""

    def reducer_override(self, obj: object) -> Any:
        if isinstance(obj, MappingProxyType):  # the default of a mapping
            return dict, (dict(obj),)
        if isinstance(obj, type) or not _names(type(obj)):
            return NotImplemented
        return _record, (type(obj), {name: getattr(obj, name) for name in _names(type(obj))})


def _names(kind: Any) -> tuple[str, ...]:
    """The fields of a record: a struct or a named tuple; empty for anything else."""
    return getattr(kind, "__struct_fields__", ()) or getattr(kind, "_fields", ())


def _record(kind: type, values: Mapping[str, Any]) -> object:
    """The record by today's fields: new ones have their defaults, those that are gone are left out."""
    names = _names(kind)
    return kind(**{name: value for name, value in values.items() if name in names})


def dumps(observation: Observation) -> bytes:
    """The observation, readable by versions whose records have more or fewer fields."""
    file = io.BytesIO()
    _ByField(file).dump(observation)
    return file.getvalue()


class _Gone:
    """Stands for a record that is no longer there; the field that held it is not either."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(module, name)
        except (AttributeError, ModuleNotFoundError):
            return _Gone


def load(folder: Path, fault: str) -> Observation | None:
    """What was kept of a fault, given by its id; None where nothing was.

    The file is trusted: it was written by :func:`dumps` on this machine.
    """
    path = folder / f"{fault}.pickle"
    if not path.exists():
        return None
    observation: Observation = _Unpickler(io.BytesIO(path.read_bytes())).load()
    return observation
