"""What can be set, what happens when it is set wrongly, and when a file cannot be written."""

import os

import pytest

MARK = "import pathlib\ndef test_a():\n    pathlib.Path('test_ran').touch()\n    assert 1 == 2\n"


def refused(done, *words):
    assert done.ret == 4
    for word in words:
        assert word in done.stderr, done.stderr
    assert done.stderr.count("loop-close: ") == 1
    assert "Traceback" not in done.stderr + done.stdout
    assert "INTERNALERROR" not in done.stderr + done.stdout
    assert not (done.folder / "test_ran").exists()
    return True


def test_setting_that_cannot_be_is_refused_by_name_before_any_test(run):
    done = run({"pyproject.toml": "[tool.loop-close]\nfile = 5\n", "test_a.py": MARK})
    assert refused(done, "[tool.loop-close] file must be a file path, as a string", "5")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--loop-close-budget=399", "--loop-close-budget must be a whole number of tokens, at least 400"),
        ("--loop-close-budget=½", "--loop-close-budget must be a whole number of tokens, at least 400"),
        ("--loop-close-file=", "--loop-close-file must be a file path"),
        ("--loop-close-file=x --loop-close-json=x", "cannot be both the prompt and the JSON report"),
    ],
)
def test_option_that_cannot_be_is_refused(run, options, said):
    assert refused(run({"test_a.py": MARK}, *options.split()), said)


def test_settings_are_not_read_when_the_plugin_is_not_asked_for(run):
    done = run({"pyproject.toml": "[tool.loop-close]\nnonsense = 1\n", "test_a.py": MARK}, asked=())
    assert done.ret == 1
    assert (done.folder / "test_ran").exists()


def test_settings_count_from_the_root_and_options_from_where_pytest_was_started(run, pytester, monkeypatch):
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\n[tool.loop-close]\nfile = 'out/next.md'\njson = 'out/n.json'\n",
        "sub/test_a.py": MARK,
    }
    run(files, asked=("--loop-close",))
    assert (pytester.path / "out" / "next.md").is_file()
    assert (pytester.path / "out" / "n.json").is_file()
    monkeypatch.chdir(pytester.path / "sub")
    run({}, asked=("--loop-close", "--loop-close-file=here.md"))
    assert (pytester.path / "sub" / "here.md").is_file()


def test_option_goes_before_the_setting(run):
    files = {"pyproject.toml": "[tool.loop-close]\nbudget = 5000\nfile = 'other.md'\n", "test_a.py": MARK}
    done = run(files, "--loop-close-file=nextprompt.md", "--loop-close-budget=400")
    assert done.says("assert 1 == 2")
    assert not (done.folder / "other.md").exists()


def reported(done, name, why):
    """The tests ran, pytest's exit status stays, and one line says which file was not written, and why."""
    assert done.ret == 1
    assert (done.folder / "test_ran").exists()
    assert [line for line in done.summary if name in line and why in line], done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    return True


def shown(done):
    """The terminal has the short form of the prompt."""
    lines = done.stdout.splitlines()
    at = next(
        n for n, line in enumerate(lines) if line.startswith("# 1 test fails: AssertionError at test_a.py:4")
    )
    commands = [n for n, line in enumerate(lines) if ": `pytest --loop-close" in line]
    assert at < lines.index("E  assert 1 == 2", at) < commands[-1]
    return True


@pytest.mark.parametrize("option", ["--loop-close-file", "--loop-close-json"])
def test_folder_in_the_place_of_a_file_costs_a_line(run, option, pytester):
    (pytester.path / "taken").mkdir()
    done = run({"test_a.py": MARK}, f"{option}=taken")
    assert reported(done, "cannot write taken: taken", "is a folder; name a file")
    assert option.endswith("json") or shown(done)


def test_prompt_of_somebody_else_in_the_default_place_is_left_as_it_was(run):
    done = run(
        {"test_a.py": MARK, "nextprompt.md": "Dear agent,\n"}, asked=("--loop-close",), is_prompt=False
    )
    assert reported(done, "nextprompt.md", "was not written by loop-close")
    assert shown(done)
    assert (done.folder / "nextprompt.md").read_text() == "Dear agent,\n"


@pytest.mark.skipif(os.name == "nt", reason="there are no such files")
@pytest.mark.parametrize("kind", ["pipe", "full", "outside"])
def test_prompt_that_is_no_file_of_the_project_costs_a_line(run, pytester, tmp_path_factory, kind):
    path = pytester.path / "nextprompt.md"
    outside = tmp_path_factory.mktemp("outside") / "notes.md"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/full" if kind == "full" else outside)
    done = run({"test_a.py": MARK}, is_prompt=False)
    assert len(done.summary) == 2
    assert reported(done, "nextprompt.md", "regular file" if kind == "pipe" else "through a symbolic link")
    assert shown(done)
    assert not outside.exists()
    assert kind == "pipe" or path.is_symlink()


def test_state_folder_that_leads_out_of_the_project_is_not_used(run, pytester, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (pytester.path / ".loop-close").symlink_to(outside)
    done = run({"test_a.py": MARK}, remembers=True)
    assert reported(done, "this run is not recorded: .loop-close/history.sqlite3", "through a symbolic link")
    assert done.says("AssertionError at test_a.py:4")
    assert not [*outside.iterdir()]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_root_that_cannot_be_written_costs_lines(run, pytester):
    source = MARK.replace("pathlib.Path('test_ran').touch()", "pass")
    pytester.makepyfile(test_a=source)
    pytester.path.joinpath("pytest.ini").touch()
    pytester.path.chmod(0o500)
    done = run({}, is_prompt=False, remembers=True)
    pytester.path.chmod(0o700)
    assert done.ret == 1
    assert ": Permission denied" in done.stdout
    assert shown(done)
