"""Real faults from two releases of a small project that lies in the cache: no network."""

import hashlib
import io
import json
import sys
import tarfile
from collections import Counter
from dataclasses import replace

import pytest
from benchmarks.localize import __main__ as command
from benchmarks.localize import faults, pin, releases
from benchmarks.localize.choose_real import mismatch
from benchmarks.localize.faults import Reversal
from benchmarks.localize.projects import BY_NAME, Project
from benchmarks.localize.reading import Named
from benchmarks.localize.releases import Series
from benchmarks.localize.score import _is_named
from benchmarks.localize.trial import Choice

TAX = """\
from decimal import Decimal

def rate(kind):
    return 7 if kind == "food" else 19

def helper(net):
    return net

def loaded(net):
    return net

def unseen(net):
    return net

class Order:
    fee = 5

    def sum(self, net):
        return net + self.fee

def total(net, kind):
    return Order().sum(net + helper(net) * rate(kind) // 100)
"""
OLDER = (
    TAX.replace('== "food"', '== "fruit"')
    .replace("fee = 5", "fee = 4")
    .replace(
        "def helper(net):\n    return net",
        "def gone(net):\n    return net\n\ndef helper(net):\n    return gone(net)",
    )
    .replace("def loaded(net):\n    return net", "def loaded(net):\n    return (net)[0]")
    .replace("def unseen(net):\n    return net", "def unseen(net):\n    return 1")
    .replace("from decimal import Decimal", "from decimal import Decimal as D")
)
TESTS = """\
from shop import tax

def test_food(): assert tax.total(100, "food") == 112
def test_other(): assert tax.total(100, "other") == 124
def test_sum(): assert tax.Order().sum(1) == 6
def test_loaded():
    try:
        tax.loaded(1)
    except TypeError:
        pass
"""


def sdist(folder, version, tax):
    files = {"shop/__init__.py": "", "shop/tax.py": tax, "tests/test_tax.py": TESTS}
    path = folder / "sdists" / f"shop-{version}.tar.gz"
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w:gz") as file:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"Shop-{version}/{name}")
            entry.size = len(text.encode())
            file.addfile(entry, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """The table with one project; its older release is red by itself."""
    plan = Project(name="shop", version="", sha256="", sources="shop", tests=("tests",))
    digests = {version: sdist(tmp_path, version, tax) for version, tax in (("1.0", OLDER), ("1.1", TAX))}
    made = tuple(replace(plan, version=version, sha256=digest) for version, digest in digests.items())
    series = Series(plan=plan, half="tune", releases=made)
    monkeypatch.setitem(releases.RELEASES, "shop", series)
    return series


def run(tmp_path, *options):
    common = ["--real", f"--cache={tmp_path}", f"--faults={tmp_path / 'real.json'}", "--jobs=1"]
    return command.main([*common, *options])


@pytest.fixture
def chosen(shop, tmp_path, monkeypatch):
    if not hasattr(sys, "monitoring"):
        pytest.skip("needs Python 3.12")
    for name in list(releases.RELEASES):
        if name != "shop":
            monkeypatch.delitem(releases.RELEASES, name)
    assert run(tmp_path, "--choose") == 0
    return faults.load(tmp_path / "real.json")


def test_what_changed_and_is_seen_is_chosen(capsys, chosen):
    found = {(f.kind, f.function, f.target, f.failing, f.hidden, f.lines) for f in chosen}
    assert found == {
        ("function", "rate", "", 1, True, (4,)),
        ("class", "Order", "fee", 3, True, (16,)),
    }
    assert {(f.project, f.version, f.older, f.half, f.file) for f in chosen} == {
        ("shop", "1.1", "1.0", "tune", "shop/tax.py")
    }
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "2 faults, 2 of them hidden",
        "by kind: class 1, function 1",
        "by tests: 1 test 1, 2-5 tests 1",
    ]
    assert {line.strip() for line in lines[3:]} >= {
        "1 no test runs it",
        "1 it uses a name that is gone",
        "1 no test fails",
    }


def test_no_code_is_listed(chosen, tmp_path):
    text = (tmp_path / "real.json").read_text()
    assert "fruit" not in text
    assert "food" not in text


