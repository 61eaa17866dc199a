"""Programs under test that replace what the plugin needs, and what must not be kept or shown of them."""

import json

import pytest

from loop_close.parts import of_report
from loop_close.pytest_plugin.finish import raw_evidence
from loop_close.readers.pytest_reports import Failure
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


@pytest.mark.slow
@pytest.mark.parametrize("source", [OPEN, MODULES], ids=["open", "sys.modules"])
@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["serial", "xdist"])
def test_what_a_test_replaced_does_not_end_the_run(run, source, workers):
    # In a process of its own: here everything is imported already.
    done = run({"test_a.py": source}, *workers, own_process=True, plugins=("xdist",) if workers else ())
    assert done.ret == 1
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert done.says("# 2 tests fail: ")
    assert [cause["tests"] for cause in done.report["root_causes"]] == [
        ["test_a.py::test_a"],
        ["test_a.py::test_b"],
    ]


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
def test_c(modules):
    raise KeyError("x")
"""
MODULES_OF_ANY_KIND = """
import sys
from unittest import mock
def test_a():
    with mock.patch.dict(sys.modules, {3: sys, "loop_close.readers": mock.Mock()}):
        assert 1 == 2
def test_b(monkeypatch):
    class Odd(dict):
        def items(self):
            raise RuntimeError("odd")
        setdefault = items
    monkeypatch.setattr(sys, "modules", Odd(sys.modules))
    raise KeyError("x")
def test_c():
    raise KeyError("y")
"""
FAKES = """
import pytest
def test_a(fs):
    fs.create_file("/folder/file", contents="one")
    with open("/folder/file") as file:
        assert file.read() == "two"
def test_b():
    raise KeyError("x")
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["serial", "xdist"])
def test_modules_that_are_unloaded_after_a_test_are_not_loaded_twice(run, workers):
    done = run({"test_a.py": RESTORED}, *workers, own_process=True, plugins=("xdist",) if workers else ())
    assert "failed extension" not in done.prompt
    assert [cause["location"]["function"] for cause in done.report["root_causes"]] == [
        "test_a",
        "test_b",
        "test_c",
    ]


@pytest.mark.slow
def test_modules_of_any_kind_do_not_end_the_run(run):
    done = run({"test_a.py": MODULES_OF_ANY_KIND}, own_process=True)
    assert "failed extension" not in done.prompt
    assert done.report["verdict"] == "red"
    found = [cause["location"]["function"] for cause in done.report["root_causes"]]
    assert found == ["test_a", "test_b", "test_c"]


@pytest.mark.slow
def test_files_that_a_test_fakes_hide_no_failure(run):
    pytest.importorskip("pyfakefs.pytest_plugin")
    done = run({"test_a.py": FAKES}, own_process=True, plugins=("pyfakefs.pytest_plugin",))
    assert "failed extension" not in done.prompt
    assert [cause["location"]["function"] for cause in done.report["root_causes"]] == ["test_a", "test_b"]


@pytest.mark.slow
def test_second_run_in_one_process_reads_the_files_again(pytester):
    test = "def test_a():\n    x = {}\n    assert x == 2\n"
    pytester.makepyfile(test_a=test.format(1), main=MAIN.format(test.format(7)))
    pytester.makeini("[pytest]")
    pytester.runpython("main.py")
    prompt = (pytester.path / "nextprompt.md").read_text(encoding="utf-8")
    assert "x = 7" in prompt
    assert "x = 1" not in prompt


MAIN = """
import os, pathlib, sys
import pytest
pytest.main(["--loop-close", "--loop-close-history=off", "-p", "no:cacheprovider"])
del sys.modules["test_a"]
pathlib.Path("test_a.py").write_text({!r})
os.utime("test_a.py", (1, 1))
pytest.main(["--loop-close", "--loop-close-history=off", "-p", "no:cacheprovider"])
"""


