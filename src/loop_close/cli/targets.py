"""What ``loop-close run`` writes, and where: checked before, announced, and told apart from what others wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from loop_close import files, targets
from loop_close.cli.parser import UsageError
from loop_close.cli.place import settings_of
from loop_close.targets import Targets

if TYPE_CHECKING:
    from loop_close.remember import Memory


def targets_of(root: Path) -> Targets:
    """The files that the project's settings name.

    :raises UsageError: for settings that are wrong.
    """
    try:
        return targets.targets_of(root, settings_of(root), {})
    except files.UnusablePathError as error:
        raise UsageError(str(error)) from None


def begin_memory(targets: Targets, source: str, *, is_own: bool = True, sees_files: bool = True) -> Memory:
    """The run's place in the history, taken before it starts.

    :param is_own: False for a command that remembers its run itself.
    :param sees_files: False for a run of other files than those of the project as they are.
    """
    from loop_close.remember import begin

    ours = (targets.prompt, targets.json, targets.history)
    history = targets.history if is_own else None
    return begin(targets.root, source, history, ours, sees_files=sees_files)


def is_told(targets: Targets, exit_code: int) -> bool:
    """Whether the command wrote the file itself: a prompt that has more than its output, or anything else.

    A prompt of a run that was killed has nothing, and a green one does not count where the command failed after all.
    """
    path = targets.prompt
    try:
        is_ours = files.is_prompt(path)
    except OSError:
        return False
    is_news = files.is_finished(path) and not (exit_code and files.is_green(path))
    return not is_ours or is_news or files.is_green_but_for_known(path)
