"""Failures that are known: shown apart, and no reason to go on."""

import json
import os

import pytest
from cli.remembered import called
from test_memory import PROJECT, loop, progress, signals  # noqa: F401
from test_memory_of_tests import changes

PASSES = {**PROJECT, "shop.py": PROJECT["shop.py"].replace("+ 1", "+ 0").replace("None", "0")}
ONE_FAILS = {**PROJECT, "shop.py": PROJECT["shop.py"].replace("None", "0")}
MEAN = 'test = "test_shop.py::test_mean"'
TOTAL = 'test = "test_shop.py::test_total"'


def settings(*entries):
    tables = ", ".join(f"{{{entry}}}" for entry in entries)
    return f"[tool.pytest.ini_options]\n[tool.loop-close]\nknown = [{tables}]\n"


def project(*entries, files=PROJECT):
    return {"pyproject.toml": settings(*entries), **files}


def states(done):
    return {each["test"]: each["state"] for each in done.report["known"]}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
def test_a_run_with_known_failures_alone_is_done(run, workers):
    files = project(f'{MEAN}, issue = "https://example.org/1", until = 2999-12-31', TOTAL)
    done = run(files, *workers, remembers=True, plugins=("xdist",))
    assert done.ret == 1
    assert done.title == "# The tests pass but for 2 known failures"
    assert done.summary == ["loop-close: the tests pass but for 2 known failures"]
    assert done.says(
        "## Known failures\n\nThey fail, and do not count:\n\n"
        "- `test_shop.py::test_mean` (`https://example.org/1`, until 2999-12-31)\n- `test_shop.py::test_total`\n"
    )
    report = done.report
    assert (report["exit_code"], report["verdict"], report["stall_reason"]) == (
        1,
        "green",
        "no-stall-detected",
    )
    assert report["decision"] == {"action": "stop", "reason": "done"}
    assert report["root_causes"] == report["suspects"] == []
    assert report["counts"]["failed"] == 0
    assert progress(done) == {}
    assert [each["issue"] for each in report["known"]] == ["https://example.org/1", ""]
    assert not (done.folder / ".loop-close/report.json").exists()


def test_what_else_fails_comes_first_and_counts_alone(run, loop):  # noqa: F811
    done = run(project(MEAN), remembers=True)
    assert done.title.startswith("# 1 test fails, 1 known failure: ")
    assert "1 test fails, 1 known failure; look first at " in done.summary[0]
    assert "test_mean" not in done.rerun
    assert (done.folder / ".loop-close/failed.txt").read_text() == "test_shop.py::test_total\n"
    assert progress(done) == {"new": 1}
    done = loop(shop=("+ 1", "+ 0"))
    assert done.title == "# The tests pass but for 1 known failure: 1 passed"
    assert progress(done) == {"fixed": 1}
    assert signals(done) == []


def test_an_entry_whose_last_day_has_passed_counts_again(run):
    done = run(project(f"{MEAN}, until = 2020-01-01", f"{TOTAL}"), remembers=True)
    assert done.title.startswith("# 1 test fails, 1 known failure: ")
    assert done.says("so they count again:\n\n- `test_shop.py::test_mean` (until 2020-01-01)")
    assert states(done) == {"test_shop.py::test_mean": "expired", "test_shop.py::test_total": "known"}


def test_a_cause_is_known_by_the_id_in_the_report(run):
    done = run(PROJECT)
    (cause,) = [c["id"] for c in done.causes if c["tests"] == ["test_shop.py::test_total"]]
    (done.folder / "pytest.ini").unlink()
    done = run({"pyproject.toml": settings(f'cause = "{cause}"')})
    assert states(done) == {"test_shop.py::test_total": "known"}
    assert done.title.startswith("# 1 test fails, 1 known failure: ")


def test_entries_whose_tests_passed_are_no_longer_needed(run):
    files = project(MEAN, 'test = "test_shop.py::*"', 'test = "gone.py::test_a"', files=PASSES)
    done = run(files, remembers=True)
    assert (done.ret, done.title) == (0, "# The tests pass: 2 passed")
    assert done.says(
        "No longer needed, as these tests pass:\n\n- `test_shop.py::*`\n- `test_shop.py::test_mean`\n"
    )
    assert done.report["decision"]["reason"] == "done"


def test_nothing_is_said_of_entries_in_a_run_of_some_tests(run):
    done = run(project(MEAN, files=PASSES), "-k", "test_mean")
    assert done.report["known"] == []


