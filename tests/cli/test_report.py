"""``loop-close report``: the recorded runs as a page and a picture."""

import json
import os
import re
from xml.etree import ElementTree

import pytest
from cli_harness import environment, loop_close
from remembered import NO_RUN, USELESS, called, execute, history_path, opened, remember

from loop_close.page import lines_of_runs

DATA = re.compile(r'<script id="data" type="application/json">(.*?)</script>', re.DOTALL)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "shop"


def data_of(path):
    (found,) = DATA.findall(path.read_text(encoding="utf-8"))
    return json.loads(found)


def test_page_and_picture_of_some_runs(root):
    remember(root, "a b", "a", "")
    code, shown, errors = called("report", "--html", "page.html", "--svg", "page.svg")
    assert (code, errors) == (0, "")
    assert [line.split(" (")[0] for line in shown.splitlines()] == ["written: page.html", "written: page.svg"]
    data = data_of(root / "page.html")
    assert (data["project"], data["sources"], len(data["runs"])) == ("shop", ["pytest"], 3)
    assert [name for name, _, _ in data["tests"]] == ["test_a.py::a", "test_a.py::b"]
    assert ElementTree.parse(root / "page.svg").getroot().tag.endswith("svg")


def test_the_same_history_gives_the_same_bytes(root):
    remember(root, "a b", "a", "", edit="effective")
    for name in ("one", "two"):
        assert called("report", "--html", f"{name}.html", "--svg", f"{name}.svg")[0] == 0
    assert (root / "one.html").read_bytes() == (root / "two.html").read_bytes()
    assert (root / "one.svg").read_bytes() == (root / "two.svg").read_bytes()


def test_a_page_replaces_one_of_ours_and_nothing_else(root):
    remember(root, "a")
    (root / "notes.html").write_text("<!doctype html>\n<p>mine")
    assert called("report", "--html", "page.html")[0] == 0
    assert called("report", "--html", "page.html")[0] == 0
    code, shown, errors = called("report", "--html", "notes.html")
    assert (code, shown) == (64, "")
    assert errors.startswith("loop-close: --html: notes.html exists and was not written by loop-close")
    assert (root / "notes.html").read_text() == "<!doctype html>\n<p>mine"


@pytest.mark.parametrize("words", [("--html", "."), ("--svg", "a/b/.."), ("--html", "-")])
def test_what_cannot_be_written_is_told(root, words):
    remember(root, "a")
    code, shown, errors = called("report", *words)
    assert (code, shown) == (64, "")
    assert errors.startswith(f"loop-close: {words[0]}: ")


def test_one_file_for_both_is_refused(root):
    remember(root, "a")
    code, shown, errors = called("report", "--html", "page.html", "--svg", "./page.html")
    assert (code, shown) == (64, "")
    assert errors == "loop-close: --html and --svg: page.html cannot be both; name two files\n"
    assert not (root / "page.html").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_in_place_of_the_last_report_is_not_waited_for(root):
    remember(root, "a")
    os.mkfifo(root / ".loop-close" / "report.json")
    assert called("report", "--html", "page.html")[0] == 0


def test_nothing_asked_for_is_told(root):
    remember(root, "a")
    code, _, errors = called("report")
    assert code == 64
    assert "name a file to write: --html PATH, --svg PATH, or both" in errors


@pytest.mark.parametrize("has_file", [False, True])
def test_without_a_run_the_page_says_so(root, has_file):
    if has_file:
        with opened(root):
            pass
    code, shown, errors = called("report", "--html", "page.html", "--svg", "page.svg")
    assert (code, errors) == (0, NO_RUN)
    assert shown.startswith("written: page.html")
    assert data_of(root / "page.html")["runs"] == []


