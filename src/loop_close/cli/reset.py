"""``loop-close reset``: forget the runs that are remembered."""

from __future__ import annotations

import argparse
from pathlib import Path

from loop_close.cli.memory import DamagedError, NoRunError, read
from loop_close.cli.parser import UsageError
from loop_close.cli.place import place_of
from loop_close.cli.streams import Streams


def reset(options: argparse.Namespace, streams: Streams) -> int:
    """Forget all runs, or those of a source, and print how many there were; 0 although there was none."""
    place = place_of(options)
    try:
        # What is no history of ours must not be touched: to open it for writing would put it out of the way.
        read(place.history, lambda memory: None, options.source)
        count = _forgotten(place.history, options.source, streams)
    except NoRunError as error:
        streams.complain(str(error))
        count = 0
    except DamagedError:
        count = _forgotten(place.history, options.source, streams)
    streams.say(f'{{"forgotten": {count}}}' if options.json else f"{count} run{'s' * (count != 1)} forgotten")
    return 0


def _forgotten(path: Path, source: str | None, streams: Streams) -> int:
    from loop_close.store.contract import HistoryError
    from loop_close.store.sqlite import open_history

    try:
        with open_history(path) as history:
            count = history.reset(source)
            for note in history.notes:
                streams.complain(note)
            return count
    except HistoryError as error:
        raise UsageError(str(error)) from None
