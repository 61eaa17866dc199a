"""Wait for what another process does, in tests of several."""

import os
import time

#: Plugins of the environment that small projects have no use for: to load them takes half of the time of their runs.
UNUSED = tuple(
    f"-pno:{name}"
    for name in (
        "asyncio",
        "anyio",
        "pytest_cov",
        "rerunfailures",
        "pytest-split",
        "timeout",
        "hypothesispytest",
    )
)
#: Settings of pytest for such a project, as ``pytest.ini``.
PYTEST_INI = f"[pytest]\naddopts = {' '.join(UNUSED)}\n"
GUARD = 300  # seconds after which a test that hangs fails: far more than a machine under load takes


def wait_until(is_so):
    end = time.monotonic() + GUARD
    while not is_so():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def is_running(pid):
    """Whether there is such a process that has not ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return not os.path.isdir("/proc/self")
