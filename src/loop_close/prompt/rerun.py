"""The one command that runs the failing tests again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from loop_close.facts import test_function
from loop_close.model import Observation
from loop_close.prompt.show import safe

#: Bytes that the named tests may take: fewer where `--lf` says the same in one word.
_MAX_SELECTED = 200
_MAX_BESIDE_LAST_FAILED = 120


def rerun_command(observation: Observation) -> str:
    """A POSIX shell command, every word quoted, that selects just the failing tests.

    Node ids where they are few, else ``--lf`` (pytest's own record of what failed), else a file that names them
    (``@file``, since pytest 8.2), else the test files, or all where those are many.
    """
    words = _words(observation)
    nodeids = selected_tests(observation)
    for selected in (nodeids, sorted({test_function(n) for n in nodeids})):
        if selected and _size(selected) <= _most(observation):
            return shlex.join([*words, *selected])
    if observation.can_rerun_last_failed and any(f.nodeid for f in observation.failures):
        return shlex.join([*words, "--lf"])
    if not nodeids:
        return shlex.join(words)
    if observation.argument_file:
        return shlex.join([*words, f"@{observation.argument_file}"])
    files = sorted({n.split("::", 1)[0] for n in nodeids})
    return shlex.join([*words, *(files if _size(files) <= _MAX_SELECTED else ())])


def names_tests(observation: Observation) -> bool:
    """Whether :func:`rerun_command` spells out the node id of every failing test."""
    nodeids = selected_tests(observation)
    is_whole = {failure.nodeid for failure in observation.failures} == {*nodeids}
    return bool(observation.rerun and nodeids) and is_whole and _size(nodeids) <= _most(observation)


def _most(observation: Observation) -> int:
    return _MAX_BESIDE_LAST_FAILED if observation.can_rerun_last_failed else _MAX_SELECTED


def command_for(observation: Observation, tests: Sequence[str]) -> str:
    """The same for tests that are known by name; all tests where they are many or cannot be shown."""
    words, nodeids = _words(observation), sorted({_selectable(test) for test in tests if "::" in test})
    is_fit = nodeids and "" not in nodeids and _size(nodeids) <= _MAX_SELECTED
    return shlex.join([*words, *(nodeids if is_fit else ())])


def _words(observation: Observation) -> list[str]:
    """The command without its options where one cannot be shown: half of them would be another command."""
    words = list(observation.rerun)
    if all(map(_is_showable, words)):
        return words
    start = words[: words.index("--loop-close") + 1] if "--loop-close" in words else []
    return start if start and all(map(_is_showable, start)) else ["pytest", "--loop-close"]


def _size(words: list[str]) -> int:
    """What the words cost, in bytes: other scripts take more than one a character."""
    return len(shlex.join(words).encode("utf-8", "replace"))


def selected_tests(observation: Observation) -> list[str]:
    """The failing tests as pytest takes them on its command line, sorted, each once; empty for all."""
    found = {_selectable(f.nodeid) for f in observation.failures if f.nodeid}
    return [] if "" in found else sorted(found)


def _selectable(nodeid: str) -> str:
    """The node id, or what of it can be shown: that of the whole function, or the file; else nothing."""
    candidates = (nodeid, test_function(nodeid), nodeid.split("::", 1)[0])
    return next((c for c in candidates if _is_showable(c)), "")


def _is_showable(word: str) -> bool:
    """Whether it stays what it is when it is made safe: no controls, no credentials."""
    return safe(word) == word and "\n" not in word
