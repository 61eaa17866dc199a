import pytest
from benchmarks.localize import ours
from benchmarks.localize.faults import Mutation
from benchmarks.localize.projects import Project
from benchmarks.localize.reading import Scene, mentions
from benchmarks.localize.score import Score, score
from benchmarks.localize.spans import Resolver
from benchmarks.localize.table import calibration, markdown, plain, rows

SOURCE = """\
import os

def inner(a):
    if a:
        return os.path.join(a)


def outer(a):
    return inner(a)



def third(a):
    return a.third_of_all


"""
PROJECT = Project(name="shop", version="1", sha256="", sources="shop", tests=())


@pytest.fixture
def scene(tmp_path):
    return Scene(project=PROJECT, root=tmp_path, resolver=Resolver(tmp_path, {"shop/cart.py": SOURCE}))


def fault(**more):
    place = {
        "project": "shop",
        "kind": "k",
        "file": "shop/cart.py",
        "line": 9,
        "column": 0,
        "function": "outer",
    }
    return Mutation(**{**place, "before": "x", "after": "y", "half": "report", **more})


def test_table_counts_halves_and_hidden_apart():
    faults = {f.id: f for f in (fault(hidden=True), fault(line=3), fault(line=4, half="tune"))}
    plainly = {"tool": "ours", "named": 3, "names": (), "has_file": True, "has_line": False}
    ranks = dict(zip(faults, (1, 4, None), strict=True))
    scores = [Score(fault=i, rank=r, tokens=10 * (r or 1), groups=r, **plainly) for i, r in ranks.items()]
    table = rows(faults, scores)
    assert table[1] == ("tune", "all", "ours", "1", "0 %", "0 %", "0 %", "100 %", "0 %", "10", "n/a")
    assert table[3:] == [
        ("report", "all", "ours", "2", "50 %", "50 %", "100 %", "100 %", "0 %", "25", "2.5"),
        ("report", "hidden", "ours", "1", "100 %", "100 %", "100 %", "100 %", "0 %", "10", "1"),
        ("report", "shown", "ours", "1", "0 %", "0 %", "100 %", "100 %", "0 %", "40", "4"),
    ]
    assert plain(table).splitlines()[0].split()[:3] == ["half", "faults", "tool"]
    assert markdown(table).splitlines()[1].startswith("| --- | ---")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("outer(1) in other places, cart.py", []),
        ("`outer` (`tests/test_cart.py`), missing() in shop/cart.py", []),
        ("# 5 tests fail, 36 pass: probably third() in shop/cart.py:14", ["third"]),
        ("`shop/cart.py:14` `third` (12 %), `:5` `inner` (3 %), `:9` `outer`", ["third", "inner", "outer"]),
        ("called by outer() in shop/cart.py and `inner` (`shop/cart.py`)", ["outer", "inner"]),
        ("`shop/cart.py:1` `<module>`, then `shop/cart.py:9` and `shop/cart.py:10`", ["<module>", "outer"]),
        ("outer() in shop/cart.py:14", ["third"]),  # the line is what counts, as for all tools
    ],
)
def test_reading_order(scene, text, found):
    assert [named.function for named in mentions(scene, text)] == found


def test_the_text_is_read_beside_the_list(scene):
    suspects = [
        {"file": "shop/cart.py", "line": 14, "function": "third", "score": 0.7},
        {"file": "shop/cart.py", "line": 8, "function": "outer", "score": 0.2},
    ]
    document = {"root_causes": [{"suspects": suspects, "location": {}}]}
    said = ours.said(scene, document, "`shop/cart.py:9` was run")
    result = score(scene, fault(), ours.NAME, said)
    assert (result.rank, result.read) == (2, 1)
    assert result.chances == ((0.7, False), (0.2, True))
    table = rows({fault().id: fault()}, [result])
    assert [row[2:6] for row in table[1:3]] == [
        ("loop-close", "1", "0 %", "100 %"),
        ("loop-close, text", "1", "100 %", "100 %"),
    ]


def test_calibration():
    common = {
        "tool": "ours",
        "named": 0,
        "names": (),
        "has_file": True,
        "has_line": True,
        "tokens": 1,
        "groups": 1,
    }
    chances = [((0.62, True), (0.12, False)), ((0.68, False),), ((1.0, True),)]
    scores = [Score(fault=str(n), rank=1, chances=each, **common) for n, each in enumerate(chances)]
    assert calibration(scores)[1:] == [
        ("10-20 %", "1", "12 %", "0 %"),
        ("60-70 %", "2", "65 %", "50 %"),
        ("90-100 %", "1", "100 %", "100 %"),
        ("all", "4", "expected calibration error", "0.105"),
    ]
