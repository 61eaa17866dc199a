"""The plugin for tox: pytest in each environment reports to the command of ours in which tox runs; off elsewhere.

tox loads it always, so it imports nothing else. nox needs none: it passes the variable on by itself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tox.plugin import impl
from tox.tox_env.runner import RunToxEnv

if TYPE_CHECKING:
    from tox.tox_env.api import ToxEnv

#: The variable that names the folder into which pytest's plugin writes its part.
_VARIABLE = "LOOP_CLOSE"


@impl
def tox_before_run_commands(tox_env: ToxEnv) -> None:
    """Pass the variable on, unless the result of the environment does not count."""
    folder = os.environ.get(_VARIABLE)
    if folder and isinstance(tox_env, RunToxEnv) and not tox_env.conf["ignore_outcome"]:
        tox_env.conf["set_env"].update({_VARIABLE: folder})