@pytest.mark.parametrize("given", [("--db=postgres://me:s3cretpw@host/db",), ("--db", TOKEN)])
def test_credentials_on_the_command_line_are_not_written(run, given):
    conftest = "def pytest_addoption(parser): parser.addoption('--db')\n"
    files = {"conftest.py": conftest, "test_a.py": "def test_a(): assert 1 == 2\n"}
    done = run(files, *given, remembers=True)
    (part,), _ = of_report("report.json", json.dumps(done.report))
    assert part.context is not None
    with Store.open(done.folder / DEFAULT_HISTORY) as store:
        (row,) = store.runs()
    for words in (part.context.args, row.command):
        assert "<redacted 1>" in " ".join(words)
        assert not any(secret in word for word in words for secret in ("s3cretpw", TOKEN))
    written = [
        done.prompt,
        *(path.read_bytes().decode("latin-1") for path in done.folder.glob(".loop-close/*")),
    ]
    assert not any(secret in text for text in written for secret in ("s3cretpw", TOKEN))


@pytest.mark.slow
def test_credentials_in_the_reason_of_pytest_exit_are_not_shown(run):
    done = run({"test_a.py": f"import pytest\ndef test_a(): pytest.exit('with {TOKEN}')\n"})
    assert done.summary[0].endswith(": pytest.exit: with <redacted 1>")


def test_raw_evidence_is_redacted():
    failure = Failure(nodeid=f"test_a.py::test_a[{TOKEN}]", phase="call", message=f"x = {TOKEN}\n# no")
    text = "".join(raw_evidence([failure], 1, "fault"))
    assert TOKEN not in text
    assert "'x = <redacted 1>\\n# no'" in text


def test_raw_evidence_that_cannot_be_redacted_is_held_back(monkeypatch):
    monkeypatch.setattr("loop_close.text.redact.redact", None)
    failure = Failure(nodeid="test_a.py::test_a", phase="call", message=TOKEN)
    text = "".join(raw_evidence([failure], 1, "fault"))
    assert TOKEN not in text
    assert "held back: TypeError" in text


def test_many_ordinary_warnings_do_not_hide_one_of_interest(run):
    source = """
    import warnings, pytest
    @pytest.mark.parametrize("i", range(250))
    def test_w(i): warnings.warn(f"old {i}", DeprecationWarning)
    def test_z(): warnings.warn("coroutine 'f' was never awaited", RuntimeWarning)
    def test_f(): assert 1 == 2
    """
    assert run({"test_a.py": source}).says("coroutine 'f' was never awaited")


@pytest.mark.slow
@pytest.mark.skipif(pytest.version_tuple < (9, 0), reason="the subtests fixture is new in pytest 9")
def test_subtests_make_the_same_prompt_on_workers(run):
    source = """
    def test_a(subtests):
        for n in range(3):
            with subtests.test(n=n):
                assert n != 1
    """
    serial = run({"test_a.py": source}, own_process=True).prompt
    assert run({"test_a.py": source}, "-n1", own_process=True, plugins=("xdist",)).prompt == serial


def test_secrets_that_the_cut_of_a_long_message_goes_through_are_not_shown(run):
    source = f"""
    def test_head(): raise ValueError("x " * 4790 + {TOKEN!r} + " y" * 9000)
    def test_tail(): raise ValueError("x " * 8000 + "password='" + "hunter2" + "SECRETvalue'".ljust(6393))
    """
    done = run({"test_a.py": source})
    for shown in (done.prompt, str(done.report)):
        assert "ghp_abc" not in shown.replace(repr(TOKEN), "")
        assert "SECRETvalue'\n" not in shown
    assert all("SECRETvalue" not in message for message in done.messages)


def test_count_of_what_a_long_message_lost_is_told(run):
    done = run({"test_a.py": "def test_a(): raise ValueError('z' * 1_000_000)\n"})
    assert "… 984000 characters left out …" in done.messages[0]
