"""What a run leaves in the history for the page, and what the step summary shows of the runs before."""

import json

import pytest

from loop_close.emit.charts import history_lines
from loop_close.page import page_of, read_timeline
from loop_close.store.reader import read

SECRET = "ghp_" + "a1B2" * 9
CODE = """
    def rate(name):
        rates = {"DE": 19}
        if name in rates:
            return rates[name]
"""
TESTS = """
    from tax import rate
    def test_known(): assert rate("DE") == 19
    def test_other(): assert rate("FR") + 1 == 21
    def test_third(): assert rate("IT") + 1 == 23
"""
FILES = {"tax.py": CODE, "test_tax.py": TESTS}
FIXED = {"tax.py": CODE + "\n        return {'FR': 20, 'IT': 22}[name]\n"}


def timeline_in(folder):
    return read_timeline(folder / ".loop-close" / "history.sqlite3", folder)


def test_causes_and_suspects_of_each_run_are_kept(run):
    run(FILES, remembers=True)
    run({"tax.py": CODE.replace("19", "19.0")}, remembers=True)
    done = run(FIXED, remembers=True)
    timeline = timeline_in(done.folder)
    assert [(test.name, test.cells) for test in timeline.tests] == [
        ("test_tax.py::test_other", "FFP"),
        ("test_tax.py::test_third", "FFP"),
    ]
    (band,) = timeline.causes
    assert (band.runs, band.is_current) == ({0: 2, 1: 2}, False)
    first = band.facts["suspects"][0]
    assert (first["file"], first["function"]) == ("tax.py", "rate")
    assert [run.edit for run in timeline.runs] == ["unknown", "effective", "effective"]
    assert timeline.runs[1].edits == ("edited rate() in tax.py",)
    assert page_of(timeline) == page_of(timeline_in(done.folder))


def test_the_last_report_is_used_for_the_last_run_alone(run):
    done = run(FILES, remembers=True)
    report = json.loads((done.folder / ".loop-close" / "report.json").read_text(encoding="utf-8"))
    (band,) = timeline_in(done.folder).causes
    assert band.facts["suspects"] == report["root_causes"][0]["suspects"]
    report["progress"]["run"] = 7
    report["root_causes"][0]["suspects"] = []
    (done.folder / ".loop-close" / "report.json").write_text(json.dumps(report), encoding="utf-8")
    (band,) = timeline_in(done.folder).causes
    assert band.facts["suspects"][0]["function"] == "rate"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "loop-close.report/1"}'])
def test_a_damaged_report_costs_nothing(run, text):
    done = run(FILES, remembers=True)
    (done.folder / ".loop-close" / "report.json").write_text(text)
    assert len(timeline_in(done.folder).causes) == 1


def test_credentials_are_not_kept(run):
    done = run({"test_a.py": f"def test_a():\n    raise ValueError('token {SECRET}')\n"}, remembers=True)
    page = page_of(timeline_in(done.folder))
    assert "ValueError" in page
    assert SECRET not in page
    kept = read(done.folder / ".loop-close" / "history.sqlite3", lambda history: repr(history.rows()))
    assert "ValueError" in kept
    assert SECRET not in kept


def test_the_step_summary_shows_the_runs_before(run, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    run(FILES, remembers=True)
    assert "<summary>Runs" not in (tmp_path / "summary.md").read_text(encoding="utf-8")
    done = run({"tax.py": CODE.replace("19", "19.0")}, remembers=True)
    lines = history_lines(timeline_in(done.folder), "pytest")
    assert "××  test_tax.py::test_other" in lines
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").endswith("\n".join(lines) + "\n")


def test_a_history_that_cannot_be_read_costs_a_line_of_the_log(run, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))

    def fails(*arguments):
        raise ValueError("no")

    monkeypatch.setattr("loop_close.page.read_timeline", fails)
    done = run(FILES, remembers=True)
    assert done.ret == 1
    assert "loop-close: no history in the step summary: ValueError: no" in done.stdout
    assert "# loop-close: 2 tests fail" in (tmp_path / "summary.md").read_text(encoding="utf-8")
