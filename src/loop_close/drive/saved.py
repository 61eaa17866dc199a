"""What a driver keeps of its loop, so that another one can go on with it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loop_close import files
from loop_close.agent.saved import Saved
from loop_close.cli.streams import UsageError
from loop_close.drive.watch import Watch
from loop_close.text.redact import clean

STATE = f"{files.STATE_FOLDER}/drive.json"
#: What the agent is given for its turn.
TURN = f"{files.STATE_FOLDER}/turnprompt.md"
_LOCK = f"{files.STATE_FOLDER}/drive.lock"
_SCHEMA = "loop-close.drive/1"
_LARGEST = 10_000_000
_ENDINGS = ("", "done", "stuck", "limit", "interrupted")


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """A loop as it is kept.

    :ivar given: the words of its options by name; empty for what holds a credential, which is not kept.
    :ivar loop: what :meth:`loop_close.agent.loop.AgentLoop.state` gave.
    :ivar watch: what is known from run to run.
    :ivar child: number and birth of the process that was running; 0 for none.
    :ivar tests: a digest of the tests at the loop's start, which are kept elsewhere.
    :ivar ended: how the loop ended, empty while it has not; ``reason`` why.
    """

    given: Mapping[str, str]
    loop: Mapping[str, Any]
    watch: Watch = field(default_factory=Watch)
    child: tuple[int, str] = (0, "")
    tests: str = ""
    ended: str = ""
    reason: str = ""


def keep(root: Path, state: State) -> None:
    """Write the state, whole or not at all.

    :raises OSError: when it cannot be written.
    """
    given = {name: text for name, text in state.given.items() if clean(text) == text}
    document = {
        "schema": _SCHEMA,
        "given": given,
        "loop": state.loop,
        "watch": state.watch.state(),
        "child": state.child,
        "tests": state.tests,
        "ended": state.ended,
        "reason": clean(state.reason, 2_000),
    }
    files.state_folder(root)
    files.write_private(root / STATE, json.dumps(document, indent=1) + "\n")


def kept(root: Path) -> State | None:
    """The state of the last loop; None where there is none.

    :raises UsageError: when it is damaged, naming the field.
    """
    path = root / STATE
    try:
        if path.exists() and not path.is_file():  # nothing that a reader would wait for
            raise UsageError(f"{STATE} is not a regular file; remove it")
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {STATE}: {error.strerror or error}") from None
    try:
        return _state(json.loads(data))
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{STATE} is damaged ({error}); start a new loop without --resume") from None


def _state(document: Any) -> State:
    saved = Saved(document, "drive")
    saved.text("schema", (_SCHEMA,))
    given = saved.record("given")
    pid, birth = document.get("child") or (0, "")
    return State(
        given={name: given.text(name) for name in given.names()},
        loop=saved.plain("loop"),
        watch=Watch.from_saved(saved.record("watch")),
        child=(pid, birth) if isinstance(pid, int) and isinstance(birth, str) else (0, ""),
        tests=saved.text("tests") if "tests" in saved.names() else "",
        ended=saved.text("ended", _ENDINGS),
        reason=saved.text("reason"),
    )


@contextlib.contextmanager
def alone(root: Path) -> Iterator[None]:
    """Hold the project: two loops in one would undo each other's edits.

    The system lets go of it for a driver that is killed.

    :raises UsageError: when somebody else holds it, or the state cannot be kept.
    """
    try:
        files.state_folder(root)
        handle = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise UsageError(f"cannot write to {files.STATE_FOLDER}: {error.strerror or error}") from None
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    with contextlib.suppress(ImportError):  # Windows
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError("another loop-close drive is running in this project") from None
