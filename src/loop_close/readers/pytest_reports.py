"""pytest's test and collection reports as failures, and exceptions as text between processes."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from loop_close.facts import COLLECTIONS_DIFFER
from loop_close.model import Failure, Raised
from loop_close.readers import PHASES
from loop_close.text.redact import clean

_MAX_WORDS = 16_000


def read_report(report: Any, raised: Raised | None, root: str = "") -> Failure:
    """A failed TestReport or CollectReport as a failure.

    :param report: pytest's report, or one that a plugin made in its image.
    :param raised: the exception behind it; None to read it from the report's text, as that of a doctest.
    :param root: the project's root, which paths in the text may begin with.
    """
    words, nodeid = words_of(report), str(report.nodeid)
    if raised is None:
        # late: a live exception is the rule
        from loop_close.readers.pytest_output.tracebacks import read_doctest, read_traceback

        text = f"\n{words}\n"
        raised = read_doctest(text, nodeid.rpartition("::")[2], root) or read_traceback(text, root)
    message = raised.message if raised is not None else words
    file, line, _ = getattr(report, "location", None) or ("", None, "")
    if message.startswith(COLLECTIONS_DIFFER):
        file = nodeid = ""  # xdist has the name of a worker there
    return Failure(
        nodeid=nodeid,
        phase=PHASES.get(getattr(report, "when", "") or "", "call"),
        message=message,
        file=str(file).replace("\\", "/"),
        line=line + 1 if isinstance(line, int) else 0,
        subtest=subtest_of(report),
        raised=raised,
    )


def unreadable(report: Any, fault: Exception) -> Failure:
    """What is certain about a failed report that cannot be read."""
    phase = PHASES.get(str(getattr(report, "when", "")), "call")
    return Failure(
        nodeid=str(report.nodeid), phase=phase, message=f"(unreadable report: {type(fault).__name__})"
    )


def words_of(report: Any) -> str:
    """The report's text, bounded; without the line on the worker that ``longreprtext`` begins with under xdist."""
    try:
        return clean(str(getattr(report, "longrepr", "") or ""), _MAX_WORDS)
    except Exception:  # a plugin's representation may raise
        return "(the report has no text that can be read)"


def subtest_of(report: Any) -> str:
    """``[message] (name=value)`` of a subtest's report, by pytest 9 or pytest-subtests; else empty."""
    context: Any = getattr(report, "context", None)
    if not hasattr(context, "kwargs"):
        return ""
    values = ", ".join(f"{key}={value}" for key, value in context.kwargs.items())
    parts = [f"[{context.msg}]" if context.msg is not None else "", f"({values})" if values else ""]
    return " ".join(filter(None, parts)) or "(<subtest>)"


# --- exceptions as text, which a worker process sends to the controller


def to_wire(raised: Raised) -> str:
    """The exception as JSON that can be encoded as UTF-8."""
    text = json.dumps(msgspec.to_builtins(raised, enc_hook=str.__str__), ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()


def from_wire(data: str) -> Raised:
    """The inverse of :func:`to_wire`.

    :raises msgspec.DecodeError: when ``data`` was not made by it.
    """
    return msgspec.json.decode(data, type=Raised)
