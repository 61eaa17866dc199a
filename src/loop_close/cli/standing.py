"""The state of a source after its last run, and the path of its prompt."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loop_close import files
from loop_close.cli.memory import Remembered
from loop_close.cli.place import Place
from loop_close.cli.summary import Summary, summary_of
from loop_close.memory import MERGED
from loop_close.store.contract import RunRow

_SOURCE = re.compile(r"^- `([^`\n]{1,200})`: ", re.MULTILINE)
#: Characters of a prompt in which its sources are looked for: they stand at its top.
_MOST_READ = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """The state of a source.

    :ivar last: its last run, whatever became of it.
    :ivar finished: the last that ended; None where none did.
    :ivar prompt: where a prompt lies that is of that run, or tells its result among others, as an absolute path; None
        where it does not tell of it any more, or is gone.
    """

    last: RunRow
    finished: RunRow | None
    summary: Summary
    prompt: Path | None

    @property
    def verdict(self) -> str:
        """``green``, ``failing`` or ``stuck``: an unknown result is not green."""
        if self.summary.breaker.state == "open" or self.summary.verdict == "stuck":
            return "stuck"
        is_tampered = any(signal.kind == "test-tampering" for signal in self.summary.fired)
        is_green = self.summary.verdict == "green" and self.last.state != "killed" and not is_tampered
        return "green" if is_green else "failing"


def last_runs(memory: Remembered, source: str | None) -> list[tuple[RunRow, RunRow | None]]:
    """Of the source, or of each, its last run and the last one that ended."""
    if source is not None:
        return [_last_of(memory, source)]
    return _without_older_merge([_last_of(memory, name) for name in memory.sources()])


def _without_older_merge(pairs: list[tuple[RunRow, RunRow | None]]) -> list[tuple[RunRow, RunRow | None]]:
    """The last runs but for merged reports that are older than another: those are of files that were others then."""
    newest = max(end_of(finished) for _, finished in pairs)
    kept = [pair for pair in pairs if pair[0].source != MERGED or end_of(pair[1]) == newest]
    return kept or pairs


def _last_of(memory: Remembered, source: str) -> tuple[RunRow, RunRow | None]:
    last = memory.rows(source, 1)[-1]
    rows = (last,) if last.state == "done" else memory.rows(source)
    return last, next((row for row in reversed(rows) if row.state == "done"), None)


def standings(
    pairs: Sequence[tuple[RunRow, RunRow | None]], place: Place, accepted: Collection[str] = ()
) -> Iterator[Standing]:
    """Where they stand, each with its prompt where that is still there.

    :param accepted: fingerprints of changes to tests that a person accepted.
    """
    newest = max(pairs, key=lambda pair: end_of(pair[1]))[1]
    prompt = _prompt(place)
    told = _sources_in(prompt) if len(pairs) > 1 else ()
    for last, finished in pairs:
        yield Standing(
            last=last,
            finished=finished,
            summary=summary_of(finished or last).judged(accepted),
            prompt=prompt if finished is not None and (finished is newest or last.source in told) else None,
        )


def end_of(row: RunRow | None) -> float:
    """When it ended, else when it began; 0 for none."""
    return 0.0 if row is None else row.ended or row.started


def _prompt(place: Place) -> Path | None:
    """The prompt, where it is one that a finished run wrote."""
    path = place.root / place.settings.file
    # Nothing that a reader would wait for.
    return path if path.is_file() and files.is_finished(path) else None


def _sources_in(path: Path | None) -> Collection[str]:
    """The sources whose results the prompt tells, of those that are not green: each has a line of its own."""
    return _SOURCE.findall(prompt_text(path, _MOST_READ))


def prompt_text(path: Path | None, limit: int) -> str:
    """The beginning of the prompt, made safe once more; empty where there is none, or it is not where we write it."""
    if path is None or path.is_symlink() or not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            text = file.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""
    from loop_close.prompt.show import safe

    return safe(files.without_signature(text), limit)
