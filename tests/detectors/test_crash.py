import pytest

from loop_close.detectors import CRASH
from loop_close.model import Failure, Observation, Raised


def failure(message="bad", phase="process", type="", **fields):
    raised = Raised(type=type, message=message) if type else None
    return Failure(nodeid="", phase=phase, message=message, raised=raised, **fields)


NEGATIVE = [
    Observation(),
    *(Observation(exit_code=code) for code in (0, 1, 2, 5, 127, 128, 130, 143, 255, -2, -15)),
    Observation(exit_code=1, failures=(failure("Segmentation fault", type="ValueError"),)),
    Observation(exit_code=1, failures=(failure("foo: command not found", code="command-not-found"),)),
    Observation(exit_code=1, failures=(failure("the worker 'gw0' crashed while running 'a'", phase="call"),)),
    Observation(exit_code=-11, failures=(failure("broken", type="ValueError"),)),
]
POSITIVE = [
    Observation(exit_code=-11),
    Observation(exit_code=139),
    Observation(exit_code=137),
    Observation(exit_code=1, failures=(failure("Segmentation fault", type="Fatal Python error"),)),
    Observation(exit_code=1, failures=(failure("Killed", tool="shell", code="SIGKILL"),)),
    Observation(
        exit_code=1, failures=(failure("worker 'gw0' crashed while running 'a.py::test_b'", phase="call"),)
    ),
]


@pytest.mark.parametrize("observation", NEGATIVE)
def test_finds_nothing(observation):
    assert list(CRASH.detect(observation)) == []


@pytest.mark.parametrize("observation", POSITIVE)
def test_finds(observation):
    assert [e.kind for e in CRASH.detect(observation)] == ["crash"]
