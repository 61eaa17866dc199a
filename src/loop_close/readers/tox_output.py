"""The environments that tox says have failed."""

from __future__ import annotations

import re
from itertools import islice

from loop_close.model import Failure
from loop_close.readers.contract import Reader, Reading

_MAX_FAILURES = 500
_NAME = r"(?P<name>[\w.][\w.,-]{0,100})"
_END = re.compile(
    r"^ {2}(?:evaluation failed :\(|congratulations :\))(?: \([\d.]{1,12} seconds\))?$", re.MULTILINE
)
_FAILED = re.compile(
    rf"^ {{2}}{_NAME}: FAIL(?: code (?P<code>-?\d{{1,10}}))?(?: \([^\n]{{1,200}}\))?$", re.MULTILINE
)
_WHY = re.compile(
    rf"^{_NAME}: (?:exit (?P<exit>-?\d{{1,10}}) \([\d.]{{1,12}} seconds\) [^\n>]{{0,1000}}> "
    r"(?P<command>[^\n]{1,2000}?)(?: pid=\d{1,10})?"
    r"|(?P<words>failed with [^\n]{1,1000}|Exception running subprocess [^\n]{1,1000}))$",
    re.MULTILINE,
)
# tox 3
_OLD = re.compile(
    r"^ERROR: {2,3}(?P<name>[\w.][\w.,-]{0,100}): (?P<words>(?:parallel child exit code|commands failed"
    r"|could not install deps|InterpreterNotFound|undefined environment)[^\n]{0,1000})$",
    re.MULTILINE,
)
_OLD_HEAD = re.compile(r"^_{10,100} summary _{10,100}$", re.MULTILINE)
_HANDLED = re.compile(r"^(?P<name>ROOT): HandledError\| (?P<words>[^\n]{1,1000})$", re.MULTILINE)


def read(text: str, root: str) -> Reading:
    """A failure for each environment that the summary calls failed; its commands tell more, where they are read."""
    if ": FAIL" not in text and "ROOT: HandledError| " not in text and " summary ___" not in text:
        return Reading()
    failures = _failures(text)
    spans = [m.span() for pattern in (_END, _FAILED, _OLD, _HANDLED) for m in pattern.finditer(text)]
    is_certain = _END.search(text) is not None or _HANDLED.search(text) is not None
    if not failures or not (is_certain or _OLD_HEAD.search(text)):
        return Reading()
    return Reading(failures=tuple(failures), spans=tuple(sorted(spans)), is_certain=True)


def _failures(text: str) -> list[Failure]:
    reasons: dict[str, list[str]] = {}
    for why in _WHY.finditer(text):
        said = f"exit {why['exit']}: {why['command']}" if why["exit"] else why["words"]
        reasons.setdefault(why["name"], []).append(said)
    told = {m["name"]: f"exit code {m['code']}" if m["code"] else "failed" for m in _FAILED.finditer(text)}
    told |= {m["name"]: m["words"] for pattern in (_OLD, _HANDLED) for m in pattern.finditer(text)}
    return [
        Failure(nodeid="", phase="process", tool="tox", code=name, message=_message(name, reasons, words))
        for name, words in islice(told.items(), _MAX_FAILURES)
    ]


def _message(name: str, reasons: dict[str, list[str]], words: str) -> str:
    """``ENVIRONMENT: why``; of several reasons the first, as tox stops at it."""
    return f"{name}: {reasons[name][0] if name in reasons else words}"


READER = Reader(id="tox", description="environments that tox says have failed", read=read)
