import os
import stat

import pytest

from loop_close import files
from loop_close.files import SIGNATURE, Targets, UnusablePathError
from loop_close.settings import Settings

SIGNED = f"# 1 test fails: x\n\n{SIGNATURE}\n"
RUNNING = "# Tests are running\n\nThis file is rewritten when the run ends.\n"
OUR_REPORT = '{\n"schema": "loop-close.report/1",\n"exit_code": 1\n}\n'


def refusal(path):
    with pytest.raises(UnusablePathError) as caught:
        files.check_writable(path)
    return str(caught.value)


@pytest.mark.parametrize(
    "text", [SIGNED, f"{SIGNED}\n \n", f"{RUNNING}{SIGNATURE}\n", OUR_REPORT, "<!-- other", "", " \n\t"]
)
def test_file_of_ours_or_an_empty_one_can_be_replaced(tmp_path, text):
    path = tmp_path / "prompt.md"
    path.write_text(text)
    files.check_writable(path, ("<!-- other",))
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SIGNED, True),
        (RUNNING, False),
        (f"{RUNNING}{SIGNATURE}\n", False),
        ("", False),
        ("notes", False),
    ],
)
def test_a_prompt_is_finished_when_its_run_is(tmp_path, text, expected):
    path = tmp_path / "prompt.md"
    path.write_text(text)
    assert files.is_finished(path) is expected
    assert not files.is_finished(tmp_path / "gone")


def test_a_prompt_is_written_with_a_signature_that_readers_are_spared(tmp_path):
    path = tmp_path / "prompt.md"
    for text in ("# 1 test fails\n", "# The tests pass: 3 passed\n"):
        Targets(tmp_path, path, None, None, Settings()).write_prompt(text)
        assert path.read_text() == f"{text}\n{SIGNATURE}\n"
        assert files.is_finished(path)
        assert files.without_signature(path.read_text()) == text
    assert files.without_signature("notes\n") == "notes\n"


def test_our_signature_inside_of_other_words_makes_no_prompt_of_them(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text(f"About {SIGNATURE}\n" + "and more\n" * 99)
    assert "was not written by loop-close" in refusal(path)


def test_path_that_is_not_there_can_be_written_and_its_folder_is_made(tmp_path):
    files.check_writable(tmp_path / "a" / "b" / "prompt.md")
    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize(
    "data", [b"notes", b"\xff\xfe\x00", b"x" * 1_000_000, b"{}", b'{"schema": "other/1"}']
)
def test_file_of_somebody_else_is_refused_and_left_alone(tmp_path, data):
    path = tmp_path / "notes.md"
    path.write_bytes(data)
    assert refusal(path).endswith("was not written by loop-close; remove it or name another file")
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_folder_is_refused(tmp_path):
    assert refusal(tmp_path) == f"{tmp_path} is a folder; name a file"


def test_path_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be written: " in refusal(tmp_path / "file" / "prompt.md")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_what_is_no_regular_file_is_refused_unread(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == f"{tmp_path / 'pipe'} is not a regular file; name another file"


def test_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")

    def pieces():
        yield "new"
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        files.write(path, pieces())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of POSIX")
def test_permissions_are_kept_and_new_files_get_the_usual_ones(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("")
    old.chmod(0o640)
    files.write(old, ["x"])
    before = os.umask(0o027)
    files.write(new, ["x"])
    assert os.umask(before) == 0o027
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert stat.S_IMODE(new.stat().st_mode) == 0o640


def test_state_folder_is_made_once_and_ignored_by_git(tmp_path):
    folder = files.state_folder(tmp_path)
    (folder / ".gitignore").write_text("*\n!keep\n")
    assert files.state_folder(tmp_path) == folder == tmp_path / ".loop-close"
    assert (folder / ".gitignore").read_text() == "*\n!keep\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, {}),
        ("[project]\nname = 'x'\n", {}),
        ("[tool.other]\nbudget = 5\n", {}),
        ("[tool.loop-close]\nbudget = 900\n", {"budget": 900}),
        ("[tool]\nloop-close = 5\n", 5),
    ],
)
def test_settings_table_is_what_the_file_holds(tmp_path, text, expected):
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    assert files.settings_table(tmp_path) == expected


@pytest.mark.parametrize("data", [b"[tool", b"\xff", b"a = 1\na = 2\n"])
def test_settings_that_are_no_toml_are_refused(tmp_path, data):
    (tmp_path / "pyproject.toml").write_bytes(data)
    with pytest.raises(UnusablePathError, match=r"^pyproject\.toml is not valid TOML: "):
        files.settings_table(tmp_path)


@pytest.mark.parametrize(
    "nodeids",
    [
        [],
        ["a.py::t", "a.py"],
        ["-p evil/a.py::t", "--co/a.py::t", "@x/a.py::t", '"quoted".py::t'],
        ["a.py::t[new\nline\x0b]", "a.py::t[\u2028]", "\udcff.py::t", "a.py::t[\u202e]", "日本.py::é"],
        ["", " ", "a.py::t[\x00\x1b[0m]", "a.py::t[\u200b\ue000\U000e0041\u0378\ud800\ufe0f]"],
        ["a.py::t[password='hunter2']", "a.py::t[ghp" + "_" + "a1B2" * 9 + "]", "a.py::t[\\n\t\r\n]"],
    ],
)
def test_list_of_failing_tests_is_read_as_it_was_written(tmp_path, nodeids):
    files.state_folder(tmp_path)
    files.write_failed(tmp_path, nodeids)
    assert files.read_failed(tmp_path) == sorted(nodeids)
    lines = (tmp_path / files.FAILED).read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(nodeids)
    assert not [line for line in lines if line.startswith(("-", "@"))]