def test_a_run_that_did_not_come_to_its_end_is_not_done(run):
    done = run(project(MEAN, TOTAL), "-x", remembers=True)
    assert done.report["verdict"] == "error"
    assert done.says("This run is incomplete (`stopping after 1 failures`)")
    assert done.title == "# The run is incomplete, 1 known failure (exit 1)"


def test_a_known_test_with_an_error_of_another_kind(run):
    """The entry names the test, and so all its phases."""
    tests = PROJECT["test_shop.py"] + "\n\n        def teardown_function():\n            raise OSError\n"
    done = run(project('test = "test_shop.py::*"', files={**PROJECT, "test_shop.py": tests}))
    assert done.report["verdict"] == "green"
    assert done.report["counts"]["errors"] == 0


def test_text_from_outside_is_made_safe(run):
    files = project(f'{MEAN}, issue = "` </script> [x](http://e.org) ghp_{"a1B2" * 9} ![y](z)"', TOTAL)
    done = run(files)  # which checks that nothing in it is markdown
    assert "ghp_a1B2" not in done.prompt
    assert "ghp_a1B2" not in json.dumps(done.report)


def test_credentials_in_ids_of_known_tests_are_not_stored(run, pytester):
    test = "import pytest\n\n@pytest.mark.parametrize('x', ['ghp_' + 'a1B2' * 9])\ndef test_a(x):\n    assert 0\n"
    done = run(project('test = "test_ids.py::*"', files={"test_ids.py": test}), remembers=True)
    assert done.title == "# The tests pass but for 1 known failure"
    stored = [path.read_bytes() for path in (pytester.path / ".loop-close").glob("history*")]
    assert stored
    assert not any(b"ghp_a1B2" in each for each in stored)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('tests = "a"', "known, entry 1: unknown key 'tests'"),
        ('test = "a", until = "soon"', "known, entry 1: until must be a date such as 2027-01-31, not 'soon'"),
    ],
)
def test_wrong_entries_are_a_usage_error(run, entry, said):
    done = run(project(entry), is_prompt=False)
    assert done.ret == 4
    assert f"loop-close: [tool.loop-close] {said}" in done.stderr


def add(pytester, *entries):
    (pytester.path / "pyproject.toml").write_text(settings(*entries))


@pytest.fixture
def red(run, pytester):
    """A loop in which one test fails, with settings in which nothing is known."""
    run(project(files=ONE_FAILS), remembers=True)
    return lambda *args: run({}, *args, remembers=True)


@pytest.mark.slow
def test_an_entry_that_is_added_in_a_loop_counts_once_a_person_accepts_it(red, pytester, monkeypatch):
    add(pytester, TOTAL)
    for _ in range(2):
        done = red()
        assert done.title.startswith("# 1 test fails, 1 passes: ")
        assert changes(done) == [("known", "weakened", "open")]
        assert states(done) == {"test_shop.py::test_total": "not-accepted"}
        assert done.says("until a person accepts them (`loop-close accept`)", "## Tests that were changed")
    monkeypatch.chdir(pytester.path)
    for name in ("CLAUDECODE", "GEMINI_CLI", "CODEX_SANDBOX", "CURSOR_AGENT", "OPENCODE", "CLINE_ACTIVE"):
        monkeypatch.delenv(name, raising=False)
    code, said, _ = called("accept", "pyproject.toml")
    assert code == 0
    assert said == (
        "accepted: weakened: pyproject.toml::known: `test_shop.py::test_total` was added to the known failures\n"
    )
    done = red()
    assert done.title == "# The tests pass but for 1 known failure: 1 passed"
    assert changes(done) == [("known", "weakened", "accepted")]
    assert done.report["decision"] == {"action": "stop", "reason": "done"}
    assert signals(done) == []
    assert changes(red()) == []  # by now it is part of the tests


@pytest.mark.slow
def test_entries_that_differ_in_their_issue_alone_all_wait(red, pytester):
    add(pytester, f"{TOTAL}, issue = '#1'}}, {{{TOTAL}, issue = '#2'")
    done = red()
    assert done.title.startswith("# 1 test fails, 1 passes: ")
    assert states(done) == {"test_shop.py::test_total": "not-accepted"}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["link", "time"])
