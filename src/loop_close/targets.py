"""The files that a run writes: where they are, and what becomes of those of the run before."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from loop_close import files
from loop_close.files import UnusablePathError
from loop_close.settings import OFF, Settings


class Targets(NamedTuple):
    """Where to write.

    :ivar json: None where no JSON report is wanted.
    :ivar history: None where nothing is to be remembered.
    """

    root: Path
    prompt: Path
    json: Path | None
    history: Path | None
    settings: Settings

    @property
    def name(self) -> str:
        """The prompt's path as the project writes it."""
        is_inside = self.prompt.is_relative_to(self.root)
        return self.prompt.relative_to(self.root).as_posix() if is_inside else str(self.prompt)

    def announce(self) -> Mapping[Path, bytes]:
        """Say in the prompt that tests are running, and remove the JSON report. The state folder keeps its report.

        What cannot be written is reported at the end of the run.

        :returns: what the files held that are replaced, for :func:`restore`.
        """
        former = self.contents()
        with contextlib.suppress(OSError, UnusablePathError):
            self.write_prompt(files.RUNNING_TEXT)
        if self.json in former:
            with contextlib.suppress(OSError):
                self.json.unlink(missing_ok=True)
        return former

    def contents(self) -> dict[Path, bytes]:
        """What the prompt and the JSON report hold, as far as they are there and ours."""
        found: dict[Path, bytes] = {}
        for path in (self.prompt, self.json):
            with contextlib.suppress(OSError, UnusablePathError):
                self._check(path)
                if path is not None and path.exists():
                    found[path] = path.read_bytes()
        return found

    def write_prompt(self, text: str) -> None:
        """Replace the prompt.

        :raises UnusablePathError: when its path cannot be written, or holds what we did not write.
        :raises OSError: when writing fails; the old file is then untouched.
        """
        self._check(self.prompt)
        files.write_prompt(self.prompt, text)

    def write_json(self, pieces: Iterable[str]) -> None:
        """Replace the JSON report, if one is wanted.

        :raises UnusablePathError: when its path cannot be written, or holds what we did not write.
        :raises OSError: when writing fails; the old file is then untouched.
        """
        if self.json is not None:
            self._check(self.json)
            files.write(self.json, pieces)

    def _check(self, path: Path | None) -> None:
        if path is not None:
            is_ours = files.is_prompt if path == self.prompt else files.is_report
            try:
                files.check_writable(files.check_inside(self.root, path), is_ours)
            except UnusablePathError as error:  # by the name that the user knows
                raise UnusablePathError(str(error).replace(f"{self.root}{os.sep}", "", 1)) from error


def targets_of(root: Path, settings: Settings, given: Mapping[str, Path]) -> Targets:
    """The files that the settings name.

    :param root: the project's root, absolute.
    :param given: paths from the command line, by the name of their setting: ``file``, ``json``, ``history``.
    :raises UnusablePathError: when a setting leads out of the root, and when both files are one.
    """

    def path(key: str, value: str) -> Path:
        return given[key] if key in given else files.path_of_setting(root, key, value)

    prompt = path("file", settings.file)
    report = path("json", settings.json) if settings.json else None
    history = path("history", settings.history) if settings.history != OFF else None
    if report is not None and os.path.realpath(prompt) == os.path.realpath(report):
        raise UnusablePathError(f"{prompt} cannot be both the prompt and the JSON report")
    return Targets(root=root, prompt=prompt, json=report, history=history, settings=settings)


def shows_failing_tests(former: Mapping[Path, bytes], targets: Targets) -> bool:
    """Whether the prompt before this run is of one with failing tests, or that was killed, and their list is there.

    :param former: what :meth:`Targets.announce` returned.
    """
    text = former.get(targets.prompt, b"").decode("utf-8", "replace")
    if not text.startswith("# ") or files.is_fault_or_green(text):
        return False
    try:
        return bool(files.read_failed(targets.root))
    except (OSError, ValueError):
        return False


def restore(former: Mapping[Path, bytes]) -> None:
    """Put back what :meth:`Targets.announce` replaced."""
    for path, content in former.items():
        with contextlib.suppress(OSError):
            files.write(path, [content.decode("utf-8", "surrogateescape")])
