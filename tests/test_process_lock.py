"""Locks: one at a time, and nobody waits for long or fails for it. The birth of a process, which names its holder."""

import fcntl
import os
import subprocess
import sys

import pytest

from loop_close import process
from loop_close.process import birth_of, locked


def test_one_at_a_time(tmp_path):
    path = tmp_path / "lock"
    with locked(path, 0.02) as first, locked(path, 0.02) as second:
        assert (first, second) == (True, False)
    with locked(path, 0.02) as third:
        assert third


def test_who_holds_it_is_waited_for(tmp_path, monkeypatch):
    number = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(number, fcntl.LOCK_EX)
    monkeypatch.setattr(process.time, "sleep", lambda seconds: fcntl.flock(number, fcntl.LOCK_UN))
    with locked(tmp_path / "lock", 60) as is_held:
        assert is_held
    os.close(number)


def test_it_is_given_back_after_a_fault(tmp_path):
    with pytest.raises(KeyError), locked(tmp_path / "lock", 0.5):
        raise KeyError
    with locked(tmp_path / "lock", 0.5) as is_held:
        assert is_held


@pytest.mark.parametrize("make", ["mkdir", "link", "gone"])
def test_where_there_can_be_none_one_goes_on_without(tmp_path, make):
    path = tmp_path / ("lock" if make != "gone" else "gone/lock")
    if make == "mkdir":
        path.mkdir()
    elif make == "link":
        path.symlink_to(tmp_path / "elsewhere")
    with locked(path, 0.5) as is_held:
        assert not is_held
    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "lock")
    with locked(tmp_path / "lock", 0.5):
        pass


def test_the_birth_of_a_process_is_its_own():
    birth = birth_of(os.getpid())
    assert birth == birth_of(os.getpid())
    assert not birth or birth.isdecimal()  # where the system tells it


def test_a_process_that_has_ended_has_none():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process.communicate(b"\n")
    assert birth_of(process.pid) == ""
