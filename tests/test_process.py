import os
import subprocess
import sys

from loop_close.process import birth_of


def test_the_birth_of_a_process_is_its_own():
    birth = birth_of(os.getpid())
    assert birth == birth_of(os.getpid())
    assert not birth or birth.isdecimal()  # where the system tells it


def test_a_process_that_has_ended_has_none():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process.communicate(b"\n")
    assert birth_of(process.pid) == ""
