"""Node ids with any characters, and the command that runs the failing tests again."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from plugin_harness import ASKED, command_in, prose, write

import loop_close
from loop_close.pytest_plugin.command import version_of

IDS = [
    "it's",
    'a "quoted" b',
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "|| touch pwned &",
    "grün",
    "日本",
    "new\nline",
    "tab\there",
    "a::b[c]",
    "[x]",
    "back\\slash",
    "a b  c",
    "*?{a,b}~!#",
    "--loop-close-file=pwned",
    "\x1b[31mred",
    "\u202eright to left",
    "# Heading",
    "](http://evil)",
    "<!-- hidden -->",
]


def one_case(identifier):
    return f"import pytest\n@pytest.mark.parametrize('x', [{identifier!a}])\ndef test_x(x): assert x == 1\n"


def shell(command, folder):
    """Run a command of the prompt as it stands."""
    words = command.replace("pytest --loop-close", f"{sys.executable} -m pytest --loop-close", 1)
    return subprocess.run(["/bin/sh", "-c", words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("identifier", IDS)
def test_test_with_such_an_id_is_shown_as_code_and_nothing_else(run, identifier):
    done = run({"test_a.py": one_case(identifier)})
    assert done.says("# 1 test fails: AssertionError at test_a.py:3\n")
    outside = prose(done.prompt)
    assert not any(word in outside for word in ("pwned", "Heading\n", "evil", "hidden", "right to left"))


@pytest.mark.slow
def test_command_of_the_prompt_runs_the_failing_tests_and_nothing_else(run):
    cases = ", ".join(ascii(identifier) for identifier in IDS if identifier.isprintable())
    source = f"import pytest\n@pytest.mark.parametrize('x', [{cases}])\ndef test_x(x): assert x == 1\n"
    done = run({"test_a.py": source + "def test_fine(): pass\n"})
    again = shell(done.rerun, done.folder)
    assert again.returncode == 1, again.stdout + again.stderr
    number = sum(identifier.isprintable() for identifier in IDS)
    assert f"{number} failed" in again.stdout
    assert "passed" not in again.stdout
    assert not (done.folder / "pwned").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sh") is None, reason="the command is for a POSIX shell")
@pytest.mark.parametrize(
    "identifier", ["$(touch pwned)", "it's `touch pwned`", "a::b[c]", "; touch pwned", "grün"]
)
def test_one_such_id_can_be_selected_from_a_shell(run, identifier):
    source = one_case(identifier).replace("[", "[2, ", 1)
    done = run({"test_a.py": source.replace("[2, ", "['other', ", 1)}, "-k", "not other")
    again = shell(done.rerun, done.folder)
    assert again.returncode == 1, again.stdout + again.stderr
    assert "1 failed" in again.stdout
    assert not (done.folder / "pwned").exists()


def test_cases_of_one_function_are_counted_not_listed(run):
    cases = f"@pytest.mark.parametrize('x', ['a::b[c]', '[d]', '{'e' * 45}', '{'f' * 45}::g'])"
    source = f"import pytest\n{cases}\ndef test_x(x): assert x == 1\n"
    done = run({"test_a.py": source})
    assert done.says("4 tests: `test_a.py::test_x` (4 cases)")
    assert len(done.report["root_causes"][0]["tests"]) == 4


@pytest.mark.slow
def test_file_name_with_any_characters_is_shown_as_code_and_quoted(run):
    done = run({"te`st #1 (a)/test_a b$(touch pwned).py": "def test_1(): assert 1 == 2\n"})
    assert done.says("``te`st #1 (a)/test_a b$(touch pwned).py:1``")
    again = shell(done.rerun, done.folder)
    assert "1 failed" in again.stdout, again.stdout + again.stderr
    assert not (done.folder / "pwned").exists()


TWO = "def test_a(): assert 1 == 2\ndef test_b(): pass\n"


@pytest.mark.parametrize(
    "dropped",
    [
        "-x",
        "--maxfail=1",
        "-q",
        "-vv",
        "--tb=short",
        "--lf",
        "--ff",
        "--durations=3",
        "-ra",
        "-kest",
        "-vx",
        "-xvs",
    ],
)
def test_command_leaves_out_what_selects_or_only_shows(run, dropped):
    done = run({"test_a.py": TWO}, dropped)
    assert dropped not in done.rerun.split()
    assert "--loop-close-json" not in done.rerun


@pytest.mark.parametrize(
    "kept",
    ["--import-mode=importlib", "-Wignore::ResourceWarning", "--strict-markers", "--loop-close-budget=3000"],
)
def test_command_keeps_what_changes_the_tests(run, kept):
    done = run({"test_a.py": TWO}, kept)
    assert kept in done.rerun.split()
    assert done.rerun.endswith(" test_a.py::test_a")


def test_command_replaces_what_was_selected(run):
    done = run(
        {"test_a.py": TWO, "test_b.py": TWO}, "test_a.py", "-k", "test_a or test_b", "-m", "not nothing"
    )
    assert done.rerun == "pytest --loop-close test_a.py::test_a"


def test_command_from_another_folder_counts_from_the_root(run, pytester, monkeypatch):
    run({"sub/test_a.py": TWO})
    monkeypatch.chdir(pytester.path / "sub")
    done = run({}, f"--rootdir={pytester.path}", "-c", str(pytester.path / "pytest.ini"))
    assert done.says("at sub/test_a.py:1\n", "Rerun just the failing tests, from the root, `..`:")
    assert str(pytester.path) not in done.prompt
    assert done.rerun.endswith(" sub/test_a.py::test_a")


def test_flags_that_stand_together_are_taken_apart(run):
    assert (
        run({"test_a.py": TWO}, "-xvp", "no:logging").rerun
        == "pytest --loop-close -p no:logging test_a.py::test_a"
    )
    assert (
        run({"test_a.py": TWO}, "-xpno:logging").rerun == "pytest --loop-close -pno:logging test_a.py::test_a"
    )


def test_paths_of_options_count_from_the_root(run, pytester, monkeypatch):
    done = run({"pytest.ini": "[pytest]\n", "sub/other/test_b.py": TWO, "sub/test_a.py": TWO})
    monkeypatch.chdir(pytester.path / "sub")
    done = run({}, f"--rootdir={pytester.path}", "--ignore", "other")
    assert done.rerun.endswith(" --ignore sub/other sub/test_a.py::test_a")


MANY = (
    "\n".join(f"def test_{'x' * 60}_{n}(): assert {n} < 0" for n in range(30)) + "\ndef test_fine(): pass\n"
)


def test_many_failing_tests_are_selected_by_the_option(run):
    done = run({"test_a.py": MANY, "test_b.py": "def test_b(): pass\n"})
    assert done.rerun == "pytest --loop-close-failed"
    again = run({}, asked=("--loop-close-failed", "--loop-close-json=report.json"))
    assert again.report["counts"] == {
        **dict.fromkeys(again.report["counts"], 0),
        "failed": 30,
        "collected": 30,
    }
    assert "1 deselected" in again.stdout


ODD = """
import pytest
TOKEN = "ghp" + "_" + "a1B2" * 9
IDS = ["new\\nline", "sep\\u2028", "bidi\\u202e", "zero\\u200b", "own\\ue000", "tab\\t", "'", '"', " "]
IDS += [TOKEN, "password='hunter2'"]
@pytest.mark.parametrize("x", range(len(IDS)), ids=IDS)
def test_x(x): assert 0
def test_fine(): pass
"""


def test_list_of_failing_tests_names_each_whatever_its_name(run):
    as_is = "disable_test_id_escaping_and_forfeit_all_rights_to_community_support=true"
    done = run({"test_a.py": ODD}, "-o", as_is)
    listed = (done.folder / ".loop-close" / "failed.txt").read_text(encoding="utf-8")
    assert len(listed.split("\n")) == done.report["counts"]["failed"] + 1 == 12
    again = run({}, "-o", as_is, asked=("--loop-close-failed", "--loop-close-json=report.json"))
    assert (again.report["counts"]["failed"], again.report["counts"]["passed"]) == (11, 0)


def test_command_fits_whatever_script_the_names_are_in(run):
    name = "日本語" * 60
    done = run({"test_a.py": f"def test_{name}(): assert 1 == 2\ndef test_日本(): assert 3 == 4\n"})
    assert done.rerun == "pytest --loop-close-failed"


def test_option_is_given_where_the_failing_tests_cannot_be_shown(run):
    files = {f"test_{'x' * 60}_{n}.py": f"def test_a(): assert {n} < 0\n" for n in range(9)}
    done = run(files, "-p", "no:cacheprovider")
    assert done.rerun == "pytest --loop-close-failed -p no:cacheprovider"


CASES = """
import pytest
@pytest.mark.parametrize("n", range(60))
def test_n(n): assert n not in (3, 17, 42)
def test_sub(subtests):
    with subtests.test("a"): assert 0
