import os
import subprocess
import sys

import pytest

from loop_close.process import birth_of, host, is_alive, is_pid


def test_this_process_is_alive():
    assert is_alive(os.getpid(), birth_of(os.getpid()))
    assert is_alive(os.getpid(), "")


def test_another_birth_is_another_process():
    birth = birth_of(os.getpid())
    if birth:  # the system tells it
        assert birth.isdecimal()
        assert not is_alive(os.getpid(), f"{birth}1")


def test_a_process_that_has_ended_is_not():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    birth = birth_of(process.pid)
    assert is_alive(process.pid, birth)
    process.communicate(b"\n")
    assert not is_alive(process.pid, birth)
    assert not is_alive(process.pid, "")
    assert birth_of(process.pid) == ""


@pytest.mark.parametrize(
    "pid", [0, -1, True, 2**31, 1.0, "1", "self", "self/cwd/d", "../dev/zero", None, b"1"]
)
def test_what_is_no_number_of_a_process_is_not_looked_for(tmp_path, monkeypatch, pid):
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "d" / "stat")  # to read it would take for ever
    monkeypatch.chdir(tmp_path)
    assert birth_of(pid) == ""
    assert not is_alive(pid, "1")
    assert not is_pid(pid)


def test_host_has_a_name():
    assert isinstance(host(), str)
