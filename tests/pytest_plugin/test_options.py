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


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            "nonsense = 1",
            ("[tool.loop-close] nonsense", "unknown setting", "budget, checks, ci, file, history, json"),
        ),
        (
            "budget = '2000'",
            ("[tool.loop-close] budget must be a whole number of tokens, at least 400", "'2000'"),
        ),
        ("budget = 2000.5", ("[tool.loop-close] budget must be a whole number",)),
        ("budget = true", ("[tool.loop-close] budget must be a whole number", "True")),
        ("budget = 399", ("[tool.loop-close] budget must be a whole number of tokens, at least 400", "399")),
        ("budget = -1", ("[tool.loop-close] budget must be", "-1")),
        ("file = 5", ("[tool.loop-close] file must be a file path, as a string", "5")),
        ("file = ''", ("[tool.loop-close] file must be a file path",)),
        ("file = ['a.md']", ("[tool.loop-close] file must be a file path",)),
        ("json = false", ("[tool.loop-close] json must be a file path",)),
    ],
)
def test_setting_that_cannot_be_is_refused_by_name_before_any_test(run, table, words):
    done = run({"pyproject.toml": f"[tool.loop-close]\n{table}\n", "test_a.py": MARK})
    assert refused(done, *words)


@pytest.mark.parametrize("value", ["5", "['budget']", "true"])
def test_settings_that_are_no_table_are_refused(run, value):
    done = run({"pyproject.toml": f"[tool]\nloop-close = {value}\n", "test_a.py": MARK})
    assert refused(done, "[tool.loop-close] must be a table of settings")


def test_settings_that_are_no_toml_are_refused(run):
    files = {"pytest.ini": "[pytest]\n", "pyproject.toml": "[tool.loop-close\nbudget = 5", "test_a.py": MARK}
    assert refused(run(files, "-c", "pytest.ini"), "pyproject.toml is not valid TOML")


def test_settings_that_are_not_utf_8_are_refused(run, pytester):
    pytester.path.joinpath("pytest.ini").write_text("[pytest]\n")
    pytester.path.joinpath("pyproject.toml").write_bytes(b"# \xff\xfe\n[tool.loop-close]\n")
    done = run({"test_a.py": MARK}, "-c", "pytest.ini")  # pytest itself would read the other one
    assert refused(done, "pyproject.toml is not valid TOML")


@pytest.mark.parametrize("value", ["many", "399", "-5", "2000.0", "", "1e4", "½"])
def test_budget_that_cannot_be_is_refused(run, value):
    done = run({"test_a.py": MARK}, f"--loop-close-budget={value}")
    assert refused(done, "--loop-close-budget must be a whole number of tokens, at least 400")


@pytest.mark.parametrize("option", ["file", "json"])
def test_empty_path_is_refused(run, option):
    done = run({"test_a.py": MARK}, f"--loop-close-{option}=")
    assert refused(done, f"--loop-close-{option} must be a file path")


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


@pytest.mark.slow
def test_budget_is_kept(run):
    tests = "\n".join(f"def test_{n}(): raise ValueError('failure number {n}')" for n in range(60))
    for budget in (400, 1000, 4000):
        done = run({"test_a.py": tests}, f"--loop-close-budget={budget}")
        assert len(done.prompt.encode()) <= 4 * budget
        assert done.title.startswith("# 60 tests fail: ")


def test_smallest_budget_keeps_title_first_cause_and_next_step(run):
    tests = "\n".join(
        f"def test_{n}(): raise ValueError('failure number {n}' + 'x' * 500)" for n in range(60)
    )
    done = run({"test_a.py": tests}, "--loop-close-budget=400")
    assert done.says(
        "# 60 tests fail: 60 root causes, first ", "## 1. `ValueError`", "Rerun just", "Left out"
    )


