"""How often the agents of each session were sent back: a small file beside the history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

from loop_close import files

_SCHEMA = "loop-close.sessions/1"
_MOST = 100
_LARGEST = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """What is remembered of one session of an agent.

    :ivar blocks: how often in a row it was sent back; ``run`` names the last run then, ``code`` a digest of
        the files as they were.
    """

    blocks: int = 0
    run: str = ""
    code: str = ""


def key_of(host: str, session: str) -> str:
    """What a session goes by: its own name may be anything, and is nobody's business."""
    return blake2b(f"{host}\0{session}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def sessions(path: Path) -> dict[str, Session]:
    """The sessions by key, the latest last; none where the file is missing or damaged."""
    try:
        if not path.is_file():  # nothing that a reader would wait for
            return {}
        with path.open("rb") as file:
            text = file.read(_LARGEST + 1)
        found = json.loads(text)["sessions"] if len(text) <= _LARGEST else {}
        return {str(key): _session(value) for key, value in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _session(value: Mapping[str, object]) -> Session:
    blocks, run, code = value["blocks"], value["run"], value["code"]
    if not (isinstance(blocks, int) and isinstance(run, str) and isinstance(code, str)):
        raise TypeError
    return Session(blocks=blocks, run=run, code=code)


def keep(path: Path, key: str, session: Session) -> bool:
    """Remember a session as the latest; the oldest are forgotten.

    :returns: whether it could be written.
    """
    known = sessions(path)
    known.pop(key, None)
    kept = dict(list({**known, key: session}.items())[-_MOST:])
    text = json.dumps({"schema": _SCHEMA, "sessions": {k: asdict(s) for k, s in kept.items()}}, indent=1)
    if path.parent.is_symlink():  # what it leads to is not ours to write
        return False
    try:
        files.write(path, [f"{text}\n"])
    except OSError:
        return False
    return True
