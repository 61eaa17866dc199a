"""What the tests called, with what is remembered of earlier runs, and have it remembered for later ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from loop_close.pytest_plugin.calls import collected
from loop_close.pytest_plugin.command import selection

if TYPE_CHECKING:
    import pytest

    from loop_close.calls import Calls
    from loop_close.pytest_plugin.session import Recorder
    from loop_close.remember import Memory


def called(recorder: Recorder, session: pytest.Session, incomplete: str) -> tuple[Calls | None, str]:
    """What the tests called, with counts from memory where few passed; why that is not known, or not in full.

    :param incomplete: why the run did not come to its end: then it is not remembered.
    """
    memory = recorder.memory if recorder.memory is not None and recorder.memory.is_kept else None
    if memory is None and not recorder.failures:  # nobody asks
        return None, ""
    try:
        calls, why_not = collected(recorder.config)
        if calls is None and why_not and recorder.failures:
            calls, why_not = _from_contexts(recorder, why_not)
        if calls is None or memory is None:
            return calls, why_not
        if calls.passed and not incomplete:
            is_whole = not selection(recorder.config) and not why_not  # as where a worker died
            memory.keep_calls(calls, [item.nodeid for item in session.items], is_whole=is_whole)
        return (_completed(calls, memory) if calls.failed else calls), why_not
    except Exception as fault:  # all else that there is to say is worth more
        from loop_close.text import fault_text

        return None, f"internal error of loop-close: {fault_text(fault)}"


def _from_contexts(recorder: Recorder, why_not: str) -> tuple[Calls | None, str]:
    """What coverage.py wrote down of each test, where the monitor could not look.

    :param why_not: why it could not.
    """
    from loop_close.monitor.contexts import calls_from_contexts, data_file

    root = str(recorder.config.rootpath)
    failed = {failure.nodeid for failure in recorder.failures if failure.nodeid}
    calls, reason = calls_from_contexts(data_file(root, os.environ), root, failed)
    return calls, "" if calls is not None else f"{why_not}; {reason}"


def _completed(calls: Calls, memory: Memory) -> Calls:
    kept = memory.fuller_calls()
    if kept is None:
        return calls
    from loop_close.causes.spectrum import completed

    return completed(calls, kept.calls, {test for test in calls.failed if not kept.has_passed(test)})
