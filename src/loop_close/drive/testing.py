"""Run the tests, and say what they came to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from loop_close import files
from loop_close.agent.tool_results import RunOutcome, progress_meta
from loop_close.cli.memory import shown
from loop_close.cli.project import targets_of
from loop_close.cli.project_state import prompt_text
from loop_close.cli.status import CameTo
from loop_close.cli.streams import UsageError
from loop_close.drive.child import Ended
from loop_close.drive.plan import Plan, runs_pytest
from loop_close.model import Verdict
from loop_close.prompt.report_json import attempts_document
from loop_close.text.sanitize import one_line

_PLUGIN = "--loop-close"
_LONGEST_PROBE = 120
_LONGEST_PROMPT = 400_000
_LARGEST_REPORT = 50_000_000
_MAX_CAUSES = 200
_MAX_ATTEMPTS = 6


def with_plugin(words: list[str], root: Path, environment: Mapping[str, str]) -> list[str]:
    """The words with the plugin asked for, where they run a pytest that has it.

    Its prompt knows more than what can be read in the output.
    """
    at = runs_pytest(words)
    if at < 0 or any(word.startswith(_PLUGIN) for word in words):
        return words
    try:
        told = subprocess.run(
            [*words[: at + 1], "--help"],
            cwd=root,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_LONGEST_PROBE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return words
    has_plugin = _PLUGIN.encode() in told.stdout
    return [*words[: at + 1], _PLUGIN, *words[at + 1 :]] if has_plugin else words


def unknown_outcome(plan: Plan, ended: Ended, came: CameTo) -> RunOutcome:
    """What there is to tell of a run of which nothing was remembered: it did not get as far as that."""
    told = f"exited with code {ended.exit_code} before any test was reported"
    text = "" if came.is_good_news else _prompt(plan)
    return RunOutcome(verdict="error", state=str(ended.exit_code), prompt=_about(told, text))


def outcome_of(plan: Plan, ended: Ended, came: CameTo, *, is_rest_elsewhere: bool) -> RunOutcome:
    """What a run came to, by what is remembered of it.

    :param came: of the sources that the command ran.
    :param is_rest_elsewhere: what is known to fail is not what the command runs.
    """
    verdict = _verdict(came, ended, is_rest_elsewhere=is_rest_elsewhere)
    is_green = verdict == "green"
    progress = came.progress
    return RunOutcome(
        verdict=verdict,
        failing=0 if is_green else sum(each.summary.failing or 0 for each in came.standings),
        is_complete=_is_complete(came, ended),
        is_edited=progress is not None and progress.step.edits.kind == "effective",
        has_advanced=progress is not None and bool(progress.step.advanced),
        tests=tuple(change for each in came.standings for change in each.summary.tests),
        breaker=came.standings[0].summary.breaker if came.standings else RunOutcome().breaker,
        causes={} if is_green else causes_in(plan.root),
        state=progress.step.state if progress is not None else "",
        meta=progress_meta(progress, is_green=is_green),
        prompt=_told(plan, ended, came, is_green=is_green),
        attempts=_attempts(came),
        edits_not_run=came.standings[0].summary.not_run if is_green and came.standings else "",
    )


def _attempts(came: CameTo) -> tuple[str, ...]:
    """What was tried in the loop, a line a run: the last ones."""
    lines = [_attempt(each) for each in attempts_document(came.progress)]
    more = [f"… {len(lines) - _MAX_ATTEMPTS} more runs before these"] if len(lines) > _MAX_ATTEMPTS else []
    return tuple(one_line(line, 300) for line in (*more, *lines[-_MAX_ATTEMPTS:]))


def _attempt(attempt: Mapping[str, Any]) -> str:
    same = attempt["same_code_as"]
    back = f", back to the code of run {same}" if same is not None else ""
    return f"run {attempt['run']}: edited: {', '.join(attempt['edited'])}{back}; {attempt['effect']}"


def _verdict(came: CameTo, ended: Ended, *, is_rest_elsewhere: bool) -> Verdict | None:
    """That of the worst source; a command that failed is not green, whatever is remembered of it."""
    if not came.standings or ended.is_late:
        return None
    found = came.standings[0].summary.verdict
    if ended.exit_code == 0 and is_rest_elsewhere:
        return "green"
    if found == "green":
        is_explained = any(each.summary.explains(ended.exit_code) for each in came.standings)
        return "green" if is_explained else "error"
    known: tuple[Verdict, ...] = get_args(Verdict)
    return next((verdict for verdict in known if verdict == found), None)


def _is_complete(came: CameTo, ended: Ended) -> bool:
    are_done = all(each.last.state == "done" for each in came.standings)
    return bool(came.standings) and are_done and not ended.is_late and not (came.run and came.run.incomplete)


def _told(plan: Plan, ended: Ended, came: CameTo, *, is_green: bool) -> str:
    """What the run wrote; where that says less than is known, that is said before it."""
    text = _prompt(plan)
    news = "" if came.is_good_news else text
    if ended.is_late:
        return _about("exceeded its time limit and was stopped", news)
    return (
        text
        if is_green or news
        else _about(f"exited with code {ended.exit_code}, and the run is not green", "")
    )


def _about(what: str, text: str) -> str:
    """A heading that says so, before what the run wrote where that is more than good news."""
    return f"# The tests could not be judged\n\nTheir command {what}.\n\n{text}".rstrip("\n")


def _prompt(plan: Plan) -> str:
    """What the run wrote, where its settings say so now; that of a run that was killed says nothing."""
    try:
        path = targets_of(plan.root).prompt
    except UsageError:
        path = plan.targets.prompt
    text = prompt_text(path, _LONGEST_PROMPT)
    return "" if text.startswith(files.RUNNING) else text


def causes_in(root: Path) -> dict[str, str]:
    """What each root cause of a project's report is, by its id, in its order: error, first line of its message, place.

    Error and message are made fit to be shown. Nothing where there is no report.
    """
    path = root / files.REPORT
    try:
        if path.stat().st_size > _LARGEST_REPORT:
            return {}
        causes = json.loads(path.read_bytes())["root_causes"][:_MAX_CAUSES]
        return {str(cause["id"]): _described(cause) for cause in causes}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _described(cause: Mapping[str, Any]) -> str:
    location = cause["location"]
    place = f" ({location['file']}:{location['line']})" if location["file"] else ""
    said = ": ".join(filter(None, (cause["exception"], shown(cause["message"].partition("\n")[0], 80))))
    return f"{said or cause['kind']}{place}"
