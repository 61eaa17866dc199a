"""The last report of each source: kept whole, found again by its run, and never trusted."""

import json
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import failure, raised

from loop_close import app, files
from loop_close.app import keep_report, reports_of
from loop_close.judge import report_of
from loop_close.model import Observation, OtherRun
from loop_close.parts import packed, part_of
from loop_close.prompt.report_json import report_document


def kept(root, source="pytest:py311", run=1):
    """A report as a run of that number writes it."""
    observation = Observation(exit_code=1, source=source, failures=(failure(raised()),))
    document = report_document(report_of(observation), "")
    document["progress"] = {**document["progress"], "run": run}
    keep_report(root, source, {**document, "observation": packed(observation)})
    return observation


def other(source="pytest:py311", run=1, *, is_current=True):
    return OtherRun(source=source, run=run, verdict="first-failure", is_current=is_current)


def test_what_is_kept_is_found_again(tmp_path):
    observation = kept(tmp_path)
    (part,) = reports_of(tmp_path, [other()])
    assert part.observation == observation
    assert (tmp_path / ".loop-close/reports/pytest@py311.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("run", [other(run=2), other(is_current=False), other("pytest:py312")])
def test_of_another_run_or_other_files_it_says_nothing(tmp_path, run):
    kept(tmp_path)
    assert reports_of(tmp_path, [run]) == []


def test_what_is_red_on_other_files_is_known_for_its_command(tmp_path):
    observation = kept(tmp_path)
    stale = other(is_current=False)
    seen = app._with_result(stale, tmp_path).observation
    assert seen == replace(observation, failed_option=""), "the list of what failed is that of another run"
    for each in (other(), other(run=2, is_current=False), replace(stale, verdict="green")):
        assert app._with_result(each, tmp_path) == each


@pytest.mark.parametrize("damage", ["cut", "link", "folder", "pipe", "other source", "no text"])
def test_damage_is_passed_over(tmp_path, damage):
    kept(tmp_path)
    path = tmp_path / ".loop-close/reports/pytest@py311.json"
    text = path.read_text()
    path.unlink()
    if damage == "cut":
        path.write_text(text[: len(text) // 2])
    elif damage == "link":
        (tmp_path / "x.json").write_text(text)
        path.symlink_to(tmp_path / "x.json")
    elif damage == "folder":
        path.mkdir()
    elif damage == "pipe":
        os.mkfifo(path)
    elif damage == "other source":
        kept(tmp_path, "mypy")
        (path.parent / "mypy.json").rename(path)
    else:
        path.write_bytes(b"\xff\xfe\x00")
    assert reports_of(tmp_path, [other()]) == []


def test_it_is_private_whatever_was_in_its_place(tmp_path):
    kept(tmp_path)
    path = tmp_path / ".loop-close/reports/pytest@py311.json"
    path.chmod(0o666)
    kept(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_a_link_is_neither_read_nor_written(tmp_path):
    kept(tmp_path)
    folder = tmp_path / ".loop-close/reports"
    folder.rename(tmp_path / "away")
    folder.symlink_to(tmp_path / "away")
    assert reports_of(tmp_path, [other()]) == []
    with pytest.raises(OSError, match="symbolic link"):
        kept(tmp_path)


def test_only_the_last_sources_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "_MOST_REPORTS", 3)
    for number in range(5):
        kept(tmp_path, f"s{number}")
        os.utime(tmp_path / f".loop-close/reports/s{number}.json", ns=(number, number))
    kept(tmp_path, "s5")
    assert {p.name for p in (tmp_path / ".loop-close/reports").iterdir()} == {"s3.json", "s4.json", "s5.json"}


def test_no_credential_is_kept(tmp_path):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    observation = Observation(exit_code=1, failures=(failure(raised("ValueError", f"token {secret}")),))
    document = {**report_document(report_of(observation), ""), "observation": packed(observation)}
    keep_report(tmp_path, observation.source, document)
    path = tmp_path / ".loop-close/reports/pytest.json"
    document = json.loads(path.read_text())
    assert secret not in path.read_text()
    assert secret not in repr(part_of("x", json.dumps(document)).observation)


@given(st.lists(st.text(max_size=150), unique=True, min_size=2, max_size=8))
def test_no_two_sources_share_a_file(tmp_path_factory, sources):
    root = tmp_path_factory.getbasetemp()
    names = [files.of_source(root, source).name for source in sources]
    assert len({*names}) == len(names)
    assert all(len(os.fsencode(name)) < 255 and "/" not in name for name in names)
    assert all(files.of_source(root, source).parent == root / files.REPORTS for source in sources)