def test_fine(): pass
"""
#: A plugin as pytest-split and pytest-picked are: it leaves tests out, and its options take words.
SELECTS = """
def pytest_addoption(parser):
    parser.addoption("--group", type=int, default=0)
    parser.addoption("--picked", nargs="*")
def pytest_collection_modifyitems(config, items):
    group = config.getoption("--group")
    if group:
        items[:] = items[group % 2 :: 2]
"""


def plain(command):
    """The words of a command of the prompt, however pytest was started."""
    words = shlex.split(command)
    return words[2:] if words[:2] == ["python", "-m"] else words


def again(run, command):
    """Run the command of a prompt in a process of its own, and read what it wrote."""
    return run({}, *plain(command)[1:], asked=("--loop-close-json=report.json",), own_process=True)


def failing(done):
    return sorted({test for cause in done.causes for test in cause["tests"]})


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="subtests are new in pytest 9.0")
def test_cases_and_tests_with_subtests_are_run_and_no_others(run):
    done = run({"test_a.py": CASES})
    more = again(run, done.rerun)
    assert failing(more) == failing(done)
    assert more.report["counts"]["passed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [("--group", "2"), ("--group=1",), ("--picked",), ("--picked", "first", "-vx"), ("--picked", "-x", "-q")],
)
def test_options_of_plugins_neither_take_the_tests_nor_choose_others(run, options):
    done = run({"conftest.py": SELECTS, "test_a.py": CASES.partition("def test_sub")[0]}, *options)
    assert done.rerun.startswith(f"pytest --loop-close-failed {options[0]}")
    assert not {"-x", "-vx", "-q"} & {*done.rerun.split()}
    for _ in range(2):
        more = again(run, done.rerun)
        assert failing(more) == failing(done)
        assert more.report["counts"]["passed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["-p evil", "--co", "@x", "-x"])
@pytest.mark.parametrize("number", [1, 30])
def test_folder_whose_name_is_an_option_gives_none(run, name, number):
    tests = "".join(f"def test_{'x' * 60}_{n}(): assert {n} < 0\n" for n in range(number))
    files = {f"sub/{name}/test_a.py": tests, "pytest.ini": "[pytest]\ntestpaths = sub\n"}
    run(files)
    done = run({f"{name}/test_b.py": tests}, f"./{name}")
    more = again(run, done.rerun)
    assert more.ret == 1
    assert (
        failing(more)
        == failing(done)
        == sorted(f"{name}/test_b.py::test_{'x' * 60}_{n}" for n in range(number))
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", ["0", "2"])
def test_failing_tests_are_run_again_with_another_cache_and_on_workers(run, number):
    pytest.importorskip("xdist")
    files = {"test_a.py": CASES.partition("def test_sub")[0] + "def test_fine(): pass\n", "test_b.py": MANY}
    done = run(files, "-o", "cache_dir=elsewhere", "-n", number, plugins=("xdist",), own_process=True)
    words = plain(done.rerun)
    assert words == ["pytest", "--loop-close-failed", "-o", "cache_dir=elsewhere"]
    more = run({}, *words[1:], "-n", number, plugins=("xdist",), own_process=True, asked=ASKED[1:])
    assert failing(more) == failing(done)
    assert more.report["counts"]["passed"] == 0


@pytest.mark.slow
def test_worker_that_a_test_ended_is_used_again(run):
    pytest.importorskip("xdist")
    source = "import os\ndef test_a(): os._exit(7)\ndef test_b(): pass\n"
    done = run({"test_a.py": source}, "-n", "1", plugins=("xdist",), own_process=True)
    assert plain(done.rerun) == ["pytest", "--loop-close", "-n", "1", "test_a.py::test_a"]


@pytest.mark.slow
def test_killed_run_leaves_the_evidence_of_the_one_before(run):
    done = run({"test_a.py": MANY})
    run(
        {"test_b.py": "import os\ndef test_b(): os._exit(9)\n"},
        "test_b.py",
        own_process=True,
        is_prompt=False,
    )
    kept = done.folder / ".loop-close"
    assert len((kept / "failed.txt").read_text().splitlines()) == 30
    assert '"failed": 30' in (kept / "report.json").read_text()
    assert "`.loop-close/report.json`" in (done.folder / "nextprompt.md").read_text()


def test_option_without_failing_tests_runs_all_and_says_so(run):
    done = run({"test_a.py": "def test_a(): pass\n"}, asked=("--loop-close-failed",))
    assert done.summary == [
        "loop-close: the tests pass: 1 passed",
        "loop-close: no failing test is recorded: all tests ran",
    ]


def test_tests_of_a_shard_are_not_said_to_be_all(run):
    options = """
        def pytest_addoption(parser):
            parser.addoption("--splits", type=int)
            parser.addoption("--group", type=int)
    """
    words = ("--splits=2", "--group=1", "--loop-close-failed")
    done = run({"conftest.py": options, "test_a.py": "def test_a(): pass\n"}, asked=words)
    assert done.summary[1:] == ["loop-close: no failing test is recorded: all tests of shard 1 of 2 ran"]


@pytest.mark.skipif(os.name == "nt", reason="programs have other names there")
@pytest.mark.parametrize(
    ("target", "name", "version"),
    [
        ("python3.8", "python", "3.8"),
        ("python3.8", "pytest", "3.8"),
        ("python", "python", ""),
        ("sh", "pytest", ""),
    ],
)
def test_version_of_a_program_that_another_interpreter_starts(tmp_path, target, name, version):
    (tmp_path / "base").mkdir()
    (tmp_path / "bin").mkdir()
    for file in (tmp_path / "base" / target, tmp_path / "bin" / "pytest"):
        file.touch()
    (tmp_path / "bin" / "python").symlink_to(tmp_path / "base" / target)
    assert version_of(str(tmp_path / "bin" / name)) == version


def test_failing_test_that_is_gone_is_named(run):
    run({"test_a.py": TWO + "def test_c(): assert 1 == 3\n"})
    done = run({"test_a.py": TWO}, asked=("--loop-close-failed",))
    assert "loop-close: failed before and not found: test_a.py::test_c" in done.summary
    assert "1 failed, 1 deselected" in done.stdout


def test_list_of_failing_tests_that_cannot_be_read_is_a_usage_error(run):
    done = run({"test_a.py": TWO, ".loop-close/failed.txt": '"not json\n'}, asked=("--loop-close-failed",))
    assert done.ret == 4
    assert "loop-close: cannot read .loop-close/failed.txt: " in done.stderr


@pytest.mark.slow
def test_list_of_failing_tests_is_exact_and_private(run):
    names = ["api_key=sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD", "plain"]
    source = f"import pytest\n@pytest.mark.parametrize('x', {names!r})\ndef test_x(x): assert x == 1\n"
    done = run({"test_a.py": source})
    path = done.folder / ".loop-close" / "failed.txt"
    assert path.read_text().splitlines() == [f"test_a.py::test_x[{name}]" for name in names]
    assert names[0] not in done.prompt
    assert os.name == "nt" or path.stat().st_mode & 0o077 == 0
    assert failing(again(run, done.rerun)) == failing(done)


ONCE = """
import argparse, pytest
class Logged(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        with open("calls.txt", "a") as file: file.write(f"{values} ")
        setattr(namespace, self.dest, values)
def logged(value):
    with open("calls.txt", "a") as file: file.write(f"type:{value} ")
    return {"dev": 1}[value]
def pytest_addoption(parser):
    parser.addoption("--out", type=lambda path: open(path, "w"))
    parser.addoption("--log", action=Logged)
    parser.addoption("-E", dest="env", type=logged)
@pytest.fixture(autouse=True)
def written(request):
    request.config.getoption("--out").write("kept")
def pytest_plugin_registered(plugin, manager):
    with open("plugins.txt", "a") as file: file.write(f"{manager.get_name(plugin)}\\n")
def pytest_unconfigure(config):
    config.getoption("--out").close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--deselect", "gone.py")])
@pytest.mark.parametrize("outcome", [0, 1])
def test_types_and_actions_of_options_are_called_by_pytest_alone(run, outcome, more):
    """A type may open a file to write: called once more at the end, it would empty what the tests wrote."""
    words = ("-W", "error", "--out", "r.txt", "--log=x", "-Edev", "-vx", *more)
    calls, plugins = [], []
    for asked in ((), ASKED):
        files = {
            "conftest.py": ONCE,
            "test_a.py": f"def test_a(): assert not {outcome}\n",
            "calls.txt": "",
            "plugins.txt": "",
        }
        done = run(files, *words, asked=asked, own_process=True)
        assert (done.ret, (done.folder / "r.txt").read_text()) == (outcome, "kept"), done.stdout
        calls.append((done.folder / "calls.txt").read_text())
        names = (done.folder / "plugins.txt").read_text().splitlines()
        plugins.append(["" if name.isdecimal() else name for name in names if "loop-close-" not in name])
    assert calls[0] == calls[1] != ""
    assert plugins[0] == plugins[1]
    if outcome:
        assert done.rerun.endswith(" --loop-close-failed -W error --out r.txt --log=x -Edev")


def test_option_of_a_plugin_is_not_parsed_where_another_cannot_be_loaded(run, pytester, monkeypatch):
    """Pytest ends before it parses the options of plugins: nor does the report of that."""
    write(pytester.path, {"with_option.py": ONCE, "broken_plugin.py": "raise KeyError('cannot be loaded')"})
    monkeypatch.setenv("PYTEST_PLUGINS", "with_option,broken_plugin")
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    words = ("--out=r.txt", "--log", "x", "-Edev", "--loop-close-file=next.md")
    done = run({"r.txt": "old"}, *words, own_process=True, is_prompt=False)
    assert done.ret != 0
    assert (done.folder / "r.txt").read_text() == "old"
    assert not (done.folder / "calls.txt").exists()
    prompt = (done.folder / "next.md").read_text()
    assert "cannot be loaded" in prompt
    assert " --loop-close --out=r.txt --log x -Edev --loop-close-file=next.md`\n" in prompt


ARITIES = """
def pytest_addoption(parser):
    parser.addoption("--two", nargs=2)
    parser.addoption("--some", nargs="+")
    parser.addoption("--maybe", nargs="?", const="yes")
    parser.addoption("-F", dest="flag", action="store_true")
    parser.addoption("-E", dest="env")
"""


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (("--two", "a", "-1", "test_a.py"), "--two a -1"),
        (("--some", "a", "-b c", "--", "test_a.py"), "--some a '-b c'"),
        (("--some=a", "test_a.py"), "--some=a"),
        (("--maybe", "-v", "test_a.py"), "--maybe"),
        (("--maybe", "no", "test_a.py"), "--maybe no"),
        (("-FEdev", "test_a.py"), "-F -Edev"),
        (("-FE", "dev", "test_a.py"), "-F -E dev"),
        (("-k", "-z or test_a", "-E=", "test_a.py"), "-E="),
    ],
)
def test_each_option_is_kept_with_the_words_that_it_takes(run, words, kept):
    done = run({"conftest.py": ARITIES, "test_a.py": TWO}, *words)
    assert done.rerun == f"pytest --loop-close-failed {kept}"


