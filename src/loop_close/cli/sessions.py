"""How often the agents of each session were sent back, and what they said: a small file beside the history."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from loop_close import files
from loop_close.process import locked

_SCHEMA = "loop-close.sessions/1"
_LOCK = "sessions.lock"
_MOST = 100
_LARGEST = 1_000_000
_RUN = re.compile(r"[0-9]{1,15} [0-9]{1,15}(?:\.[0-9]{1,20})? .{1,400}", re.DOTALL)
_MARK = re.compile(r"([0-9]{1,9} [0-9a-f]{16})?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """What is remembered of one session of an agent.

    :ivar blocks: how often in a row it was sent back; ``run`` names the last run then, ``code`` a digest of
        the files as they were.
    :ivar turns: how often it was sent back since it was last let go.
    :ivar is_back: it was sent back when it last wanted to stop, and not let go.
    :ivar told: length and digest of all that it had said then, where its host says all of it again; empty elsewhere.
    :ivar responses: what it said over the last red runs, the oldest first: the end of what was nothing but test
        output, empty for all else.
    :ivar errors: what each of them told of an error, values masked; empty for none.
    :ivar asked: digests of the sets of functions for which it was sent back, as no test ran them, and fingerprints of
        the changes to tests that were reported to it.
    :ivar known: number, start and source of the last run that was seen; ``is_lost``: the history had it no more. They
        are kept outside of the project alone, of the session as a whole.
    :ivar began: how it is known when the session began, then the last run of each source until then, as it can be known
        again; kept like ``known``. Empty where that was not yet taken down.
    """

    blocks: int = 0
    run: str = ""
    code: str = ""
    turns: int = 0
    is_back: bool = False
    told: str = ""
    responses: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    known: str = ""
    is_lost: bool = False
    began: tuple[str, ...] = ()


def key_of(host: str, session: str) -> str:
    """What a session goes by: its own name may be anything, and is nobody's business."""
    try:
        from _blake2 import blake2b  # as that is what it comes to; hashlib loads OpenSSL first
    except ImportError:
        from hashlib import blake2b

    return blake2b(f"{host}\0{session}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def mark_of(message: str) -> str:
    """What a text is known by again: its length and a digest."""
    return f"{len(message)} {key_of('', message)}"


def new_in(message: str, told: str) -> str:
    """What was added to a text, in lines of its own, since this was its mark; all of it where it began otherwise."""
    length = int(told.partition(" ")[0] or 0)
    is_same = mark_of(message[:length]) == told and message[length : length + 1] in ("", "\n")
    return message[length + 1 :] if is_same else message


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
    blocks, run, code, turns = value["blocks"], value["run"], value["code"], value.get("turns", 0)
    is_back, told = value.get("is_back", False), value.get("told", "")
    if not (
        isinstance(blocks, int) and isinstance(turns, int) and isinstance(run, str) and isinstance(code, str)
    ):
        raise TypeError
    if not (isinstance(is_back, bool) and isinstance(told, str) and _MARK.fullmatch(told)):
        raise TypeError
    seen, is_lost = value.get("known", ""), value.get("is_lost", False)
    if not (isinstance(seen, str) and isinstance(is_lost, bool)):
        raise TypeError
    responses, errors, asked = (_texts(value.get(name, [])) for name in ("responses", "errors", "asked"))
    began = _texts(value.get("began", []))
    if not all(map(_RUN.fullmatch, began[1:])):
        raise TypeError
    known = Session(blocks=blocks, run=run, code=code, turns=turns, is_back=is_back, told=told)
    known = replace(known, responses=responses, errors=errors, asked=asked, known=seen, is_lost=is_lost)
    return replace(known, began=began)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise TypeError
    return tuple(value)


def keep(path: Path, key: str, session: Session) -> bool:
    """Remember a session as the latest; the oldest are forgotten. Another process that does the same is waited for.

    :returns: whether it could be written.
    """
    if path.parent.is_symlink():  # what it leads to is not ours to write
        return False
    try:
        with locked(path.with_name(_LOCK)):
            files.write_private(path, _text({**_without(sessions(path), key), key: session}))
    except OSError:
        return False
    return True


def _without(known: dict[str, Session], key: str) -> dict[str, Session]:
    return {name: session for name, session in known.items() if name != key}


def _text(known: dict[str, Session]) -> str:
    """The file's text, the oldest left out: of all but the latest what is more than the file may hold, too."""
    kept = {name: asdict(session) for name, session in list(known.items())[-_MOST:]}
    text = json.dumps({"schema": _SCHEMA, "sessions": kept}, indent=1)
    return (
        f"{text}\n"
        if len(text) < _LARGEST or len(kept) == 1
        else _text(dict(list(known.items())[-len(kept) // 2 :]))
    )
