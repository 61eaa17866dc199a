#!/usr/bin/env python3
"""Try loop-close or test it from a fresh clone, with Python 3.11 or newer and nothing else installed.

    python3 tools/dev.py demo           run it on examples/shop and show the prompt it writes
    python3 tools/dev.py test [ARGS]    run the test suite; ARGS go to pytest
    python3 tools/dev.py test --quick   run the tests that start no process, without large inputs

Both make `.venv` inside the clone when it is not there yet, or was made with another Python, and install the clone
into it. The system's own packages are left alone.
"""

# The next lines have to be understood by any Python 3, so that an old one can say what is wrong.
import sys

if sys.version_info < (3, 11):
    sys.exit("loop-close needs Python 3.11 or newer, and this is {}.{}".format(*sys.version_info[:2]))

import hashlib
import json
import os
import shutil
import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "loop-close-dev.json"
SHOP = ROOT / "examples" / "shop"
PROMPT = SHOP / "nextprompt.md"

# Each level holds the ones before it.
LEVELS = {"demo": ".", "test": ".[dev]"}

# In the folders left out, almost all tests start a process or a run of pytest. The plugins left out serve such tests.
QUICK = [
    "--quick",
    *(f"--ignore=tests/{folder}" for folder in ("mcp_server", "pytest_plugin")),
    *(f"-pno:{plugin}" for plugin in ("anyio", "pytest_cov", "pytest-split", "rerunfailures")),
]

OLDER = "On Python 3.11 lines are known only of tests that ran once more; from 3.12 on they are recorded as tests run."

# These would send packages elsewhere, or load other ones, or keep the plugin from being loaded.
# Without bytecode, the thousands of processes that the tests start would compile the same modules each.
UNWANTED = (
    *("PIP_PREFIX", "PIP_TARGET", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTHONHOME", "PYTHONPATH"),
    "PYTHONDONTWRITEBYTECODE",
)

NO_PIP = """\
This Python has no pip to install with and cannot make one: Debian and Ubuntu keep that in a package of its
own. Install it and run this again:

    sudo apt install python3-venv
"""


def main(arguments):
    """Run one of the two commands; the exit code is the answer."""
    commands = {"demo": demo, "test": test}
    if not arguments or arguments[0] not in commands:
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 64
    sys.stdout.reconfigure(errors="backslashreplace")
    return commands[arguments[0]](arguments[1:])


def demo(arguments):
    """Run the example's tests, which are red on purpose, and show the prompt made of them."""
    if arguments:
        sys.exit("demo takes no arguments, not {}".format(" ".join(arguments)))
    prepare("demo")
    PROMPT.unlink(missing_ok=True)
    command = [PYTHON, "-m", "pytest", "--loop-close", "--tb=no", "-q", "--rootdir", "."]
    subprocess.run(command, cwd=SHOP, env=environment("PYTEST_ADDOPTS"))
    if not PROMPT.is_file():
        sys.exit(f"\nno prompt was made: {PROMPT} is not there")
    print(f"\n{PROMPT}:\n")
    print(PROMPT.read_text(encoding="utf-8"))
    if sys.version_info < (3, 12):
        print(OLDER)
    return 0


def test(arguments):
    """Run the test suite, or the quick part of it."""
    prepare("test")
    if "--quick" in arguments:
        arguments = [*QUICK, *(word for word in arguments if word != "--quick")]
    return subprocess.run(
        [PYTHON, "-m", "pytest", "-n", "2", *arguments], cwd=ROOT, env=environment()
    ).returncode


def prepare(level):
    """Bring `.venv` to where the level's packages are installed; nothing to do when they are."""
    done = read_stamp()
    if not works(PYTHON) or is_outdated(done):
        make_venv()
        done = {}
    if not includes(done, level):
        install(LEVELS[level])
        STAMP.write_text(json.dumps({**identity(), "level": level}), encoding="utf-8")


def read_stamp():
    """Return what this script noted when it last installed; empty when it never did."""
    try:
        return dict(json.loads(STAMP.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def identity():
    """Tell what an installation was made from: requirements, interpreter, and the place, which scripts refer to."""
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    base = os.path.realpath(sys._base_executable)  # the same for the environment's own interpreter
    return {"pyproject": digest, "root": str(ROOT), "python": [base, sys.version]}


def is_outdated(done):
    """Whether it was made from something else. An environment that another program made never is."""
    return bool(done) and any(done.get(key) != value for key, value in identity().items())


def includes(done, level):
    """Whether the level's packages are there already."""
    order = list(LEVELS)
    return done.get("level") in order and order.index(done["level"]) >= order.index(level)


def works(python):
    """Whether there is an interpreter there that runs and is new enough."""
    return succeeds([python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"])


def make_venv():
    """Make `.venv` anew, without pip: making it that way works on a Debian without python3-venv too."""
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    shutil.rmtree(VENV, ignore_errors=True)
    if Path(sys.prefix).resolve() == VENV.resolve():
        # Started from the environment that was removed: its own base makes the next.
        os.execv(sys._base_executable, [sys._base_executable, *sys.argv])
    print(f"making {VENV}", flush=True)
    venv.create(VENV, symlinks=os.name != "nt")


def install(requirement):
    """Install the clone, editable, into `.venv`."""
    print(f"installing {requirement} into {VENV}", flush=True)
    options = ["--quiet", "--disable-pip-version-check", "--editable"]
    code = subprocess.run([*pip(), "install", *options, requirement], cwd=ROOT, env=environment()).returncode
    if code:
        sys.exit("the installation failed; pip says why above")


def pip():
    """Return the words that start a pip for `.venv`: its own, a new one of its own, or the system's."""
    own = [PYTHON, "-m", "pip"]
    if succeeds([*own, "--version"]):
        return own
    if succeeds([PYTHON, "-m", "ensurepip", "--default-pip"]) and succeeds([*own, "--version"]):
        return own
    others = [sys.executable, "-m", "pip", "--python", PYTHON]
    if succeeds([*others, "--version"]):
        return others
    sys.exit(NO_PIP)


def succeeds(command):
    """Whether a command can be run and returns 0; what it prints is not shown."""
    try:
        return subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True).returncode == 0
    except OSError:
        return False


def environment(*unwanted):
    """Return the environment for children, without what would mislead them."""
    kept = {key: value for key, value in os.environ.items() if key not in {*UNWANTED, *unwanted}}
    return {**kept, "PIP_USER": "0"}  # whatever pip's own configuration says


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
