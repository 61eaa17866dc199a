import os
import subprocess
import sys

from loop_close.process import birth_of, host, is_alive


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


def test_host_has_a_name():
    assert isinstance(host(), str)
