"""The files of tests, what is kept of them, and the states of what was done to them."""

import shutil
import subprocess

import pytest

from loop_close import baseline
from loop_close.baseline import compared, judged, new_baseline, text_of, texts_at_head, texts_now

TEST = "def test_a():\n    assert f() == 1\n"
PYPROJECT = """\
[project]
name = "x"
[tool.pytest.ini_options]  # ours
testpaths = ["tests"]
filterwarnings = [
    "error",
]
[tool.other]
token = "abc"
"""


@pytest.mark.parametrize(
    ("path", "text", "kept"),
    [
        ("test_a.py", TEST, TEST),
        ("pytest.ini", "[pytest]\nx = 1\n", "[pytest]\nx = 1\n"),
        (
            "pyproject.toml",
            PYPROJECT,
            '[tool.pytest.ini_options]  # ours\ntestpaths = ["tests"]\nfilterwarnings = [\n    "error",\n]\n',
        ),
        (
            "tox.ini",
            "[testenv]\nset_env =\n    PYTHONOPTIMIZE=1\ncommands = python -O -m pytest\n[pytest]\nb = 2\n",
            "# PYTHONOPTIMIZE=1\n# commands = python -O -m pytest\n[pytest]\nb = 2\n",
        ),
        ("sub/tox.ini", "[tox]\na = 1\n[pytest]\nb = 2\n[testenv]\nc = 3\n", "[pytest]\nb = 2\n"),
        ("setup.cfg", "[metadata]\na = 1\n[tool:pytest]\r\nb = 2\r\n", "[tool:pytest]\nb = 2\n"),
        ("setup.cfg", "[metadata]\na = 1\n", ""),
    ],
)
def test_what_is_kept_of_a_file(path, text, kept):
    assert text_of(path, text.encode()) == kept


def test_credentials_of_a_configuration_are_not_kept():
    assert "ghp_" not in text_of("pytest.ini", b"[pytest]\nenv = TOKEN=ghp_" + b"a1B2c3D4e5" * 4 + b"\n")


def put(root, **files):
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def test_tests_of_a_project(tmp_path):
    put(tmp_path, test_a=TEST, shop="X = 1\n", tests__helpers="Y = 1\n", conftest="")
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    (tmp_path / "README.md").write_text("no\n")
    found = texts_now(tmp_path)
    assert sorted(found) == ["conftest.py", "pyproject.toml", "test_a.py", "tests/helpers.py"]
    assert found["test_a.py"] == TEST


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_tests_of_the_last_commit(tmp_path):
    assert texts_at_head(tmp_path) == {}
    put(tmp_path, test_a=TEST, shop="X = 1\n", tests__tést_b="Z = 'ü'\n")
    about = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *about, *words], cwd=tmp_path, check=True, capture_output=True)
    put(tmp_path, test_a="", test_c=TEST)
    assert texts_at_head(tmp_path) == {"test_a.py": TEST, "tests/tést_b.py": "Z = 'ü'\n"}
    assert (
        texts_at_head(tmp_path / "tests") == {"tést_b.py": "Z = 'ü'\n"}
        or texts_at_head(tmp_path / "tests") == {}
    )


def test_ignored_test_is_read_all_the_same(tmp_path):
    put(tmp_path, build__test_a=TEST)
    assert texts_now(tmp_path) == {}  # a walk leaves what was built out
    assert texts_now(tmp_path, ["build/test_a.py", "gone.py"]) == {"build/test_a.py": TEST}


def test_number_of_files_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(baseline, "MAX_FILES", 2)
    put(tmp_path, **{f"test_{n}": TEST for n in range(4)})
    assert sorted(texts_now(tmp_path)) == ["test_0.py", "test_1.py"]
    entries = {f"test_{n}.py": (1, 1, f"d{n}") for n in range(4)}
    assert sorted(new_baseline(tmp_path, entries).files) == ["test_0.py", "test_1.py"]
    assert new_baseline(tmp_path, None) is None


