"""The environments of one call of tox or nox: each leaves parts in one folder, and the prompt over all is rewritten.

Used from inside of the runner, where environments may be threads of one process. Under ``loop-close check``
(``LOOP_CLOSE`` is set) the folder is that of the check, and nothing else is written.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import logging
import os
import re
import shlex
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from loop_close.model import Failure, Observation, Provenance

#: The variable that names the folder into which pytest's plugin writes its part.
VARIABLE = "LOOP_CLOSE"
#: How tox begins its warning that an environment is skipped.
SKIPPED = "skipped because "
_PYTEST = ("pytest", "py.test")
_LONGEST = 300
#: How pip, uv, pytest and others begin the line that says why.
_ERROR = re.compile(r"\s*(?:[\w. -]+: )?(?:ERROR|error|Error)\b[:\s]")
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


class Command(NamedTuple):
    """One command of an environment, with what it printed."""

    words: Sequence[str]
    exit_code: int
    texts: Sequence[str] = ()

    @property
    def is_pytest(self) -> bool:
        """Whether it is pytest, by its name or as a module of Python."""
        names = [os.path.basename(word).removesuffix(".exe") for word in self.words]
        return any(
            name in _PYTEST for name in (*names[:1], *(b for a, b in itertools.pairwise(names) if a == "-m"))
        )


class Errors(logging.Handler):
    """What a runner logged as errors in each thread since it was last taken: why an environment failed."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._last = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the text."""
        with contextlib.suppress(Exception):
            text = record.getMessage()
            if record.levelno >= logging.ERROR or text.startswith(SKIPPED):
                self._last.texts = [*getattr(self._last, "texts", ()), text][-2:]

    def taken(self) -> list[str]:
        """The last two texts of this thread, which are then forgotten."""
        texts: list[str] = getattr(self._last, "texts", [])
        self._last.texts = []
        return texts


class Environments:
    """What the environments of one call of a runner leave.

    :param runner: ``tox`` or ``nox``.
    """

    def __init__(self, runner: str) -> None:
        self.runner = runner
        self.given = os.environ.get(VARIABLE, "")
        self.lock = threading.RLock()
        self.reported: set[str] = set()
        self._folder: Path | None = None
        self._own: dict[str, Path] = {}

    def begin(self, root: Path, name: str) -> Path:
        """The folder for the parts of an environment that is about to run: the value of :data:`VARIABLE` for it.

        :raises OSError: when it cannot be made.
        """
        with self.lock:
            if self._folder is None:
                self._folder = Path(self.given) if self.given else _new_folder(root, self.runner)
                self._folder.mkdir(parents=True, exist_ok=True)
            if name not in self._own:
                self._own[name] = Path(tempfile.mkdtemp(prefix="environment-", dir=self._folder))
            return self._own[name]

    def end(self, root: Path, name: str, made: Observation, commands: Sequence[Command] = ()) -> None:
        """Take up the parts of an environment, and write one for what they do not tell.

        :param made: what the runner knows of it: exit code, interpreter, failures, that it was skipped.
        :param commands: what its commands printed.
        """
        from loop_close import parts

        with self.lock:
            self.reported.add(name)
            own = self.begin(root, name)
            is_told, is_red = False, False
            for number, path in enumerate(sorted(own.glob(f"*{parts.SUFFIX}"))):
                with contextlib.suppress(parts.RejectedError):  # it stays, and is rejected by who joins
                    seen = parts.decode(path.read_bytes()).observation
                    if seen.exit_code or seen.failures:
                        is_red = True
                        # A command that may fail, or that passed when it ran again.
                        if not made.exit_code and not self.given:
                            path.unlink()
                            continue
                is_told = True
                path.replace(own.with_name(f"{own.name}-{number}{parts.SUFFIX}"))
            shutil.rmtree(own, ignore_errors=True)
            del self._own[name]
            failed = next((each for each in reversed(commands) if each.exit_code), None)
            is_explained = not made.exit_code or (is_red and (failed is None or failed.is_pytest))
            if made.failures or not (is_told and is_explained):
                rest = [each for each in commands if not (is_told and each.is_pytest)]
                seen = (
                    made
                    if made.failures or made.skipped
                    else _observed(root, self.runner, name, made, rest, failed)
                )
                parts.write(own.parent, parts.Part(observation=seen))

    def rewrite(self, root: Path, waiting: Iterable[str]) -> list[str]:
        """Write the prompt and the JSON report over all parts; the lines to show. Under a check there is nothing to do.

        :param waiting: environments that have not ended: without them nothing is green.
        """
        if self.given or self._folder is None:
            return []
        from loop_close import app, files
        from loop_close.merge import join
        from loop_close.parts import in_report, read_folder
        from loop_close.provenance import provenance_of
        from loop_close.settings import parse_settings

        with self.lock:
            targets = files.targets_of(root, parse_settings(files.settings_table(root)), {})
            found, rejected = read_folder(self._folder)
            left = sorted({*waiting} - self.reported)
            merged = join(found, rejected, expected=left, here=provenance_of(root, os.environ))
            inputs = in_report(merged.parts, merged.unread) if targets.json is not None else None
            return app.terminal_lines(app.write_report(merged.report, targets, inputs=inputs), targets)