@pytest.mark.parametrize("kind", USELESS)
def test_a_useless_file_is_told_and_nothing_is_written(root, kind):
    make, said = USELESS[kind]
    history_path(root).parent.mkdir()
    make(history_path(root))
    code, _, errors = called("report", "--html", "page.html")
    assert code == 64
    assert said in errors
    assert not (root / "page.html").exists()


def test_damage_is_told(root):
    remember(root, "a", "a")
    execute(root, "UPDATE runs SET record = 'x', summary = 'x'")
    code, _, errors = called("report", "--html", "page.html")
    assert code == 64
    assert "is damaged" in errors


def test_only_the_runs_of_a_source(root):
    remember(root, "a", "")
    remember(root, "b", source="tox:py312", at=100.0)
    assert called("report", "--html", "page.html", "--source", "tox:py312")[0] == 0
    data = data_of(root / "page.html")
    assert (data["sources"], len(data["runs"]), data["leftOut"][0]) == (["tox:py312"], 1, 0)
    code, _, errors = called("report", "--html", "page.html", "--source", "mypy")
    assert code == 64
    assert "no runs of source 'mypy'; known: pytest, tox:py312" in errors


def test_a_source_with_a_long_name_has_its_lines_of_runs(root):
    source = f"pytest:{'x' * 100}"
    remember(root, "a", "a b", source=source)
    assert "<details><summary>Runs 1 to 2</summary>" in lines_of_runs(history_path(root), root, source)


@pytest.mark.parametrize(("limit", "kept", "older"), [("2", 2, 3), ("5", 5, 0), ("9", 5, 0)])
def test_only_the_last_runs(root, limit, kept, older):
    remember(root, "a", "a", "b", "b", "")
    assert called("report", "--html", "page.html", "--limit", limit)[0] == 0
    data = data_of(root / "page.html")
    assert [row[1] for row in data["runs"]] == list(range(6 - kept, 6))
    assert data["leftOut"][0] == older


def test_a_history_in_another_place(root, tmp_path):
    remember(root, "a", path=tmp_path / "other.sqlite3")
    assert called("report", "--html", "page.html", "--history", tmp_path / "other.sqlite3")[0] == 0
    assert len(data_of(root / "page.html")["runs"]) == 1


def test_data_cannot_end_its_element(root):
    remember(root, "</script><script>alert(1)</script>&amp;")
    assert called("report", "--html", "page.html")[0] == 0
    text = (root / "page.html").read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    assert "alert(1)" in data_of(root / "page.html")["tests"][0][0]


def test_names_that_look_like_the_template_are_text(root):
    remember(root, "{{script}} {{data}}")
    assert called("report", "--html", "page.html")[0] == 0
    names = {name for name, _, _ in data_of(root / "page.html")["tests"]}
    assert names == {"test_a.py::{{script}}", "test_a.py::{{data}}"}


@pytest.mark.slow
def test_the_demo_writes_the_page_of_its_runs(root, tmp_path):
    done = loop_close("demo", "--html", "demo.html", cwd=root, env=environment(TMPDIR=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    assert "\nrun 11, after an edit of src/shop/payments.py: 4 tests fail, 100 pass" in done.stdout.decode()
    data = data_of(root / "demo.html")
    assert [row[5] for row in data["runs"]] == [34, 33, 21, 21, 21, 21, 18, 10, 7, 6, 4]
    assert "stuck" in [row[4] for row in data["runs"]]
    places = {
        suspect["where"].partition(":")[0] for cause in data["causes"] for suspect in cause["suspects"][:1]
    }
    assert {"src/shop/customers.py", "src/shop/coupons.py", "src/shop/loyalty.py"} <= places
    assert [path.name for path in root.iterdir()] == ["demo.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["shop"]


def test_the_demo_writes_over_no_file_of_others(root):
    (root / "mine.html").write_text("mine")
    done = loop_close("demo", "--html", "mine.html", cwd=root)
    assert done.returncode == 64
    assert done.stdout == b""
    assert b"--html: mine.html exists and was not written by loop-close" in done.stderr
