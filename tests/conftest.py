import compileall
import os
import signal
import sys
import tempfile
from importlib.metadata import Distribution

from hypothesis import HealthCheck, settings

import loop_close
from loop_close.provenance import AGENT_VARIABLES

pytest_plugins = ["postgres_server", "pytester", "quick"]

# The same examples on every run and machine, however slow it is: a red test can be run again.
settings.register_profile(
    "deterministic",
    max_examples=50,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("deterministic"), max_examples=10)
settings.load_profile("deterministic")

# Thousands of processes use the bytecode of this package. They write none themselves: Python takes it as current after
# an edit of the same size within the same second, and tests edit small projects faster than that.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
sys.dont_write_bytecode = False
compileall.compile_dir(os.path.dirname(loop_close.__file__), quiet=2)
# What is ignored, as in the background of a shell or under nohup, all processes that the tests start would ignore too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _name in ("SIGQUIT", "SIGHUP"):
    if hasattr(signal, _name) and signal.getsignal(getattr(signal, _name)) is signal.SIG_IGN:
        signal.signal(getattr(signal, _name), lambda number, frame: None)
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
):
    os.environ.pop(_name, None)


def _kept(read):
    """The property of a distribution, read once for each that is installed beside the interpreter.

    Each run of pytest inside a test reads them all anew, which takes a quarter of its time. Distributions that a test
    makes are elsewhere, and are read as ever.
    """
    known = {}

    def kept(distribution):
        path = str(getattr(distribution, "_path", ""))
        if not path.startswith(sys.prefix):
            return read(distribution)
        if path not in known:
            known[path] = read(distribution)
        return known[path]

    return property(kept)


for _name in ("files", "entry_points"):
    setattr(Distribution, _name, _kept(getattr(Distribution, _name).fget))
