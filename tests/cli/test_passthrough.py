"""What ``loop-close run`` leaves as it is: output, exit code, signals, input."""

import os
import signal
import subprocess
import sys

import pytest
from cli_harness import Terminal, environment, loop_close, python, started

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="pseudo-terminals and signals are those of POSIX"
)

PASSED_BY = b"loop-close: "


def told(text):
    """What the command wrote, without our own lines."""
    return b"".join(line for line in text.splitlines(keepends=True) if not line.startswith(PASSED_BY))


@pytest.mark.parametrize("code", [0, 1, 3, 42, 255])
def test_exit_code_is_the_commands(tmp_path, code):
    assert loop_close("run", "--", *python(f"raise SystemExit({code})"), cwd=tmp_path).returncode == code


def test_streams_stay_apart_byte_for_byte(tmp_path):
    code = "import os; os.write(1, bytes(range(256)) * 50); os.write(2, b'\\xff\\x00err\\r\\n')"
    done = loop_close("run", "--", *python(code), cwd=tmp_path)
    assert done.stdout == bytes(range(256)) * 50
    assert done.stderr.startswith(b"\xff\x00err\r\nloop-close: ")


def test_order_is_kept_where_both_streams_are_one(tmp_path):
    code = "import os\nfor n in range(500): os.write(1 + n % 2, b'%d\\n' % n)"
    done = loop_close("run", "--", *python(code), cwd=tmp_path, stderr=subprocess.STDOUT)
    assert told(done.stdout).split() == [b"%d" % n for n in range(500)]


def test_output_comes_before_the_command_ends(tmp_path):
    code = "import os, time\nos.write(1, b'first\\n')\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('last')"
    with started("run", "--", *python(code), cwd=tmp_path) as process:
        assert process.stdout.readline() == b"first\n"
        assert process.poll() is None
        (tmp_path / "go").touch()
        assert process.stdout.read() == b"last\n"
    assert process.returncode == 0


@pytest.mark.parametrize("streams", [("stderr",), ("stdout", "stderr")], ids=["apart", "both"])
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_exit_code_is_the_commands_when_our_output_is_closed(tmp_path, streams, unbuffered):
    ours, theirs = os.pipe()
    os.close(ours)
    env = environment(PYTHONUNBUFFERED=unbuffered)
    command = python("raise SystemExit(3)")
    done = loop_close("run", "--", *command, cwd=tmp_path, env=env, **dict.fromkeys(streams, theirs))
    os.close(theirs)
    assert done.returncode == 3
    assert "(exit 3)" in (tmp_path / "nextprompt.md").read_text(encoding="utf-8")


def test_input_reaches_the_command(tmp_path):
    assert loop_close("run", "--", "cat", cwd=tmp_path, data=b"x\n\xff\n").stdout == b"x\n\xff\n"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGABRT", "SIGINT"])
def test_command_that_a_signal_ends_is_128_and_the_signal(tmp_path, name):
    number = getattr(signal, name)
    code = f"import os, signal; signal.signal({number}, signal.SIG_DFL); os.kill(os.getpid(), {number})"
    if name == "SIGKILL":
        code = f"import os; os.kill(os.getpid(), {number})"
    done = loop_close("run", "--", *python(code), cwd=tmp_path)
    assert done.returncode == 128 + number
    is_crash = name not in ("SIGTERM", "SIGINT")  # which are sent on purpose
    title = "# 1 crash" if is_crash else f"# No known failure in the output (exit {128 + number})\n"
    assert (tmp_path / "nextprompt.md").read_text(encoding="utf-8").startswith(title)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_signal_sent_to_us_reaches_the_command_once(tmp_path, name):
    number = int(getattr(signal, name))
    code = (
        "import signal, time, sys\ngot = []\n"
        f"signal.signal({number}, lambda n, f: got.append(n))\n"
        "print('ready', flush=True)\n"
        "while not got: time.sleep(0.01)\n"
        "time.sleep(0.4)\nprint(len(got)); sys.exit(7)"
    )
    with started("run", "--", *python(code), cwd=tmp_path, start_new_session=True) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.read() == b"1\n"
    assert process.returncode == 7


@pytest.mark.parametrize(
    "noise", ["", "import os\nwhile True: os.write(1, b'noise\\n' * 20_000)"], ids=["quiet", "loud"]
)
def test_process_left_behind_does_not_hold_us(tmp_path, noise):
    left = noise or "import time\nwhile True: time.sleep(1)"
    code = (
        f"import os, subprocess, sys\np = subprocess.Popen([sys.executable, '-c', {left!r}])\n"
        "open('pid', 'w').write(str(p.pid))\nos._exit(5)"
    )
    done = loop_close("run", "--", *python(code), cwd=tmp_path)
    if not noise:  # the loud one ends by itself: nobody reads it
        os.kill(int((tmp_path / "pid").read_text(encoding="utf-8")), signal.SIGKILL)
    assert done.returncode == 5


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_output_that_cannot_be_passed_on_is_reported(tmp_path):
    with open("/dev/full", "wb") as full:
        done = loop_close("run", "--", *python("import os; os.write(1, b'x')"), cwd=tmp_path, stdout=full)
    assert b"loop-close: cannot pass on the output of the command: No space left on device\n" in done.stderr
    assert done.returncode == 0


def test_at_a_terminal_the_command_has_one_too_and_colours_stay(tmp_path):
    code = "import os; print([os.isatty(n) for n in (0, 1, 2)]); print('\\x1b[31mred\\x1b[0m')"
    with Terminal("run", "--", *python(code), cwd=tmp_path) as terminal:
        status, shown = terminal.ended()
    assert status == 0
    assert b"[True, True, True]\r\n\x1b[31mred\x1b[0m\r\n" in shown


@pytest.mark.parametrize("key", [b"\x03", b"\x1c"], ids=["ctrl-c", "ctrl-backslash"])
def test_key_reaches_the_command_once(tmp_path, key):
    code = (
        "import signal, time\ngot = []\n"
        "for n in (signal.SIGINT, signal.SIGQUIT): signal.signal(n, lambda n, f: got.append(n))\n"
        "print('ready')\nwhile not got: time.sleep(0.01)\ntime.sleep(0.4)\nprint('got', len(got))"
    )
    with Terminal("run", "--", *python(code), cwd=tmp_path) as terminal:
        terminal.expect(b"ready")
        terminal.type(key)
        terminal.expect(b"got 1\r\n")
        assert terminal.ended()[0] == 0