def test_an_entry_waits_however_it_gets_into_the_file(run, pytester, way):
    """Neither a link nor a file of the same size and time is seen to have changed."""
    run(project(MEAN, files=PROJECT), remembers=True)
    settings_file = pytester.path / "pyproject.toml"
    if way == "link":
        settings_file.rename(pytester.path / "shared.toml")
        settings_file.symlink_to("shared.toml")
    os.utime(settings_file, (1, 1))
    for name in ("history.sqlite3", "history.sqlite3-wal", "history.sqlite3-shm"):
        (pytester.path / ".loop-close" / name).unlink(missing_ok=True)
    assert states(run({}, remembers=True)) == {"test_shop.py::test_mean": "known"}
    (pytester.path / "shop.py").write_text((pytester.path / "shop.py").read_text() + "\n\n\nx = 1\n")
    assert states(run({}, remembers=True)) == {"test_shop.py::test_mean": "known"}
    settings_file.write_text(settings_file.read_text().replace("test_mean", "test_****"))
    os.utime(settings_file, (1, 1))
    assert {*states(run({}, remembers=True)).values()} == {"not-accepted"}


@pytest.mark.slow
def test_an_entry_for_a_test_that_passes_waits_as_well(run, pytester):
    """Else an agent could write it down first, and break the test later."""
    run(project(files=PASSES), remembers=True)
    add(pytester, TOTAL)
    for _ in range(3):
        done = run({}, remembers=True)
        assert done.title == "# Tests were changed, and pass: 2 passed"
        assert changes(done) == [("known", "weakened", "open")]


@pytest.mark.parametrize(
    ("before", "after", "is_open"),
    [
        (f"{TOTAL}, until = 2999-01-01", f"{TOTAL}, until = 2998-01-01, issue = '#1'", False),
        (f"{TOTAL}, until = 2999-01-01", TOTAL, True),
        (f"{TOTAL}, until = 2020-01-01", f"{TOTAL}, until = 2999-01-01", True),
        ('test = "test_shop.py::*"', TOTAL, False),
        ('test = "test_*"', 'test = "test_shop.py::*"', False),
        ('test = "test_shop.py::*"', 'test = "test_*"', True),
        (TOTAL, 'test = "test_shop.py::*"', True),
    ],
)
def test_what_an_entry_may_become(run, pytester, before, after, is_open):
    files = ONE_FAILS
    run(project(before, files=files), remembers=True)
    add(pytester, after)
    done = run({}, remembers=True)
    assert (changes(done) != []) is is_open
    assert [*states(done).values()] == (["not-accepted"] if is_open else ["known"]) or before == TOTAL


def test_a_test_that_takes_the_name_of_a_known_one_is_not_known(run, pytester):
    files = project(
        'test = "test_shop.py::test_old*"',
        files=ONE_FAILS,
    )
    run(files, remembers=True)
    text = (pytester.path / "test_shop.py").read_text()
    (pytester.path / "test_shop.py").write_text(text.replace("test_total", "test_old_total"))
    done = run({}, remembers=True)
    assert [(kind, state) for _, kind, state in changes(done)] == [("not-run", "open")]
    assert done.report["decision"] == {"action": "continue", "reason": "test-tampering"}


@pytest.mark.parametrize("name", ["test_old_total", f"test_old_{'x' * 300}"], ids=["short", "long"])
def test_that_name_is_open_too_where_no_run_was_red_before(run, pytester, name):
    """The agent may have seen the failure without us."""
    run(project('test = "test_shop.py::test_old*"', files=PASSES), remembers=True)
    code, text = ((pytester.path / each).read_text() for each in ("shop.py", "test_shop.py"))
    (pytester.path / "shop.py").write_text(code.replace("+ 0", "+ 1"))
    (pytester.path / "test_shop.py").write_text(text.replace("test_total", name))
    done = run({}, remembers=True)
    assert [(kind, state) for _, kind, state in changes(done)] == [("not-run", "open")]
    assert done.report["decision"] == {"action": "continue", "reason": "test-tampering"}


def test_without_a_history_all_entries_count(run, pytester):
    run(project(files=ONE_FAILS))
    add(pytester, TOTAL)
    assert states(run({})) == {"test_shop.py::test_total": "known"}


@pytest.mark.slow
def test_a_known_failure_that_counts_again_is_not_flaky(run, pytester, monkeypatch):
    from loop_close.pytest_plugin import finish

    run(
        project(
            f"{TOTAL}, until = 2999-01-01",
            files=ONE_FAILS,
        ),
        remembers=True,
    )
    monkeypatch.setattr(finish, "strftime", lambda *_: "2999-01-02")
    for _ in range(3):
        done = run({}, remembers=True)
        assert states(done) == {"test_shop.py::test_total": "expired"}
        assert "flaky" not in signals(done)
    assert done.report["progress"]["broken"] == []


def test_failures_that_did_not_run_again_are_not_said_to_be_known(run):
    run(project(TOTAL), remembers=True)
    done = run({}, "-k", "test_total", remembers=True)
    assert done.title == "# 1 earlier failure not run again, 1 known failure (exit 1)"
