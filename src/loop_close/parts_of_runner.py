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

from msgspec.structs import replace

if TYPE_CHECKING:
    from loop_close.model import Failure, Observation

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
        return names[0] in _PYTEST or any(a == "-m" and b in _PYTEST for a, b in itertools.pairwise(names))


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
                self._last.texts = [*getattr(self._last, "texts", ()), text]

    def taken(self) -> list[str]:
        """The texts of this thread, which are then forgotten."""
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
        self.reported: set[str] = set()
        self._lock = threading.RLock()
        self._folder: Path | None = None
        self._own: dict[str, Path] = {}

    def begin(self, name: str) -> Path:
        """The folder for the parts of an environment that is about to run: the value of :data:`VARIABLE` for it.

        :raises OSError: when it cannot be made.
        """
        with self._lock:
            if self._folder is None:
                self._folder = Path(self.given or tempfile.mkdtemp(prefix="loop-close-"))
                if not self.given:
                    atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
            own = self._own.setdefault(name, self._folder / f"{os.getpid()}-{len(self._own)}")
            own.mkdir(parents=True, exist_ok=True)
            return own

    def end(
        self,
        root: Path,
        name: str,
        exit_code: int,
        commands: Sequence[Command] = (),
        *,
        rerun: str,
        waiting: Iterable[str],
        why: str = "",
        skipped: str = "",
    ) -> None:
        """Write a part for what those of an environment do not tell, and the prompt over all.

        :param commands: what its commands printed.
        :param rerun: the command that runs it again.
        :param waiting: environments of this call: without those that have not ended nothing is green.
        :param why: why it failed, if that was none of the commands; ``skipped`` why it did not run.
        """
        from loop_close import parts
        from loop_close.model import Observation
        from loop_close.provenance import provenance_of

        provenance = replace(
            provenance_of(root, os.environ), runner=self.runner, environment=name, interpreter=""
        )
        made = Observation(
            exit_code=exit_code,
            source=name,
            provenance=provenance,
            rerun=rerun,
            expects_tests=False,
            skipped=skipped,
            failures=(self._failure(name, why),) if why else (),
        )
        with self._lock:
            self.reported.add(name)
            own = self.begin(name)
            if why or skipped:
                parts.write(own / "environment", parts.Part(observation=made))
            elif left := self._unexplained(own, exit_code, commands):
                parts.write(own / "environment", parts.Part(observation=self._observed(root, made, left)))
            lines = [] if self.given else self._rewrite(root, waiting)
        if exit_code:
            say(lines)

    def _unexplained(self, own: Path, exit_code: int, commands: Sequence[Command]) -> Sequence[Command]:
        """The commands of an environment whose result its parts do not explain; empty if they do."""
        from loop_close import parts

        is_red = []
        for path in own.glob(f"*{parts.SUFFIX}"):
            with contextlib.suppress(parts.RejectedError):  # who joins names it
                seen = parts.decode(path.read_bytes()).observation
                is_red.append(bool(seen.exit_code or seen.failures))
                if is_red[-1] and not (exit_code or self.given):
                    path.unlink()  # of a command that may fail, or that passed when it ran again
                    is_red.pop()
        if not is_red:
            return commands or [Command((self.runner,), exit_code)]
        is_explained = not exit_code or (any(is_red) and _failing(commands).is_pytest)
        return [] if is_explained else [each for each in commands if not each.is_pytest]

    def _observed(self, root: Path, made: Observation, commands: Sequence[Command]) -> Observation:
        """What the commands printed; the one that failed where no reader knows it, or pytest was called wrongly."""
        from loop_close.facts import is_a
        from loop_close.readers.streams import observe_texts

        texts = [text for each in commands for text in each.texts]
        seen = observe_texts(texts, made.exit_code, root=str(root), source=made.source)
        if made.exit_code and all(is_a(each.raised, "UsageError") for each in seen.failures):
            failed = _failing(commands)
            why = f"exit {made.exit_code}: {shlex.join(map(str, failed.words))}{last_line(*failed.texts)}"
            failures = (self._failure(made.source, why),)
            seen = replace(seen, failures=failures, counts=replace(seen.counts, errors=0), incomplete="")
        return replace(seen, provenance=made.provenance, rerun=made.rerun)

    def _failure(self, name: str, why: str) -> Failure:
        """The environment as a failure, as the reader of the runner's output makes it."""
        from loop_close.model import Failure

        return Failure(nodeid="", phase="process", tool=self.runner, code=name, message=f"{name}: {why}")

    def _rewrite(self, root: Path, waiting: Iterable[str]) -> list[str]:
        """Write the prompt and the JSON report over all parts; the lines to show."""
        from loop_close import app, files
        from loop_close.merge import join
        from loop_close.parts import in_report, read_folder
        from loop_close.settings import parse_settings

        targets = files.targets_of(root, parse_settings(files.settings_table(root)), {})
        found, rejected = read_folder(self._folder or root)
        report = join(found, rejected, expected=sorted({*waiting} - self.reported))
        return app.terminal_lines(
            app.write_report(report, targets, inputs=in_report(found, rejected)), targets
        )


def _failing(commands: Sequence[Command]) -> Command:
    """The last one that failed."""
    return next((each for each in reversed(commands) if each.exit_code), Command(("a command",), 1))


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