def test_configuration_is_kept_first(tmp_path, monkeypatch):
    """Else what is there from the beginning would seem to be added, such as entries of known failures."""
    monkeypatch.setattr(baseline, "MAX_FILES", 2)
    (tmp_path / "pyproject.toml").write_text("[tool.loop-close]\nknown = [{test = 'a.py::test_a'}]\n")
    entries = {path: (1, 1, path) for path in ("a/test_a.py", "b/test_b.py", "pyproject.toml")}
    assert sorted(new_baseline(tmp_path, entries).files) == ["a/test_a.py", "pyproject.toml"]


def test_states():
    changes = compared({"test_a.py": TEST}, {"test_a.py": "def test_a():\n    f()\n"})
    (change,) = judged(changes, (), ())
    assert (change.id, change.kind, change.state) == ("test_a.py::test_a", "weakened", "open")
    name = change.fingerprint
    assert [each.state for each in judged(changes, (name,), ())] == ["accepted"]
    assert [each.state for each in judged(changes, (), (name,))] == ["asked"]
    assert [each.state for each in judged(changes, (), (), is_new=True)] == ["asked"]
    assert compared({"test_a.py": TEST}, {"test_a.py": TEST}) == []


def test_credentials_in_a_test_are_not_shown():
    secret = "ghp_" + "a1B2c3D4e5" * 4
    changes = compared({"test_a.py": TEST}, {"test_a.py": f"def test_a():\n    f('{secret}')\n"})
    assert secret not in repr(changes)


KNOWN = """\
[project]
name = "x"
[[tool.loop-close.known]]
test = "a.py::test_a"
issue = "https://example.org/1"
until = 2027-01-31
[[tool.loop-close.known]]
cause = "1a2b3c4d"
"""


def test_entries_of_known_failures_are_kept_whatever_their_form():
    kept = text_of("pyproject.toml", KNOWN.encode())
    assert kept == (
        '# loop-close known: {"test": "a.py::test_a", "until": "2027-01-31"}\n'
        '# loop-close known: {"cause": "1a2b3c4d"}\n'
    )
    inline = 'tool = {loop-close = {known = [{until = "2027-01-31", test = "a.py::test_a"}, {cause = "1a2b3c4d"}]}}'
    assert text_of("pyproject.toml", inline.encode()) == kept
    assert text_of("sub/pyproject.toml", KNOWN.encode()) == ""


@pytest.mark.parametrize(
    "text",
    [
        "[tool.loop-close]\nknown = 1\n",
        "[tool.loop-close]\nknown = [{}]\n",
        "[tool.loop-close]\nknown = [\n",
        "tool = 1 # loop-close known",
        "[tool]\nloop-close = 'known'\n",
    ],
)
def test_wrong_entries_are_none(text):
    assert text_of("pyproject.toml", text.encode()) == ""


def test_a_comment_that_looks_like_an_entry_is_none():
    """Else it could be planted before the loop, so that an entry later seems to have been there."""
    text = '[tool.pytest.ini_options]\n# loop-close known: {"test": "a.py::test_a"}\n'
    before = {"pyproject.toml": text_of("pyproject.toml", text.encode())}
    after = {"pyproject.toml": text_of("pyproject.toml", (text + KNOWN).encode())}
    found = compared(before, after)
    assert [(each.id, each.kind, each.state) for each in found] == 2 * [
        ("pyproject.toml::known", "weakened", "open")
    ]
    assert {each.what for each in found} == {
        "`a.py::test_a` was added to the known failures, until 2027-01-31",
        "the root cause 1a2b3c4d was added to the known failures",
    }


def test_an_entry_stays_open_also_where_no_run_of_the_loop_was_before():
    before, after = ({"pyproject.toml": text_of("pyproject.toml", text.encode())} for text in ("", KNOWN))
    found = compared(before, after)
    assert {each.state for each in judged(found, (), (), is_new=True)} == {"open"}
    assert {each.state for each in judged(found, (), [each.fingerprint for each in found])} == {"asked"}
    assert {each.state for each in judged(found, [each.fingerprint for each in found], ())} == {"accepted"}
