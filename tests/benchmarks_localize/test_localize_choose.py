from collections import Counter
from dataclasses import replace

import pytest
from benchmarks.localize import __main__ as command
from benchmarks.localize.choose import _at_import, _kinds
from benchmarks.localize.faults import Mutation, load, save
from benchmarks.localize.mutate import EASY, KINDS
from benchmarks.localize.projects import PROJECTS
from benchmarks.localize.trial import Choice


def one(line, project="bidict", half=""):
    where = {"file": "a.py", "line": line, "column": 0, "function": "f", "before": "1", "after": "2"}
    return Mutation(project=project, kind="off-by-one", half=half, failing=1, **where)


@pytest.mark.parametrize("number", range(len(PROJECTS)))
def test_easy_kinds_are_for_the_first_draw(number):
    kinds = _kinds(PROJECTS[number], is_easy=False)
    assert sorted(kinds) == sorted(set(KINDS) - set(EASY))
    assert set(_kinds(PROJECTS[number], is_easy=True)) >= set(kinds)


def test_lines_at_import_are_those_of_functions_that_ran_then():
    faults = [one(1), one(2), replace(one(1), function="<module>"), replace(one(1), file="b.py")]
    assert _at_import(faults, {"a.py": [1, 3]}) == [faults[0]]


def test_faults_at_import_are_asked_for(tmp_path, drawn):
    ran(tmp_path / "faults.json", "--more=tune", "--at-import")
    assert [choice.at_import for choice in drawn] == [True]


@pytest.fixture
def drawn(monkeypatch):
    """The choices that were asked for; each gives four faults of one project."""
    asked = []

    def choose(choice: Choice, projects):
        asked.append(choice)
        return [one(line, projects[0].name) for line in (5, 6, 7, 8)]

    monkeypatch.setattr(command, "choose", choose)
    monkeypatch.setattr(command, "_check", lambda *_: None)
    return asked


def ran(path, *options):
    name = PROJECTS[0].name
    save([one(1, name, "tune"), one(1, PROJECTS[1].name, "report")], path)
    assert command.main(["--choose", f"--faults={path}", f"--only={name}", *options]) == 0
    return Counter((fault.project, fault.half) for fault in load(path))


def test_more_faults_are_all_for_one_half(tmp_path, drawn):
    first, second = PROJECTS[0].name, PROJECTS[1].name
    found = ran(tmp_path / "faults.json", "--more=report", "--seed=6")
    assert found == {(first, "tune"): 1, (first, "report"): 4, (second, "report"): 1}
    assert [(choice.known, choice.seed) for choice in drawn] == [(frozenset({one(1, first).id}), 6)]


def test_more_faults_than_there_are_in_no_list(tmp_path, drawn):
    with pytest.raises(SystemExit, match="no such list to add faults to"):
        command.main(["--choose", "--more=tune", f"--faults={tmp_path / 'none.json'}"])
    assert drawn == []


def test_a_new_list_is_halved(tmp_path, drawn):
    first, second = PROJECTS[0].name, PROJECTS[1].name
    assert ran(tmp_path / "faults.json") == {(first, "tune"): 2, (first, "report"): 2, (second, "report"): 1}
    assert not drawn[0].known
