"""``loop-close accept``: a person accepts what was done to tests, so that a green run is done."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import time

from loop_close.cli import INSIDE, driven_tests
from loop_close.cli.memory import NoRunError
from loop_close.cli.parser import UsageError
from loop_close.cli.place import Place, place_of
from loop_close.cli.status import worst_first
from loop_close.cli.streams import Streams
from loop_close.cli.summary import shown
from loop_close.memory import ChangedTest
from loop_close.prompt.loop import diff_of, plain_line, tests_document

#: Variables that hosts set in the shells of their agents.
_AGENTS = ("CLAUDECODE", "GEMINI_CLI", "CODEX_SANDBOX", "CURSOR_AGENT", "OPENCODE", "CLINE_ACTIVE")


def accept(options: argparse.Namespace, streams: Streams) -> int:
    """Accept the changes of the given tests; without one, show what could be accepted.

    :returns: 0; 1 where changes are shown that keep a green run from being done.
    :raises UsageError: for a test that was not changed, and where no person may be at work.
    """
    place = place_of(options)
    changes = changes_of(place)
    if not options.tests and not options.all:
        return _show(changes, streams, as_json=options.json)
    why = why_refused(place.root)
    if why:
        raise UsageError(why)
    chosen = changes if options.all else list(_chosen(changes, options.tests))
    _record(place, chosen, streams)
    for change in chosen:
        streams.say(f"accepted: {shown(plain_line(change), 600)}")
    if not chosen:
        streams.say("no test was changed since the loop began")
    return 0


def changes_of(place: Place) -> list[ChangedTest]:
    """What may be accepted: of the last run of each source, and of the last ``drive``; each once."""
    try:
        known = [change for standing in worst_first(place) for change in standing.summary.tests]
    except NoRunError:
        known = []
    found = {each.fingerprint: each for each in (*known, *driven_tests.left_open(place.root))}
    return [change for change in found.values() if change.state in ("open", "asked")]


def why_refused(root: Path) -> str:
    """Why nothing can be accepted here; empty where a person may be at work."""
    inside = os.environ.get(INSIDE, "")
    if inside or driven_tests.is_driven(root):
        what = "a hook" if inside == "hook" else "loop-close drive"
        return (
            f"accept is refused while {what} is at work here: what its agent did to tests is accepted by a person,"
            " in a terminal of their own, after it has ended"
        )
    agent = next((name for name in _AGENTS if os.environ.get(name)), "")
    if agent:
        return (
            f"accept is refused in the shell of an agent ({agent} is set): restore the tests, or ask a person to run"
            " this command in a terminal of their own"
        )
    return ""


def _chosen(changes: Sequence[ChangedTest], names: Sequence[str]) -> Iterator[ChangedTest]:
    for name in names:
        found = [each for each in changes if name in (each.id, each.file, each.test)]
        if not found:
            known = ", ".join(each.id for each in changes) or "none"
            raise UsageError(f"{shown(name)} is not among the changed tests: {shown(known, 600)}")
        yield from found


def _record(place: Place, changes: Sequence[ChangedTest], streams: Streams) -> None:
    """Write it down in the history, and for the next ``drive``."""
    from loop_close.store.contract import HistoryError
    from loop_close.store.sqlite import open_history

    last = driven_tests.kept(place.root)
    if last is not None:
        last.accepted |= {change.fingerprint for change in changes}
        last.judge()
        if not last.keep(is_running=False):
            raise UsageError(f"cannot write {driven_tests.path_of(place.root)}")
    if not place.history.exists() or not changes:
        return
    by = _user()
    told = {
        each.fingerprint: {"id": each.id, "kind": each.kind, "what": each.what, "by": by} for each in changes
    }
    try:
        with open_history(place.history) as history:
            history.accept(told, time())
            for note in history.notes:
                streams.complain(note)
    except HistoryError as error:
        raise UsageError(str(error)) from None


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # there is no such user, as in some containers
        return ""


def _show(changes: Sequence[ChangedTest], streams: Streams, *, as_json: bool) -> int:
    is_open = any(change.is_open for change in changes)
    if as_json:
        import json

        document = {"schema": "loop-close.test-changes/1", "test_changes": tests_document(changes)}
        streams.say(json.dumps(document, indent=2))
        return int(is_open)
    if not changes:
        streams.say("no test was changed since the loop began")
    for change in changes:
        streams.say(shown(plain_line(change), 600))
        for row in diff_of(change):
            streams.say(f"    {row}")
    if changes:
        streams.say("to accept: loop-close accept TEST..., or --all")
    return int(is_open)
