import contextlib
import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def _no_signal_is_ignored():
    """What is ignored, as under ``nohup``, all processes inherit; what is handled they get as it is by default."""
    names = ("SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGUSR1", "SIGUSR2")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    ignored = [number for number in numbers if signal.getsignal(number) == signal.SIG_IGN]
    with contextlib.suppress(ValueError):  # not in the main thread
        for number in ignored:
            signal.signal(number, lambda number, frame: None)
    yield
    with contextlib.suppress(ValueError):
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
