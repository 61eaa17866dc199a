"""How often the agents of each session were sent back: a small file beside the history."""

from __future__ import annotations

import contextlib
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

    :ivar blocks: how often in a row it was sent back; ``run`` the number of the last run then, ``code`` a digest of
        the files as they were.
    """

    blocks: int = 0
    run: int = 0
    code: str = ""


def key_of(host: str, session: str) -> str:
    """What a session goes by: its own name may be anything, and is nobody's business."""
    return blake2b(f"{host}\0{session}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def sessions(path: Path) -> dict[str, Session]:
    """The sessions by key, the latest last; none where the file is missing or damaged."""
    try:
        if path.stat().st_size > _LARGEST:
            return {}
        found = json.loads(path.read_bytes())["sessions"]
        return {str(key): _session(value) for key, value in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _session(value: Mapping[str, object]) -> Session:
    blocks, run, code = value["blocks"], value["run"], value["code"]
    if not (isinstance(blocks, int) and isinstance(run, int) and isinstance(code, str)):
        raise TypeError
    return Session(blocks=blocks, run=run, code=code)


def keep(path: Path, key: str, session: Session) -> None:
    """Remember a session as the latest; the oldest are forgotten. Where nothing can be written, nothing is."""
    known = sessions(path)
    known.pop(key, None)
    kept = dict(list({**known, key: session}.items())[-_MOST:])
    text = json.dumps({"schema": _SCHEMA, "sessions": {k: asdict(s) for k, s in kept.items()}}, indent=1)
    with contextlib.suppress(OSError):
        files.write(path, [f"{text}\n"])
