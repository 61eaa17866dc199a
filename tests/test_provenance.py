import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.provenance import (
    AGENT_VARIABLES,
    agent_of,
    ci_system,
    interpreter,
    provenance_of,
    runner_of,
    source_of,
)

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]


@pytest.mark.parametrize(
    ("environ", "runner", "source"),
    [
        ({}, ("", ""), "pytest"),
        ({"TOX_ENV_NAME": "py311"}, ("tox", "py311"), "pytest:py311"),
        ({"NOX_CURRENT_SESSION": "tests-3.11"}, ("nox", "tests-3.11"), "pytest:tests-3.11"),
        ({"HATCH_ENV_ACTIVE": "default"}, ("", ""), "pytest"),
        ({"HATCH_ENV_ACTIVE": "py311"}, ("hatch", "py311"), "pytest:py311"),
        ({"GITHUB_RUN_ID": "7", "GITHUB_JOB": "test"}, ("github", "test"), "pytest:test"),
        (
            {"CI_PIPELINE_ID": "7", "CI_JOB_NAME": "test: [3.11, 2/3]"},
            ("gitlab", "test"),
            "pytest:test",
        ),
        ({"GITHUB_RUN_ID": "7", "GITHUB_JOB": "test", "TOX_ENV_NAME": "a"}, ("tox", "a"), "pytest:a"),
    ],
)
def test_runner_and_source(environ, runner, source):
    assert (runner_of(environ), source_of("pytest", environ)) == (runner, f"{source}@{interpreter()}")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ("", "")),
        ({"GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "2", "GITHUB_SHA": "abc"}, ("7.2", "abc")),
        ({"CI_PIPELINE_ID": "9", "CI_COMMIT_SHA": "def"}, ("9", "def")),
        ({"BUILD_BUILDID": "3"}, ("3", "")),
    ],
)
def test_run_of_a_ci_system(tmp_path, environ, expected):
    made = provenance_of(tmp_path, environ)
    assert (made.run_id, made.commit) == expected


@pytest.mark.parametrize(
    ("setting", "environ", "expected"),
    [
        ("auto", {}, ""),
        ("auto", {"GITHUB_ACTIONS": "true", "GITLAB_CI": "true"}, "github"),
        ("auto", {"GITHUB_ACTIONS": "false", "GITLAB_CI": "true"}, "gitlab"),
        ("off", {"GITHUB_ACTIONS": "true"}, ""),
        ("gitlab", {"GITHUB_ACTIONS": "true"}, "gitlab"),
    ],
)
def test_the_ci_system_to_write_for(setting, environ, expected):
    assert ci_system(setting, environ) == expected


def test_commit_that_is_checked_out(tmp_path):
    subprocess.run([*GIT, "init", "-q", tmp_path], check=True)
    assert provenance_of(tmp_path, {}).commit == ""
    subprocess.run([*GIT, "-C", tmp_path, "commit", "-q", "--allow-empty", "-m", "a"], check=True)
    head = subprocess.run(
        [*GIT, "-C", tmp_path, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    assert provenance_of(tmp_path, {}).commit == head.stdout.strip()
    assert provenance_of(tmp_path, {"GITHUB_RUN_ID": "7", "GITHUB_SHA": "abc"}).commit == "abc"


@pytest.mark.parametrize(
    ("environ", "agent"),
    [
        ({}, ("", "")),
        ({"CLAUDECODE": "1"}, ("claude", "CLAUDECODE")),
        ({"CLAUDECODE": ""}, ("", "")),
        ({"CODEX_CI": "1", "CODEX_THREAD_ID": "019a"}, ("codex", "CODEX_THREAD_ID")),
        ({"COPILOT_CLI": "1", "COPILOT_MODEL": "gpt"}, ("copilot", "COPILOT_CLI")),
        (
            {"COPILOT_MODEL": "gpt", "CODEX_HOME": "/x", "CLAUDE_CONFIG_DIR": "/y"},
            ("", ""),
        ),  # a person's settings
        ({"AI_AGENT": "claude-code_2.1.197_agent", "CLAUDECODE": "1"}, ("claude", "CLAUDECODE")),
        ({"AI_AGENT": "github-copilot-cli"}, ("copilot", "AI_AGENT")),
        ({"AI_AGENT": " Custom-Agent@2.0 "}, ("", "AI_AGENT")),
        ({"AI_AGENT": "1", "GEMINI_CLI": "1"}, ("gemini", "GEMINI_CLI")),
        ({"AGENT": "goose"}, ("goose", "AGENT")),
        ({"AGENT": "true"}, ("", "AGENT")),
        ({"AGENT": "linux-7"}, ("", "")),  # a machine of a build service
    ],
)
def test_agent(environ, agent):
    assert agent_of(environ) == agent


@pytest.mark.parametrize("name", AGENT_VARIABLES)
def test_every_variable_tells_of_an_agent(name):
    assert agent_of({name: "1"})[1] == name


@given(st.dictionaries(st.sampled_from(AGENT_VARIABLES), st.text()))
def test_name_of_an_agent_is_a_word(environ):
    name, variable = agent_of(environ)
    assert name == "" or (name.isascii() and name == name.lower() and len(name) <= 40 and " " not in name)
    assert variable in ("", *environ)
