"""The tool ``loop_close``: what a command printed, to a report. It keeps and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from loop_close.cli.summary import shown
from loop_close.detectors import DEFAULT_DETECTORS
from loop_close.judge import close
from loop_close.mcp_server.answers import Answer, bounded
from loop_close.prompt.compose import compose
from loop_close.prompt.report_json import report_document
from loop_close.prompt.sections import DEFAULT_SECTIONS
from loop_close.readers.streams import observe
from loop_close.settings import DEFAULT_BUDGET

_MAX_NAME = 100


def close_streams(
    stdout: str = "",
    stderr: str = "",
    exit_code: int | None = None,
    source: str = "output",
    budget: int = DEFAULT_BUDGET,
    detectors: Sequence[str] | None = None,
) -> Answer:
    """The report on the streams and exit code of a command; the same input gives the same answer.

    :param source: what the run is called.
    :param budget: tokens that the prompt may cost.
    :param detectors: ids of those that look at the output; None for all.
    """
    observation = observe(
        stdout, stderr, exit_code, root=_root(stdout, stderr), source=shown(source, _MAX_NAME)
    )
    chosen = [each for each in DEFAULT_DETECTORS if detectors is None or each.id in detectors]
    report = close(observation, detectors=chosen)
    prompt = compose(report, DEFAULT_SECTIONS, budget=budget)
    document: dict[str, Any] = report_document(report, prompt)
    return Answer(text=prompt, document=bounded(document))


def _root(*texts: str) -> str:
    """The project's folder where the output speaks of files in it; one from elsewhere has a root of its own."""
    here = os.getcwd()
    return here if any(here + os.sep in text for text in texts) else ""
