"""The project that a command is about: its root, settings, history, and the files that it writes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close.checks import root_of
from loop_close.cli import UsageError

if TYPE_CHECKING:
    import argparse

    from loop_close.files import Targets

__all__ = ["NO_RUN", "project_at", "project_of", "root_in", "root_of"]

NO_RUN = "no runs recorded in this project: run loop-close check"


def project_of(options: argparse.Namespace) -> Targets:
    """The project that the working directory belongs to, with the history that the options name.

    :raises UsageError: for invalid settings.
    """
    project, history = project_at(root_of(Path.cwd())), getattr(options, "history", None)
    if history is None:
        return project
    if "://" in history:
        raise UsageError("--history takes a file: commands read the history of this machine")
    return project._replace(history=Path(history).expanduser())


def project_at(root: Path) -> Targets:
    """The project of a root.

    :raises UsageError: for settings that are wrong.
    """
    from loop_close import gate  # late: it takes a while to load

    try:
        return gate.targets_of(root)
    except gate.UnknownError as error:
        raise UsageError(str(error)) from None


def root_in(texts: Iterable[str]) -> str:
    """The working directory, if the logs name files in it; empty for logs from elsewhere, which have their own root."""
    here = os.getcwd()
    return here if any(here + os.sep in text for text in texts) else ""
