"""The next prompt as the project's file has it."""

from __future__ import annotations

from pathlib import Path

from loop_close import files
from loop_close.cli.place import root_of, settings_of
from loop_close.text.sanitize import sanitize

#: Of the resource.
URI = "loop-close://nextprompt"
# The budget is a setting without an upper bound; a host's context has one.
_MAX_BYTES = 400_000


def prompt_file() -> Path:
    """Where the next prompt of the project lies, or would.

    :raises UsageError: for settings that are wrong.
    :raises UnusablePathError: for a path that leads out of the project.
    """
    root = root_of(Path.cwd())
    return files.check_inside(root, files.path_of_setting(root, "file", settings_of(root).file))


def written_prompt() -> str:
    """What the last run wrote; empty where there is nothing, or nothing of ours."""
    path = prompt_file()
    try:
        is_ours = files.is_prompt(path)
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    # Tests may have written into it: what a reader cannot see has no place in it whoever wrote it.
    return sanitize(files.without_signature(text)) if is_ours else ""


def next_prompt() -> str:
    """The text of the resource: the prompt, or that there is none."""
    return written_prompt() or (
        f"No next prompt: {prompt_file().name} does not exist, or loop-close did not write it."
        " A test run writes it: call loop_run, or run pytest --loop-close.\n"
    )