def _new_folder(root: Path, runner: str) -> Path:
    """A folder for this process, removed at its end."""
    from loop_close import files

    folder = files.state_folder(root) / runner
    folder.mkdir(exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="run-", dir=folder))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def made_by(runner: str, name: str, root: Path, interpreter: str = "") -> Provenance:
    """What is known of an environment from outside of it."""
    from dataclasses import replace

    from loop_close.provenance import provenance_of

    made = provenance_of(root, os.environ)
    return replace(made, runner=runner, environment=name, interpreter=interpreter)


def _observed(
    root: Path, runner: str, name: str, made: Observation, commands: Sequence[Command], failed: Command | None
) -> Observation:
    """What the commands printed; the command that failed where no reader knows it, or pytest was called wrongly."""
    from dataclasses import replace

    from loop_close.facts import is_a
    from loop_close.readers.streams import observe_texts

    texts = [text for each in commands for text in each.texts]
    seen = observe_texts(texts, made.exit_code, root=str(root), source=made.source)
    if made.exit_code and all(
        is_a(each.raised, "UsageError") for each in seen.failures
    ):  # no test that fails
        command = shlex.join(map(str, failed.words)) if failed is not None else "a command"
        why = f"exit {made.exit_code}: {command}{last_line(*(failed.texts if failed is not None else ()))}"
        counts = replace(seen.counts, errors=0)
        seen = replace(seen, failures=(failure(runner, name, why),), counts=counts, incomplete="")
    return replace(seen, provenance=made.provenance, rerun=made.rerun)


def failure(runner: str, name: str, why: str) -> Failure:
    """The environment as a failure, as the reader of the runner's output makes it."""
    from loop_close.model import Failure

    return Failure(nodeid="", phase="process", tool=runner, code=name, message=f"{name}: {why}")


def last_line(*texts: str) -> str:
    """Why it failed, after ``: ``: the last line that begins as an error, else the last one; empty without one."""
    lines = [line for text in texts for line in _COLORS.sub("", text).splitlines() if line.strip()]
    why = next((line for line in reversed(lines) if _ERROR.match(line)), lines[-1] if lines else "")
    return f": {why.strip()[:_LONGEST]}" if why else ""


def say(lines: Sequence[str]) -> None:
    """Write lines of ours where the runner writes its own; at a terminal in the place of what it spins there."""
    text = "".join(f"loop-close: {line}\n" for line in lines)
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"\r\x1b[0m\x1b[K{text}" if text and sys.stderr.isatty() else text)
