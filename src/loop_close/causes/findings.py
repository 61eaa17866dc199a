"""When two findings of a checker are one root cause."""

from __future__ import annotations

import re

from loop_close.model import Failure

#: Tools whose rules are about form: each place is put right by the same edit, most of them by a ``--fix``.
_LINTERS = frozenset(("ruff", "flake8"))
_NAMED = re.compile(r"[\"'`\u201c\u2018]([^\"'`\n]{1,200})[\"'`\u201d\u2019]")
# Said of a value in one place and its type there: equal words in two places are two mistakes.
_OF_ONE_PLACE = re.compile(
    r"assignment|return|operator|index|type-var|union|optional|redundant|unreachable|syntax|invalid-assignment"
)


def finding_key(kind: str, failure: Failure) -> tuple[str, ...]:
    """The key of a finding.

    A linter's rule is one cause wherever it was broken. An error of a type checker is one with others of the same
    rule and words that name the same thing: an attribute that is gone, a function whose signature changed.
    """
    if failure.tool in _LINTERS and failure.code:
        return kind, failure.tool, failure.code
    said = failure.message.partition("\n")[0]
    rule = failure.code or said
    if _NAMED.search(said) and not _OF_ONE_PLACE.search(rule.lower()):
        return kind, failure.tool, failure.code, said
    return kind, failure.tool, failure.code, said, failure.file, str(failure.line)
