"""The environment in which commands of the project are started."""

from __future__ import annotations

import os
import sys

#: The words of ``loop-close check`` by this interpreter. -P: a module of the project must not take the place of ours.
OUR_CHECK = (sys.executable, "-P", "-m", "loop_close", "check")


def environment() -> dict[str, str]:
    """Ours, with the folder of this Python on the path: the ``loop-close`` there is this one.

    It comes first unless an environment was activated: then that one was meant.
    """
    path, ours = os.environ.get("PATH", os.defpath), os.path.dirname(sys.executable)
    is_activated = any(name in os.environ for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    return {**os.environ, "PATH": os.pathsep.join((path, ours) if is_activated else (ours, path))}