OUTSIDE = {
    "config/pytest.ini": "[pytest]\n",
    "tests/sub/test_few.py": TWO,
    "tests/test_many.py": MANY,
    "tests/test_fine.py": "def test_a(): pass\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("number", ["0", "2"])
@pytest.mark.parametrize(
    "words",
    [
        ("-c", "config/pytest.ini"),
        ("-cconfig/pytest.ini", "tests"),
        ("--rootdir=config", "tests/sub"),
        ("--rootdir", "config", "tests/sub/test_few.py::test_a", "tests/test_many.py"),
    ],
)
def test_failing_tests_outside_of_the_root_are_run_again(run, pytester, monkeypatch, words, number):
    """Their node ids depend on what the command line names."""
    pytest.importorskip("xdist")
    kept = pytester.path / "config" / ".loop-close" / "report.json"
    workers = {"own_process": True, "plugins": ("xdist",), "asked": ("-n", number)}
    run(OUTSIDE, "--loop-close", *words, **workers)
    first = json.loads(kept.read_text())
    assert "Rerun just the failing tests, from the root, `config`: `" in first["next_prompt"]
    command = plain(command_in(first["next_prompt"]))
    tests = [cause["tests"] for cause in first["root_causes"]]
    assert tests
    for folder, again in (("config", command[1:]), ("", ["--loop-close-failed", *words])):
        kept.unlink()
        monkeypatch.chdir(pytester.path / folder)
        done = run({}, *again, **workers)
        more = json.loads(kept.read_text())
        assert [cause["tests"] for cause in more["root_causes"]] == tests, done.stdout
        assert (more["counts"]["failed"], more["counts"]["passed"]) == (first["counts"]["failed"], 0)


def test_root_stays_the_one_that_was_given(run, pytester):
    """Below it there is a file of settings, which would make another one of it."""
    files = {"pkg/pytest.ini": "[pytest]\n", "pkg/test_a.py": TWO}
    done = run(files, f"--rootdir={pytester.path}", "pkg")
    assert done.rerun == "pytest --loop-close --rootdir=. pkg/test_a.py::test_a"
    assert failing(again(run, done.rerun)) == ["pkg/test_a.py::test_a"]


CLASS = """
import pytest
class TestA:
    @pytest.mark.parametrize("a,b", [{cases}])
    def test_x(self, a, b): assert b - a == 1
    def test_y(self): assert {fine}
def test_z(): pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", ["0", "2"])
def test_class_that_could_not_be_collected_is_run_once_it_can(run, number):
    workers = {"own_process": True, "plugins": ("xdist",)}
    done = run({"test_c.py": CLASS.format(cases=1, fine=0)}, "-n", number, **workers)
    assert (done.folder / ".loop-close" / "failed.txt").read_text() == "test_c.py::TestA\n"
    words = ("--loop-close-failed", "--loop-close-json=report.json", "-n", number)
    done = run({}, asked=words, **workers)
    assert not any("not found" in line for line in done.summary), "it is there, and cannot be collected"
    done = run({"test_c.py": CLASS.format(cases="(1, 2)", fine=0)}, asked=words, **workers)
    assert failing(done) == ["test_c.py::TestA::test_y"]
    assert done.report["counts"]["passed"] == 1
    done = run({"test_c.py": CLASS.format(cases="(1, 2)", fine=1)}, asked=words, **workers)
    assert (done.ret, done.report["counts"]["passed"]) == (0, 1)


COLLECTS = """
import pathlib, pytest
class Item(pytest.Item):
    def runtest(self): assert "fine" in self.name
    def reportinfo(self): return self.path, 0, self.name
class Group(pytest.Collector):
    def collect(self):
        if pathlib.Path("broken").exists():
            raise ValueError("cannot be read")
        for name in ("a::b", "fine", "c[d::e]"):
            yield Item.from_parent(self, name=name)
class File(pytest.File):
    def collect(self):
        yield Group.from_parent(self, name="first")
        for name in ("a::b", "fine"):
            yield Item.from_parent(self, name=name)
def pytest_collect_file(parent, file_path):
    if file_path.suffix in (".yml", ".py") and file_path.name.startswith("t."):
        return File.from_parent(parent, path=file_path)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t.yml", "t.py"])
@pytest.mark.parametrize("number", ["0", "2"])
def test_items_with_any_names_are_run_again(run, name, number):
    workers = {"own_process": True, "plugins": ("xdist",)}
    files = {"conftest.py": COLLECTS, name: "", "test_a.py": "def test_a(): pass\n", "broken": ""}
    goes_on = "--continue-on-collection-errors"
    done = run(files, "-n", number, goes_on, **workers)
    assert plain(done.rerun) == ["pytest", "--loop-close-failed", goes_on]
    assert failing(done) == [f"{name}::a::b", f"{name}::first"]
    (done.folder / "broken").unlink()
    for _ in range(2):
        done = run({}, "-n", number, *plain(done.rerun)[1:], asked=ASKED[1:], **workers)
        assert failing(done) == [f"{name}::a::b", f"{name}::first::a::b", f"{name}::first::c[d::e]"]
    assert done.report["counts"]["passed"] == 0


def test_item_that_can_be_selected_is_named_whatever_the_file(run):
    done = run({"conftest.py": COLLECTS.replace('"a::b", "fine"', '"fine", "fine"'), "t.yml": ""})
    assert done.rerun == "pytest --loop-close 't.yml::first::c[d::e]'"
    assert failing(again(run, done.rerun)) == ["t.yml::first::c[d::e]"]


@pytest.mark.slow
def test_item_that_is_left_from_the_run_before_is_run_by_the_option_if_its_id_is_not_clear(run):
    done = run({"conftest.py": COLLECTS, "t.yml": "", "test_a.py": "def test_a(): pass\n"}, remembers=True)
    assert len(failing(done)) == 3
    done = run({}, "test_a.py", remembers=True)
    assert done.says("Run the tests that failed before and did not run now:")
    assert done.rerun == "pytest --loop-close-failed"
    assert failing(again(run, done.rerun)) == ["t.yml::a::b", "t.yml::first::a::b", "t.yml::first::c[d::e]"]


@pytest.mark.slow
@pytest.mark.parametrize("number", ["0", "2"])
@pytest.mark.parametrize("many", ["", MANY])
def test_brackets_in_the_name_of_a_folder(run, many, number):
    """They are those of a parametrized test in an argument of pytest."""
    workers = {"own_process": True, "plugins": ("xdist",)}
    files = {
        "sub/t[1]/test_x.py": TWO,
        "sub/t[1]/test_y.py": "import os\ndef test_y(): assert os.path.exists('fine')\n",
        "test_z.py": many,
        "fine": "",
    }
    done = run(files, "-n", number, **workers)
    assert plain(done.rerun) == ["pytest", "--loop-close-failed"]
    (done.folder / "sub/t[1]/test_y.py").write_text("raise ValueError('is not asked for')\n")
    more = run({}, "-n", number, *plain(done.rerun)[1:], asked=ASKED[1:], **workers)
    assert failing(more) == failing(done)
    assert more.report["counts"]["passed"] == more.report["counts"]["errors"] == 0
    assert "sub/t[1]/test_x.py::test_a" in failing(more)


@pytest.mark.slow
def test_notes_on_the_selection_come_from_workers_too(run):
    workers = {"own_process": True, "plugins": ("xdist",), "asked": ("--loop-close-failed", "-n", "2")}
    run({"test_a.py": TWO + "def test_c(): assert 1 == 3\n"})
    done = run({"test_a.py": TWO}, **workers)
    assert done.summary.count("loop-close: failed before and not found: test_a.py::test_c") == 1
    (done.folder / "test_a.py").unlink()
    done = run({"test_b.py": "def test_b(): pass\n"}, **workers)
    assert done.summary.count("loop-close: none of the tests that failed was found: all tests ran") == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="an environment has other folders there")
