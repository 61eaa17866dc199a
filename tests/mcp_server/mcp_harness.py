"""A project, and ``loop-close mcp`` as a process of its own: behind the official client, or behind bare pipes."""

import contextlib
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

COMMAND = [sys.executable, "-m", "loop_close", "mcp"]
PYTEST = shlex.join([sys.executable, "-m", "pytest", "--loop-close", "-q", "-p", "no:cacheprovider"])
GUARD = 120  # seconds after which a test that hangs fails: far more than a machine under load takes
MODERN = "2026-07-28"
ERAS = ("legacy", MODERN)
LEFT_OUT = ("PYTEST_", "COLUMNS", "LINES", "PYTHONWARNINGS", "COV_")

RED = "def test_total():\n    total = 1\n    assert total == 2\n"
#: A test whose value is in shop.py, where a fix belongs.
TESTS = "from shop import TOTAL\n\ndef test_total():\n    assert TOTAL == 2\n"
GREEN = "def test_total():\n    total = 2\n    assert total == 2\n"
# Says where it and a process that it started are, then waits.
WAITS = """import os, subprocess, sys, time
from pathlib import Path

def test_waits():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    Path("pids.part").write_text(f"{os.getpid()} {child.pid}")
    os.rename("pids.part", "pids")
    time.sleep(300)
"""
# The same without pytest, which takes a second to begin.
SCRIPT = f"{WAITS}\ntest_waits()\n"
IGNORES = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{SCRIPT}"
PYTHON = shlex.join([sys.executable, "test_shop.py"])


def project(path, tests=RED, command=PYTEST, more=""):
    """A project with one file of tests.

    :param more: further settings.
    """
    (path / "pyproject.toml").write_text(f"[tool.loop-close]\ntest_command = {json.dumps(command)}\n{more}\n")
    (path / "test_shop.py").write_text(tests)
    return path


def environment():
    """The variables of a process; pytest in it loads no plugin but ours, which saves a third of its time."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p loop_close"}


def session(path, work, mode="auto"):
    """What ``work`` makes of a client that is connected to the server in this folder."""

    async def main():
        with anyio.fail_after(GUARD), (path.parent / "stderr").open("w") as errors:
            server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=path, env=environment())
            async with Client(stdio_client(server, errlog=errors), mode=mode) as client:
                return await work(client)

    return anyio.run(main)


def text_of(result):
    (content,) = result.content
    return content.text


@contextlib.contextmanager
def piped(path):
    """The bare process."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(COMMAND, cwd=path, env=environment(), **pipes)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def line(method, number=None, era=MODERN, **params):
    """A message of the protocol, as a line."""
    if era == MODERN and number is not None:
        named = {
            "protocolVersion": MODERN,
            "clientInfo": {"name": "t", "version": "1"},
            "clientCapabilities": {},
        }
        params["_meta"] = {f"io.modelcontextprotocol/{name}": value for name, value in named.items()}
    identity = {} if number is None else {"id": number}
    return json.dumps({"jsonrpc": "2.0", **identity, "method": method, "params": params}) + "\n"


def call(number, tool, **arguments):
    return line("tools/call", number, name=tool, arguments=arguments)


def send(process, text):
    process.stdin.write(text.encode())
    process.stdin.flush()


def answer(process):
    return json.loads(process.stdout.readline())


def pids_of(path):
    """Of the test that waits, and of the process that it started."""
    end = time.monotonic() + GUARD
    while not (path / "pids").exists():
        assert time.monotonic() < end, "the test never began"
        time.sleep(0.01)
    return [int(pid) for pid in (path / "pids").read_text().split()]


def wait_until_gone(pids):
    end = time.monotonic() + GUARD
    while not all(map(_is_gone, pids)):
        assert time.monotonic() < end, "a process was left behind"
        time.sleep(0.01)


def _is_gone(pid):
    """Ended, though perhaps nobody has asked how."""
    stat = Path(f"/proc/{pid}/stat")
    with contextlib.suppress(OSError):
        return stat.read_text().rpartition(")")[2].split()[0] == "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def end(process, number):
    """Its exit code after a signal, or, with None, after the end of its input."""
    if number is None:
        process.stdin.close()
    else:
        process.send_signal(number)
    return process.wait(GUARD)
