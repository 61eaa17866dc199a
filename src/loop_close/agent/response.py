"""A response, read once for all that is asked of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from loop_close.agent.blocks import Line, lines_of
from loop_close.agent.printed_tests import Tally, tallies
from loop_close.agent.sentences import Sentence, sentences_of
from loop_close.agent.work import tells_of_an_edit

#: What may stand beside test output in a response that has nothing else.
_LEAD_IN = 200
_DIFF = re.compile(r"(?:diff --git |[+-]{3} [ab]?/|@@ -\d|\*\*\* (?:Begin|Update|Add|Delete) )")


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """What is in a response.

    :ivar tally: what the last test run came to that it shows; None where it shows none.
    :ivar is_test_only: it shows test output and tells of no change.
    :ivar tells_of_work: it says or shows that something was changed.
    """

    lines: tuple[Line, ...]
    sentences: tuple[Sentence, ...]
    tally: Tally | None
    is_test_only: bool
    tells_of_work: bool

    @property
    def is_green(self) -> bool:
        """Whether the last test run that it shows is green."""
        return self.tally is not None and self.tally.is_green


def read(text: str) -> Response:
    """A response of any length; what of it is read: :func:`loop_close.agent.blocks.lines_of`."""
    lines = lines_of(text)
    sentences = sentences_of(lines)
    tells_of_work = any(tells_of_an_edit(s.text) for s in sentences) or any(
        _DIFF.match(line.text) for line in lines
    )
    shown = list(tallies(line.text for line in lines if line.kind == "test"))
    return Response(
        lines=lines,
        sentences=sentences,
        tally=shown[-1] if shown else None,
        is_test_only=not tells_of_work and _is_output(lines, sentences),
        tells_of_work=tells_of_work,
    )


def _is_output(lines: tuple[Line, ...], sentences: tuple[Sentence, ...]) -> bool:
    kinds = {line.kind for line in lines}
    has_code = any(line.kind == "code" and not _is_fence(line.text) for line in lines)
    return "test" in kinds and not has_code and sum(len(s.text) for s in sentences) <= _LEAD_IN


def _is_fence(text: str) -> bool:
    return text.lstrip().startswith(("```", "~~~"))
