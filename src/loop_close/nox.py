"""For a noxfile: run a command so that its result is part of the one next prompt.

``from loop_close import nox as loop_close`` and, in a session, ``loop_close.run(session, "pytest", "-q")``.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import nox

_PYTEST = ("pytest", "py.test")


def run(session: nox.Session, *words: str, **options: Any) -> Any:
    """``session.run``, with pytest's plugin, or for another command through ``loop-close run``.

    pytest needs the plugin in the session's environment; for other commands it is that of the noxfile.

    :param words: the command; the session's own programs come first, as in ``session.run``.
    :param options: those of ``session.run``.
    :returns: what ``session.run`` returns.
    """
    if os.path.basename(words[0]) in _PYTEST or words[1:3] == ("-m", "pytest"):
        return session.run(*words, "--loop-close", **options)
    name = os.path.basename(words[0])
    again = [sys.executable, "-m", "loop_close", "run", "--source", f"{name}:{session.name}", "--", *words]
    return session.run(*again, **{**options, "external": True})
