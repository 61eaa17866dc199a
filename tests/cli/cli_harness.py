"""Run ``loop-close`` as a process of its own, behind pipes or at a terminal, or in this process."""

import contextlib
import io
import os
import select
import signal
import subprocess
import sys
import time

from loop_close.cli import Streams, main

CODE = "import sys; from loop_close.cli import main; sys.exit(main())"
COMMAND = [sys.executable, "-c", CODE]
# The process becomes the one that the terminal's keys signal, as what a shell starts does.
AT_TERMINAL = f"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); {CODE}"
#: A project in which one test of six fails.
SHOP = {
    "pytest.ini": "[pytest]\n",
    "shop.py": "def total(items):\n    return sum(items) - (items[0] == 3)\n",
    "test_shop.py": (
        "import pytest, shop\n"
        "@pytest.mark.parametrize('n', range(6))\n"
        "def test_total(n): assert shop.total([n, 1]) == n + 1, 'größer'\n"
    ),
}
GUARD = 300  # seconds after which a test that hangs fails: far more than a machine under load takes
# Of whoever runs the suite, what would change what is tested; tests that want it set it.
LEFT_OUT = (
    "PYTEST_",
    "COLUMNS",
    "LINES",
    "PYTHONUNBUFFERED",
    "PYTHONIOENCODING",
    "PYTHONWARNINGS",
)


def python(code):
    """Words of a command that runs some Python."""
    return [sys.executable, "-c", code]


def put(folder, name, content):
    """Write a file, in folders that may not be there; its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def environment(**changed):
    """The variables of a process; pytest in it loads no plugin but ours, which saves a third of its time."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(LEFT_OUT)}
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p loop_close"}
    return {**kept, **alone, **changed}


#: For the pytest that writes a report.
ALONE = environment(PYTEST_ADDOPTS="-p loop_close -p no:cacheprovider")


def loop_close(*words, cwd, data=b"", env=None, **options):
    """Run it to its end; what it printed is bytes."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        input=data,
        env=env or environment(),
        timeout=GUARD,
        check=False,
        **streams,
    )


def loop_close_here(*words, cwd, data=b""):
    """As :func:`loop_close`, in this process: for tests of what a command does, not of its streams."""
    output, errors = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="") for _ in "oe"
    )
    streams = Streams(input=io.BytesIO(data), output=output, errors=errors)
    with contextlib.chdir(cwd):
        code = main([str(word) for word in words], streams)
    output.flush()
    errors.flush()
    return subprocess.CompletedProcess(words, code, output.buffer.getvalue(), errors.buffer.getvalue())


def started(*words, cwd, **options):
    """Run it beside the test."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([*COMMAND, *map(str, words)], cwd=cwd, env=environment(), **streams)


class Terminal:
    """A terminal with ``loop-close`` in its foreground.

    A stream given as ``PIPE`` goes there and not to the terminal.
    """

    def __init__(self, *words, cwd, stdout=None, stderr=None, stdin=None, size=(24, 80)):
        import pty
        import termios

        self.ours, theirs = pty.openpty()
        termios.tcsetwinsize(self.ours, size)
        self.process = subprocess.Popen(
            [sys.executable, "-c", AT_TERMINAL, *map(str, words)],
            cwd=cwd,
            env=environment(TERM="xterm"),
            stdin=theirs,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs if stderr is None else stderr,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = b""

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        os.close(self.ours)

    def type(self, data):
        os.write(self.ours, data)

    def expect(self, text):
        """Read until the terminal shows this."""
        end = time.monotonic() + GUARD
        while text not in self.shown:
            assert self._read(end), f"{text!r} never came, only {self.shown!r}"

    def ended(self):
        """The exit code, and all that the terminal showed."""
        end = time.monotonic() + GUARD
        while self._read(end):
            pass
        return self.process.wait(GUARD), self.shown

    def _read(self, end):
        if not select.select([self.ours], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        try:
            chunk = os.read(self.ours, 65_536)
        except OSError:  # Linux says so when nobody holds the other end
            return False
        self.shown += chunk
        return bool(chunk)