def test_smallest_budget_goes_to_the_first_cause_and_the_next_step_before_all_signals_and_files(run):
    todo = "    # TODO: a long word on what is to be done\n    # FIXME: and one on what is wrong\n"
    files = {
        f"src/module_of_a_long_name_{n}.py": f"def work():\n{todo}    raise ValueError('work of module {n}')\n"
        for n in range(30)
    }
    tests = "\n".join(
        f"def test_{n}():\n    from src import module_of_a_long_name_{n} as module\n    module.work()"
        for n in range(30)
    )
    done = run(
        {**files, "test_a.py": tests},
        "--loop-close-budget=400",
        "-k",
        "test_ or " + " or ".join("abcdefgh" * 3),
    )
    assert done.says("## 1. ", "work of module 0", "Rerun ", "pytest --loop-close")
    assert len(done.prompt.encode()) <= 1600


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
    assert reported(done, "not written: taken", "is a folder; name a file")
    assert option.endswith("json") or shown(done)


@pytest.mark.parametrize("option", ["--loop-close-file", "--loop-close-json"])
def test_path_below_a_file_costs_a_line(run, option):
    done = run({"test_a.py": MARK, "taken": "a file"}, f"{option}=taken/next")
    assert reported(done, "not written", "taken/next cannot be written")
    assert option.endswith("json") or shown(done)


@pytest.mark.parametrize("option", ["--loop-close-file", "--loop-close-json"])
@pytest.mark.parametrize(
    "text", ["my own notes\n", "# Heading of somebody else\n", '{"schema": "other"}', "\x00\x01"]
)
def test_file_of_somebody_else_is_left_as_it_was(run, option, text):
    done = run({"test_a.py": MARK, "notes.txt": text}, f"{option}=notes.txt")
    assert reported(
        done, "notes.txt", "exists and was not written by loop-close; remove it or name another file"
    )
    assert (done.folder / "notes.txt").read_text(encoding="utf-8") == text
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
    assert "cannot be written: Permission denied" in done.stdout
    assert shown(done)


def test_one_file_cannot_be_both(run):
    done = run({"test_a.py": MARK}, "--loop-close-file=x", "--loop-close-json=x")
    assert refused(done, "cannot be both the prompt and the JSON report")


def test_one_file_by_two_names_cannot_be_both(run, pytester):
    (pytester.path / "sub").mkdir()
    done = run({"test_a.py": MARK}, "--loop-close-file=x", "--loop-close-json=sub/../x")
    assert refused(done, "cannot be both the prompt and the JSON report")


def test_empty_file_may_be_replaced(run):
    assert run({"test_a.py": MARK, "nextprompt.md": "", "report.json": "\n"}).says("assert 1 == 2")


def test_folder_that_is_not_there_yet_is_made(run, pytester):
    done = run(
        {"test_a.py": MARK},
        asked=("--loop-close", "--loop-close-file=deep/er/next.md", "--loop-close-json=j/n.json"),
    )
    assert done.ret == 1
    assert "assert 1 == 2" in (pytester.path / "deep" / "er" / "next.md").read_text(encoding="utf-8")
    assert (pytester.path / "j" / "n.json").is_file()


def test_path_with_a_tilde_is_below_the_home_folder(run, pytester, monkeypatch):
    home = pytester.mkdir("home_of_ann")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    run({"test_a.py": MARK}, asked=("--loop-close", "--loop-close-file=~/next.md"))
    assert (home / "next.md").is_file()


def test_path_with_any_characters_can_be_written(run, pytester):
    name = "grün $(touch pwned) `x`.md"
    done = run({"test_a.py": MARK}, asked=("--loop-close", f"--loop-close-file={name}"))
    assert (pytester.path / name).is_file()
    assert not (pytester.path / "pwned").exists()
    assert len(done.summary) == 2


def test_options_are_told_by_help(run):
    done = run({}, "--help")
    for option in ("--loop-close ", "--loop-close-file=", "--loop-close-json=", "--loop-close-budget="):
        assert option in done.stdout
