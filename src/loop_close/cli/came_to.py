"""The sources that a command ran: the state of each, and the result of the worst."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from loop_close import files
from loop_close.cli.memory import Remembered, read
from loop_close.cli.parser import UsageError
from loop_close.cli.place import Place, place_at
from loop_close.cli.recording import recorded_in
from loop_close.cli.standing import Standing
from loop_close.cli.status import worst_first
from loop_close.memory import Episode, Progress, Run
from loop_close.remember import limits_of


@dataclass(frozen=True, kw_only=True, slots=True)
class CameTo:
    """What a command came to that ran tests or checks.

    :ivar standings: of the sources that it ran, the worst first; empty where nothing was remembered.
    :ivar progress: of the worst, against its episode; ``run`` what is remembered of it; None where that is not known.
    :ivar is_good_news: the prompt that is there now is of a green run, as far as is remembered.
    """

    standings: tuple[Standing, ...] = ()
    progress: Progress | None = None
    run: Run | None = None
    is_good_news: bool = False


def last_numbers(root: Path) -> dict[str, int]:
    """The number of the last run of every source of a project; nothing where nothing is remembered."""

    def numbers(memory: Remembered) -> dict[str, int]:
        return {source: memory.rows(source, 1)[-1].number for source in memory.sources()}

    with contextlib.suppress(UsageError):
        return read(place_at(root).history, numbers)
    return {}


def has_run(root: Path, run: str) -> bool:
    """Whether the history of a project has that run, as :func:`loop_close.store.runs.known_by` makes it."""
    with contextlib.suppress(UsageError):
        return read(place_at(root).history, lambda memory: memory.has_run(run))
    return False


def came_to(root: Path, before: Mapping[str, int]) -> CameTo:
    """What came of the sources of a project that have run since.

    :param before: what :func:`last_numbers` gave then.
    """
    try:
        place = place_at(root)
        found = worst_first(place)
    except UsageError:
        return CameTo()
    # A red run leaves its report, which the next one takes away.
    is_red = (root / files.REPORT).exists()
    is_good_news = not is_red and any(s.prompt is not None and s.summary.verdict == "green" for s in found)
    ran = tuple(each for each in found if before.get(each.last.source) != each.last.number)
    if not ran:
        return CameTo(is_good_news=is_good_news)
    progress, run = _progress(place, ran[0])
    return CameTo(standings=ran, progress=progress, run=run, is_good_news=is_good_news)


def _progress(place: Place, standing: Standing) -> tuple[Progress | None, Run | None]:
    """What the run came to against those before it."""
    from loop_close.progress import advance

    limits, episode, made, run = limits_of(place.settings), Episode(), None, None
    with contextlib.suppress(UsageError):
        for each in recorded_in(place.history, standing.last.source):
            made, run = advance(episode, each.run, limits), each.run
            episode = made.episode
    if made is None or run is None or run.number != standing.last.number:
        return None, None
    return made.progress, run
