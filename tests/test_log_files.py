"""Files below a directory, whatever they are, each to its summary."""

import os
import socket
import sys

import pytest

from loop_close import log_files
from loop_close.log_files import summary_of_file

GREEN = "Success: no issues found in 3 source files\n"
RED = 'shop.py:1: error: Name "x" is not defined  [name-defined]\nFound 1 error in 1 file (checked 1 source file)\n'
XML = '<testsuites><testsuite name="pytest" tests="1"><testcase classname="b" name="b"/></testsuite></testsuites>'


def put(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def status(path):
    """Of one file: what it counts as, and why."""
    summary = summary_of_file(str(path), "log")
    for _, name, reason in summary.files:
        return name, reason
    return ("green" if summary.green else "red"), ""


@pytest.mark.skipif(sys.platform == "win32", reason="no such files")
def test_pipes_and_sockets_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert status(tmp_path / "pipe") == ("not a log", "not a regular file")
    with socket.socket(socket.AF_UNIX) as server:
        name = os.path.relpath(tmp_path / "s")  # a longer one may be too long for a socket
        server.bind(name)
        assert status(tmp_path / "s")[0] in ("not a log", "unread")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (GREEN, ("green", "")),
        (RED, ("red", "")),
        (XML, ("green", "")),
        ("", ("unknown", "empty")),
        ("hello\n", ("unknown", "it shows no result")),
        (RED.encode("utf-16"), ("red", "")),
        (b"\xef\xbb\xbf" + XML.encode(), ("green", "")),
        (("\ufeff" + XML).encode("utf-16-le"), ("green", "")),
        (f'<?xml version="1.0" encoding="ISO-8859-1"?>\n<!-- é -->{XML}'.encode("latin-1"), ("green", "")),
        (f"caf\xe9 {'-' * 40}\n{RED}".encode("latin-1"), ("red", "")),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", ("not a log", "not a text")),
        (bytes(range(128, 256)) * 9, ("not a log", "not a text")),
        (f"# 1 test fails\n\n{RED}\n<!-- loop-close -->\n", ("not a log", "written by loop-close")),
        (f"{RED}# 1 test fails\n\n<!-- loop-close -->\n", ("red", "")),  # as after `cat nextprompt.md`
        ('{\n"schema": "loop-close.report/1"\n}\n', ("not a log", "written by loop-close")),
    ],
)
def test_what_a_file_counts_as(tmp_path, content, expected):
    assert status(put(tmp_path, "log", content)) == expected


@pytest.mark.large
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_of_a_large_log_the_end_counts(tmp_path, encoding):
    path = put(tmp_path, "log", ("calm\n" * 1_500_000 + RED).encode(encoding))
    assert status(path) == ("red", "")
    assert len(log_files.read_log(str(path))) == log_files.MAX_TEXT


def test_a_log_of_many_gigabytes_is_not_read_whole(tmp_path):
    path = put(tmp_path, "log", "calm\n" * 2_000)
    with path.open("r+b") as file:
        file.truncate(50_000_000_000)  # a hole, which takes no space
        file.seek(0, os.SEEK_END)
        file.write(f"\n{RED}".encode())
    assert status(path) == ("red", "")
