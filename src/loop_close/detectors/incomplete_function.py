"""Functions that the failure reaches and that have no body yet."""

from __future__ import annotations

from collections.abc import Iterator

from loop_close.detectors.contract import Detector
from loop_close.facts import origins
from loop_close.model import Evidence, Observation

_EMPTY_BODY = "empty-body"  # mypy's code


def detect(observation: Observation) -> Iterator[Evidence]:
    """Each function with a body of ``...``, ``pass`` or only a docstring, once.

    A function that fails itself has a body, so it is those whose value is judged that are looked at. Of text, a type
    checker's word is taken for it.
    """
    for failure in observation.failures:
        if failure.code == _EMPTY_BODY:
            label = f"{failure.tool} {failure.code}"
            yield Evidence(
                kind="incomplete-function",
                snippet="the body is empty",
                label=label,
                file=failure.file,
                line=failure.line,
            )
    empty = (o for failure in observation.failures for o in origins(failure) if o.is_empty and not o.is_test)
    for file, line, function in dict.fromkeys((o.file, o.line, o.function) for o in empty):
        yield Evidence(
            kind="incomplete-function", snippet="the body is empty", label=function, file=file, line=line
        )


DETECTOR = Detector(
    id="incomplete-function",
    label="function without a body",
    priority=130,
    description="a body of `...`, `pass` or a lone TODO, in code that a failure reaches",
    hint="The function named has no body yet and so returns None to whoever calls it.",
    detect=detect,
)