def test_faults_are_measured_kept_and_replayed(chosen, tmp_path, capsys):
    kept = tmp_path / "kept"
    out = tmp_path / "scores.jsonl"
    run(tmp_path, "--half=tune", "--tool=loop-close", f"--keep={kept}", f"--out={out}", "--by=kind")
    scores = [json.loads(line) for line in out.read_text().splitlines()]
    assert {score["fault"] for score in scores} == {fault.id for fault in chosen}
    assert [score["rank"] <= 3 for score in scores if score["kind"] == "function"] == [True]
    assert sorted(path.stem for path in kept.iterdir()) == sorted(fault.id for fault in chosen)
    run(tmp_path, "--half=tune", f"--replay={kept}", "--by=tests")
    assert [line.split()[1:3] for line in capsys.readouterr().out.splitlines() if " loop-close  " in line][
        -2:
    ] == [
        ["1", "test"],
        ["2-5", "tests"],
    ]


def test_another_release_than_the_listed_one_is_refused(chosen, tmp_path):
    [fault] = [f for f in chosen if f.kind == "function"]
    with pytest.raises(ValueError, match="other lines differ"):
        replace(fault, lines=(5,)).apply(TAX, tmp_path)
    assert fault.apply(TAX, tmp_path) == TAX.replace('== "food"', '== "fruit"')


def test_releases_that_run_are_pinned(shop, tmp_path, monkeypatch):
    monkeypatch.setattr(pin, "_versions", lambda name: ["1.1", "1.0", "0.9"])
    monkeypatch.setattr(pin, "fetched", lambda release, cache: cache / "sdists" / f"{release.folder}.tar.gz")
    bare = replace(shop, releases=())
    [found] = pin.pin(Choice(cache=tmp_path, python=sys.executable), [bare])
    assert [(r.version, r.sha256) for r in found.releases] == [(r.version, r.sha256) for r in shop.releases]
    assert [r.deselect for r in found.releases] == [
        ("tests/test_tax.py::test_food", "tests/test_tax.py::test_other", "tests/test_tax.py::test_sum"),
        (),
    ]


def test_table_is_read_as_it_was_written(shop, tmp_path):
    table = {"shop": shop, "h11": Series(plan=BY_NAME["h11"], half="tune", releases=(BY_NAME["h11"],))}
    releases.save(table, tmp_path / "table.json")
    assert releases.load(tmp_path / "table.json") == table
    assert json.loads((tmp_path / "table.json").read_text())["h11"]["plan"] == {}


def test_projects_are_dealt_out_and_those_of_the_mutations_are_for_tuning(shop):
    names = [f"p{number}" for number in range(9)]
    table = {name: Series(plan=replace(shop.plan, name=name), half="") for name in [*names, "h11"]}
    dealt = releases.dealt(table)
    assert Counter(dealt[name].half for name in names) == {"report": 5, "tune": 4}
    assert dealt["h11"].half == "tune"
    assert releases.dealt({**dealt, "new": Series(plan=shop.plan, half="")})["p0"] == dealt["p0"]


def seen(sorts, failed=("t.py::a",), shown=()):
    return {"sorts": list(sorts), "failed": list(failed), "shown": [list(each) for each in shown]}


FAULT = Reversal(
    project="shop",
    kind="class",
    file="shop/tax.py",
    function="Order",
    version="1.1",
    older="1.0",
    lines=(16, 17),
)


@pytest.mark.parametrize(
    ("found", "is_fault"),
    [
        (seen([""]), True),
        (seen(["name"]), False),
        (seen(["arguments"]), False),
        (seen(["", "name"]), True),
        (seen([""], ["t.py"], [("shop/tax.py", 1, "<module>")]), False),
        (seen([""], ["t.py"], [("shop/other.py", 1, "<module>")]), True),
        (seen([""], ["t.py", "u.py::a"], [("shop/tax.py", 1, "<module>")]), True),
    ],
)
def test_releases_that_do_not_fit_are_no_fault(found, is_fault):
    assert bool(mismatch(FAULT, found)) != is_fault


@pytest.mark.parametrize(
    ("named", "is_hit"),
    [
        (Named("shop/tax.py", 1, "Order"), True),
        (Named("shop/tax.py", 17, "<module>"), True),
        (Named("shop/tax.py", 18, "<module>"), False),
        (Named("shop/tax.py", 19, "Order.sum"), False),
        (Named("shop/other.py", 16, "Order"), False),
    ],
)
def test_class_is_named_by_itself_or_by_its_lines(named, is_hit):
    assert _is_named(FAULT, named) == is_hit


def test_real_list_is_what_it_is_said_to_be():
    listed = faults.load(faults.REAL)
    table = releases.load()
    assert len({f.id for f in listed}) == len(listed)
    assert all(f.half == table[f.project].half for f in listed)
    assert all({f.version, f.older} <= table[f.project].of.keys() for f in listed)
    assert max(Counter(f.project for f in listed).values()) <= 20
    assert {table[name].half for name in BY_NAME if name in table} == {"tune"}
