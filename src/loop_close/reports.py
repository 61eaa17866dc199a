"""The last report of each source, in ``.loop-close/reports``: what one prompt over all of them is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from loop_close import files
from loop_close.merge import Part, RejectedError, packed, part_of
from loop_close.model import Observation, OtherRun
from loop_close.prompt.report_json import dump

#: So many are kept: those of environments that are gone go first.
_MOST = 64
#: No report is larger, in bytes.
_MOST_BYTES = 50_000_000


def keep(root: Path, document: Mapping[str, Any], observation: Observation) -> None:
    """Write the report of a source in the place of its last one.

    :raises OSError: when it cannot be written.
    """
    folder = files.reports_folder(root)
    text = "".join(dump({**document, "observation": packed(observation)}))
    files.write_private(files.of_source(root, observation.source), text)
    kept = [*folder.glob("*.json")]
    if len(kept) > _MOST:
        for path in sorted(kept, key=lambda each: each.stat().st_mtime_ns)[: len(kept) - _MOST]:
            path.unlink(missing_ok=True)


def of_others(root: Path, others: Iterable[OtherRun]) -> list[Part]:
    """The reports of these runs, of those that ran on the files as they are; a damaged one is passed over."""
    if (root / files.REPORTS).is_symlink():
        return []
    found = (_part(files.of_source(root, each.source), each) for each in others if each.is_current)
    return [part for part in found if part is not None]


def _part(path: Path, run: OtherRun) -> Part | None:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        part = part_of(run.source, path.read_text(encoding="utf-8"), is_alone=True)
    except (OSError, ValueError, RejectedError):
        return None
    is_that_run = part.run == run.run and part.observation.source == run.source
    return part if is_that_run else None