@pytest.mark.parametrize("start", [(".venv/bin/pytest",), (".venv/bin/python", "-m", "pytest")])
@pytest.mark.parametrize("is_active", [False, True])
def test_environment_of_the_project_is_named_where_it_is_not_active(pytester, monkeypatch, start, is_active):
    scripts = pytester.path / ".venv" / "bin"
    venv.create(pytester.path / ".venv")
    paths = [entry for entry in sys.path if entry.endswith("site-packages")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*paths, str(Path(loop_close.__file__).parents[1])]))
    script = f"#!{scripts}/python\nimport sys, pytest\nsys.exit(pytest.console_main())\n"
    write(pytester.path, {".venv/bin/pytest": script, "pytest.ini": "[pytest]\n", "test_a.py": TWO})
    (scripts / "pytest").chmod(0o755)
    if is_active:
        monkeypatch.setenv("PATH", str(scripts), prepend=os.pathsep)
    done = pytester.run(*start, "--loop-close", "-p", "no:asyncio", "-p", "no:cacheprovider")
    assert done.ret == 1
    named = ("pytest",) if len(start) == 1 else ("python", "-m", "pytest")
    expected = named if is_active else (".venv/bin/python", "-m", "pytest")
    prompt = (pytester.path / "nextprompt.md").read_text()
    words = command_in(prompt).split(" --loop-close ")
    assert tuple(words[0].split()) == expected
    again = pytester.run(*expected, "--loop-close", *words[1].split())
    again.assert_outcomes(failed=1)
