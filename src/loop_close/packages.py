"""What installed packages add to loop-close: the entry points of one group; loads none of our own modules."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points

GROUP = "loop_close"


def packages(is_left_out: Callable[[str], bool] = lambda name: False) -> Iterator[EntryPoint]:
    """The entry points in the order of their names, to be loaded each for itself; none where pytest loads none.

    :param is_left_out: asked for each name.
    """
    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        return
    for entry in sorted(entry_points(group=GROUP)):
        if not is_left_out(entry.name):
            yield entry
