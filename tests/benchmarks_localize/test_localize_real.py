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
from benchmarks.localize import faults, releases
from benchmarks.localize.projects import BY_NAME, Project
from benchmarks.localize.releases import Series

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


def test_real_list_is_what_it_is_said_to_be():
    listed = faults.load(faults.REAL)
    table = releases.load()
    assert len({f.id for f in listed}) == len(listed)
    assert all(f.half == table[f.project].half for f in listed)
    assert all({f.version, f.older} <= table[f.project].of.keys() for f in listed)
    assert max(Counter(f.project for f in listed).values()) <= 20
    assert {table[name].half for name in BY_NAME if name in table} == {"tune"}
