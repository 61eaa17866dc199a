import signal
import time

import pytest

from loop_close.monitor.faults import is_of_handler


class LateError(Exception):
    pass


def raised_by(work):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        work()
    return caught.value


def test_a_fault_of_ours():
    assert not is_of_handler(raised_by(lambda: 1 / 0))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_what_a_signal_handler_raises():
    def handler(number, frame):
        raise LateError

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        fault = raised_by(lambda: time.sleep(5))
        assert is_of_handler(fault)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not is_of_handler(fault)  # it handles nothing any more
