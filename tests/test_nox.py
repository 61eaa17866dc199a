"""The helper for noxfiles: which command a session runs."""

import sys

import pytest

from loop_close import nox as loop_close
from loop_close.store.reader import read


class Session:
    """The part of nox's session that the helper uses."""

    name = "tests-3.11"

    def run(self, *words, **options):
        return words, options


AGAIN = (sys.executable, "-m", "loop_close", "run", "--source", "mypy:tests-3.11", "--")


@pytest.mark.parametrize(
    ("words", "started"),
    [
        (("pytest", "-q"), ("pytest", "-q", "--loop-close")),
        (("python", "-m", "pytest"), ("python", "-m", "pytest", "--loop-close")),
        (("mypy", "src"), (*AGAIN, "mypy", "src")),
        (("/opt/bin/mypy", "src"), (*AGAIN, "/opt/bin/mypy", "src")),
    ],
)
def test_what_is_run(words, started):
    ran, options = loop_close.run(Session(), *words, env={"A": "1"})
    assert ran == started
    assert options["env"] == {"A": "1"}
    assert options.get("external", False) == ("loop_close" in started)


@pytest.mark.slow
def test_in_a_real_nox(tmp_path):
    nox = pytest.importorskip("nox")
    import os
    import subprocess

    (tmp_path / "shop.py").write_text("def total(prices):\n    return sum(prices) + 1\n")
    (tmp_path / "test_shop.py").write_text("import shop\ndef test_total(): assert shop.total([1]) == 1\n")
    (tmp_path / "noxfile.py").write_text(
        "import sys, nox\nfrom loop_close import nox as loop_close\n"
        "@nox.session(venv_backend='none')\n"
        "def tests(session):\n    loop_close.run(session, sys.executable, '-m', 'pytest')\n"
        "@nox.session(venv_backend='none')\n"
        "def types(session):\n"
        "    text = 'shop.py:2: error: Bad  [operator]\\\\nFound 1 error in 1 file (checked 1 source file)'\n"
        "    loop_close.run(session, sys.executable, '-c', f'print({text!r}); exit(1)')\n"
    )
    assert nox
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "nox"], cwd=tmp_path, env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    text = (tmp_path / "nextprompt.md").read_text()
    assert "- `pytest:tests`: 1 test fails" in text
    assert "1 mypy error" in text
    assert "nox -s types" in text
    assert "nox -s tests -- --loop-close-failed" in text


NOXFILE = """
import sys, nox
from loop_close import nox as loop_close
from loop_close.store.reader import read
@nox.session(venv_backend='none')
def tests(session):
    loop_close.run(session, sys.executable, '-m', 'pytest')
@nox.session
def made(session):
    session.install('./nothing.whl')
@nox.session(venv_backend='none')
def other(session):
    session.run(sys.executable, '-c', {code!r})
@nox.session(venv_backend='none')
def left(session):
    session.skip('not today')
"""


@pytest.mark.slow
def test_a_session_that_fails_before_its_tests_is_a_cause_by_name(tmp_path):
    pytest.importorskip("nox")
    import os
    import subprocess

    (tmp_path / "test_shop.py").write_text("def test_fine(): pass\n")
    (tmp_path / "noxfile.py").write_text(NOXFILE.format(code="print('it is down'); exit(3)"))
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "VIRTUAL_ENV"))}

    def called(*words):
        command = [sys.executable, "-m", *words]
        return subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True, check=False)

    assert called("nox").returncode == 1
    text = (tmp_path / "nextprompt.md").read_text()
    assert text.startswith("# 2 environments fail, 1 passes")
    assert "made: exit 1: python -m pip install ./nothing.whl: ERROR: " in text
    assert "other: exit 3: " in text
    assert "- Skipped: `nox:left` (`not today`)" in text
    assert "nox -s made other" in text
    assert called("loop_close", "status").returncode == 1
    mended = NOXFILE.format(code="").replace("session.install('./nothing.whl')", "pass")
    (tmp_path / "noxfile.py").write_text(mended)
    assert called("nox").returncode == 0
    assert (tmp_path / "nextprompt.md").read_text().startswith("# The tests pass: 1 passed")
    done = called("loop_close", "status")
    assert done.returncode == 0, done.stdout


def test_a_session_that_was_skipped_and_succeeds_later_is_skipped_no_longer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for status, reason in (("SKIPPED", "not today"), ("SUCCESS", ""), ("SUCCESS", "")):
        loop_close._ended("s", status, reason, 0.0)
        text = (tmp_path / "nextprompt.md").read_text()
        assert ("Skipped: `nox:s` (`not today`)" in text) == (status == "SKIPPED")
    runs = read(tmp_path / ".loop-close/history.sqlite3", lambda history: history.rows("nox:s"))
    assert [bool(row.summary.get("skipped")) for row in runs] == [True, False], (
        "once it is green, no more runs"
    )


def test_a_runner_of_another_nox_is_left_alone():
    loop_close.attend(None)
    loop_close.attend(object())
