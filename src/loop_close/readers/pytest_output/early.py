"""Read what pytest says when it ends without running tests: usage errors, a broken conftest, internal errors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loop_close.model import Failure, Phase, Raised
from loop_close.readers.pytest_output.tracebacks import read_traceback

NOT_STARTED = "pytest ended before it collected any test"
_INTERNAL = re.compile(r"(?:\nINTERNALERROR>[^\n]*+)++")
_CONFTEST = re.compile(
    r"\nImportError while loading conftest '(?P<file>[^'\n]{1,1000})'\."
    r"(?P<body>(?:\n(?:E(?: [^\n]*+)?(?=\n|\Z)|    [^\n]*+"
    r"|[^\s:][^\n:]{0,1000}:\d{1,9}: in [^\n]*+))++)"
)
_USAGE = re.compile(
    r"\nERROR: (?P<words>usage: [^\n]+\n[^\n]{1,200}: error: [^\n]*+(?:\n  (?:inifile|rootdir): [^\n]*+)++"
    r"|(?P<found>file or directory not found: [^\n]+|not found: [^\n]+\n\(no [^\n]+|found no collectors for [^\n]+"
    r"|Wrong expression passed to '-[km]': [^\n]+)"
    r"|[^\n]{0,500}?(?:pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|pytest\.toml)(?::\d{1,9})?: [^\n]+"
    r"|Error importing plugin \"[^\n]+|Missing required plugins: [^\n]+|Unknown config option: [^\n]+)(?=\n|\Z)"
)


def internal_errors(text: str, root: str = "") -> Iterator[tuple[Failure, int, int]]:
    """Internal errors of pytest, with their offsets."""
    if "\nINTERNALERROR>" not in text:
        return
    for found in _INTERNAL.finditer(text):
        body = found.group().replace("\nINTERNALERROR> ", "\n").replace("\nINTERNALERROR>", "\n")
        raised = read_traceback(f"{body}\n", root)
        if raised is not None:
            yield _failure("session", raised), found.start() + 1, found.end()


def broken_conftests(text: str, root: str = "") -> Iterator[tuple[Failure, int, int]]:
    """Conftests that cannot be imported, with the offsets."""
    if "\nImportError while loading conftest '" not in text:
        return
    for found in _CONFTEST.finditer(text):
        raised = read_traceback(f"{found['body']}\n", root)
        if raised is not None:
            yield _failure("collect", raised), found.start() + 1, found.end()


def usage_errors(text: str, root: str = "") -> Iterator[tuple[Failure, int, int]]:
    """Wrong options, arguments and settings, with the offsets."""
    if "\nERROR: " not in text:
        return
    for found in _USAGE.finditer(text):
        words = found["words"].replace(f"{root}/", "") if root else found["words"]
        raised = Raised(
            type="UsageError",
            module="_pytest.config.exceptions",
            message=words,
            bases=("Exception", "BaseException"),
        )
        phase: Phase = "session" if found["found"] else "collect"
        yield _failure(phase, raised), found.start() + 1, found.end()


def _failure(phase: Phase, raised: Raised) -> Failure:
    return Failure(nodeid="", phase=phase, message=raised.message, raised=raised)
