"""Programs under test that replace what the plugin needs, and what must not be kept or shown of them."""

import json

import pytest

from loop_close.parts import of_report
from loop_close.settings import DEFAULT_HISTORY
from loop_close.store import Store

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

OPEN = """
import builtins
def no(*args, **kwargs):
    raise RuntimeError("no files here")
def test_a(monkeypatch):
    monkeypatch.setattr(builtins, "open", no)
    assert 1 == 2
def test_b():
    assert 3 == 4
"""
MODULES = """
import sys
def test_a(monkeypatch):
    monkeypatch.setitem(sys.modules, "loop_close", None)
    monkeypatch.setitem(sys.modules, "loop_close.readers", None)
    raise ValueError("one")
def test_b():
    raise KeyError("two")
"""
RESTORED = """
import sys
from unittest import mock
import pytest
@pytest.fixture
def modules():
    with mock.patch.dict(sys.modules):
        yield
def test_a(modules):
    assert 1 == 2
def test_b():
    with mock.patch.dict(sys.modules):
        assert {"a": 1} == {"a": 2}
"""


@pytest.mark.slow
@pytest.mark.parametrize("source", [OPEN, MODULES, RESTORED], ids=["open", "sys.modules", "restored"])
@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["serial", "xdist"])
def test_what_a_test_replaced_does_not_end_the_run(run, source, workers):
    # In a process of its own: here everything is imported already.
    done = run({"test_a.py": source}, *workers, own_process=True, plugins=("xdist",) if workers else ())
    assert done.ret == 1
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert done.says("# 2 tests fail: ")
    assert "failed extension" not in done.prompt
    assert [cause["tests"] for cause in done.report["root_causes"]] == [
        ["test_a.py::test_a"],
        ["test_a.py::test_b"],
    ]


@pytest.mark.parametrize("given", [("--db=postgres://me:s3cretpw@host/db",), ("--db", TOKEN)])
def test_credentials_on_the_command_line_are_not_written(run, given):
    conftest = "def pytest_addoption(parser): parser.addoption('--db')\n"
    files = {"conftest.py": conftest, "test_a.py": "def test_a(): assert 1 == 2\n"}
    done = run(files, *given, remembers=True)
    (part,) = of_report("report.json", json.dumps(done.report))
    assert part.context is not None
    with Store(done.folder / DEFAULT_HISTORY) as store:
        (row,) = store.runs()
    for words in (part.context.args, row.command):
        assert "<redacted 1>" in " ".join(words)
        assert not any(secret in word for word in words for secret in ("s3cretpw", TOKEN))
    written = [
        done.prompt,
        *(path.read_bytes().decode("latin-1") for path in done.folder.glob(".loop-close/*")),
    ]
    assert not any(secret in text for text in written for secret in ("s3cretpw", TOKEN))
