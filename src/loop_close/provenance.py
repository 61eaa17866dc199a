"""What made this run: the runner's environment, interpreter, CI run and commit; and the agent in whose shell it is."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from loop_close.settings import AUTO, GITHUB, GITLAB, OFF

if TYPE_CHECKING:
    from loop_close.model import Provenance


#: Runners by the variable that names their environment. ``default`` of Hatch does not count.
_RUNNERS = (("tox", "TOX_ENV_NAME"), ("nox", "NOX_CURRENT_SESSION"), ("hatch", "HATCH_ENV_ACTIVE"))
#: CI systems by the variables that name a run and its attempt, the commit, and the job.
_CI = {
    "github": ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_SHA", "GITHUB_JOB"),
    "gitlab": ("CI_PIPELINE_ID", "", "CI_COMMIT_SHA", "CI_JOB_NAME"),
    "circleci": ("CIRCLE_WORKFLOW_ID", "", "CIRCLE_SHA1", "CIRCLE_JOB"),
    "buildkite": ("BUILDKITE_BUILD_ID", "", "BUILDKITE_COMMIT", "BUILDKITE_STEP_KEY"),
    "azure": ("BUILD_BUILDID", "", "BUILD_SOURCEVERSION", "SYSTEM_JOBNAME"),
}
#: The variables that coding agents set in their shells, with the agent: what Claude Code 2.1 and Copilot CLI 1.0.102
#: were seen to set, the others as in @vercel/detect-agent 1.2 and std-env. ``GEMINI_CLI`` and ``CLINE_ACTIVE`` are also
#: set in terminals that people use.
_AGENTS = {
    "CLAUDECODE": "claude",
    **dict.fromkeys(("CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_CI"), "codex"),
    "GEMINI_CLI": "gemini",
    "CURSOR_AGENT": "cursor",
    "COPILOT_CLI": "copilot",
    "CLINE_ACTIVE": "cline",
    **dict.fromkeys(("OPENCODE", "OPENCODE_CLIENT"), "opencode"),
    "ANTIGRAVITY_AGENT": "antigravity",
    "AUGMENT_AGENT": "augment",
    "AMP_CURRENT_THREAD_ID": "amp",
    "GOOSE_TERMINAL": "goose",
}
#: Where an agent names itself, by two proposed conventions. ``AGENT`` is also used for other things.
_ANY_NAME, _KNOWN_NAME = "AI_AGENT", "AGENT"
AGENT_VARIABLES = (*_AGENTS, _ANY_NAME, _KNOWN_NAME)
#: What GitLab puts behind the name of a job that runs in parallel: its number, or the values of its matrix.
_PART = re.compile(r"(?: \d{1,9}/\d{1,9}|: \[[^\[\]]*\])\Z")


def runner_of(environ: Mapping[str, str]) -> tuple[str, str]:
    """The runner and the name of its environment, else the CI system and its job; empty for none.

    A job that runs in parallel parts has one name.
    """
    for runner, variable in _RUNNERS:
        name = environ.get(variable, "")
        if name and not (runner == "hatch" and name == "default"):
            return runner, name
    system, _, _, job = _ci_of(environ)
    return (system, job) if job else ("", "")


def _ci_of(environ: Mapping[str, str]) -> tuple[str, str, str, str]:
    """The CI system, its name for the run with the attempt, the commit, and the job; empty outside of CI."""
    for system, names in _CI.items():
        if environ.get(names[0]):
            run, attempt, commit, job = (environ.get(name, "") for name in names)
            return system, ".".join(filter(None, (run, attempt))), commit, _PART.sub("", job)
    return "", "", "", ""


def source_of(tool: str, environ: Mapping[str, str]) -> str:
    """The name of what makes the run: ``pytest@cpython-3.13``.

    In an environment of a runner, or a job of CI, ``pytest:py311@cpython-3.11``.
    """
    _, environment = runner_of(environ)
    return f"{tool}{environment and f':{environment}'}@{interpreter()}"


def interpreter() -> str:
    """The Python that runs this, by what may change results: ``cpython-3.13``."""
    return f"{sys.implementation.name}-{sys.version_info[0]}.{sys.version_info[1]}"


def agent_of(environ: Mapping[str, str]) -> tuple[str, str]:
    """The coding agent in whose shell this runs, and the variable that shows it; empty for none.

    The name is that of the host, such as ``claude``. It is empty for an agent that is not known.
    """
    for variable in filter(environ.get, AGENT_VARIABLES):
        words = re.split(r"[^a-z0-9]+", environ[variable].lower())
        name = _AGENTS.get(variable) or next((each for each in words if each in _AGENTS.values()), "")
        if name or variable == _ANY_NAME or words in (["1"], ["true"]):
            return name, variable
    return "", ""


def ci_system(setting: str, environ: Mapping[str, str]) -> str:
    """The CI system for which to write its own output: ``github``, ``gitlab``, or empty.

    :param setting: the setting ``ci``.
    """
    if setting != AUTO:
        return "" if setting == OFF else setting
    if environ.get("GITHUB_ACTIONS") == "true":
        return GITHUB
    return GITLAB if environ.get("GITLAB_CI") == "true" else ""


def provenance_of(root: Path, environ: Mapping[str, str]) -> Provenance:
    """What is known of this process's run before its tests are."""
    from loop_close.model import Provenance
    from loop_close.tree import TreeError, git

    runner, environment = runner_of(environ)
    _, run_id, commit, _ = _ci_of(environ)
    if not commit:
        with contextlib.suppress(TreeError):
            commit = git(root, "rev-parse", "--verify", "HEAD").decode("ascii", "replace").strip()
    return Provenance(
        runner=runner,
        environment=environment,
        interpreter=interpreter(),
        platform=sys.platform,
        run_id=run_id,
        commit=commit,
    )
