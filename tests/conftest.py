import os
import sys
import tempfile

from hypothesis import settings

from loop_close.provenance import AGENT_VARIABLES

pytest_plugins = ["postgres_server", "pytester", "quick"]

# The same examples on every run and machine, however slow it is: a red test can be run again.
settings.register_profile("deterministic", derandomize=True, deadline=None, database=None)
settings.register_profile("quick", settings.get_profile("deterministic"), max_examples=10)
settings.load_profile("deterministic")

# Bytecode is kept, whatever the environment says: thousands of processes would compile the same modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# What the driver keeps outside of a project is kept apart from that of the user, and removed at the end.
_STATE = tempfile.TemporaryDirectory(prefix="loop-close-state-")
os.environ["XDG_STATE_HOME"] = _STATE.name
# No environment of tox or nox and no CI system counts, whichever runs the tests.
for _name in [*os.environ]:
    if _name.startswith(
        ("TOX_", "NOX_", "HATCH_ENV", "GITHUB_", "CI_", "CIRCLE", "BUILDKITE", "BUILD_", "GITLAB_")
    ):
        del os.environ[_name]
os.environ.pop("CI", None)
# Nobody's agent is at work here, whoever runs the tests.
for _name in (
    *AGENT_VARIABLES,
    "LOOP_CLOSE_INSIDE",
    "LOOP_CLOSE_HISTORY",
    "LOOP_CLOSE_MACHINE",
    "LOOP_CLOSE_PROJECT",
    "LOOP_CLOSE_SESSION",
):
    os.environ.pop(_name, None)
