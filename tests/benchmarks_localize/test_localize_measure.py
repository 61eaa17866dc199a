import sys

import pytest
from benchmarks.localize import measure
from benchmarks.localize.__main__ import main
from benchmarks.localize.projects import BY_NAME, Project


def test_what_tests_need_is_looked_for():
    shop = Project(
        name="shop", version="1.0", sha256="", sources="shop", tests=(), requires=("pytest", "no_such-thing")
    )
    assert measure.lacking(sys.executable, [shop, BY_NAME["h11"]]) == ["no_such-thing"]


def test_nothing_is_measured_without_it(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.localize.__main__.lacking", lambda *_: ["pretend"])
    with pytest.raises(SystemExit, match=r"the projects' tests need more: .*-m pip install pretend$"):
        main(["--half", "all", "--limit", "1", "--cache", str(tmp_path)])
    assert not any(tmp_path.iterdir())
