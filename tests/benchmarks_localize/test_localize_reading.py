from pathlib import Path

import pytest
from benchmarks.localize import bare, ours, receptor
from benchmarks.localize.faults import Mutation
from benchmarks.localize.projects import Project
from benchmarks.localize.reading import Named, Said, Scene, mentions, names_file, once, shows_line
from benchmarks.localize.run import Ran
from benchmarks.localize.score import Score, score
from benchmarks.localize.spans import Resolver
from benchmarks.localize.table import calibration, markdown, plain, rows
from benchmarks.tokenizer import count_tokens

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


def read(tool, scene, text):
    return tool.read(scene, Ran(code=1, output=text, seconds=0), Path())


def names(said):
    return [named.function for named in said.named]


BARE = """\
FF                                                    [100%]
================ FAILURES ================
____________ test_one[a] ____________
tests/test_shop.py:5: in test_one
    outer(1)
shop/cart.py:9: in outer
    return inner(a)
shop/cart.py:5: TypeError
_ test_two[a very long name] _
_ _ _ _ _ _ _ _ _ _ _ _
/usr/lib/python3/json.py:3: in load
{root}/shop/cart.py:14: in third
    return a.third_of_all
E   AttributeError: x
======= short test summary info =======
FAILED tests/test_shop.py::test_one - shop/cart.py:1: x
"""


def test_pytest_from_the_innermost_frame_outwards(scene):
    said = read(bare, scene, BARE.format(root=scene.root))
    assert names(said) == ["inner", "outer", "third"]
    assert said.groups == 2


RECEPTOR = """\
FAIL exit=1 | 3 failed, 116 passed | 1.22s | 2 root causes

[1] AttributeError | 3 tests | call
    shop/cart.py:14
    AttributeError: 'list' object has no attribute
    frames: tests/test_shop.py:45 -> shop/cart.py:9 -> shop/cart.py:5 -> shop/cart.py:14
    rerun: pytest tests/test_shop.py -q

[2] AssertionError | 1 test | call
    tests/test_shop.py:3
"""


def test_the_peer_from_the_place_it_names(scene):
    said = read(receptor, scene, RECEPTOR)
    assert names(said) == ["third", "inner", "outer"]
    assert said.groups == 2


def cause(suspects=(), file="shop/cart.py", line=9, function="outer"):
    return {"suspects": list(suspects), "location": {"file": file, "line": line, "function": function}}


def suspect(line, function):
    return {
        "file": "shop/cart.py",
        "line": line,
        "end_line": line,
        "function": function,
        "score": 1,
        "reasons": [],
    }


def test_ours_cause_by_cause_places_where_there_are_no_suspects(scene):
    causes = [cause([suspect(3, "inner"), suspect(2, "<module>")]), cause(), cause(file="tests/test_shop.py")]
    said = ours.said(scene, {"root_causes": [*causes, cause([suspect(3, "inner")])]}, "text")
    assert names(said) == ["inner", "<module>", "outer"]
    assert said.groups == 4


def test_nothing_written_is_nothing_said(scene, tmp_path):
    assert ours.read(scene, Ran(code=4, output="", seconds=0), tmp_path) == Said(text="", named=(), groups=0)


def test_a_function_counts_where_it_is_named_first():
    assert once([Named("a", 1, "f"), Named("a", 5, "g"), Named("a", 2, "f")]) == (
        Named("a", 1, "f"),
        Named("a", 5, "g"),
    )


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("in `shop/cart.py` it", True),
        ("/elsewhere/shop/cart.py", True),
        ("cart.py:3", True),
        ("test_cart.py", False),
        ("shop/cart.pyc", False),
        ("other/cart.py", False),
    ],
)
def test_file_named(scene, text, is_named):
    assert names_file(scene, text, "shop/cart.py") == is_named


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("shop/cart.py:12", True),
        ("shop/cart.py:18", False),
        ('File "shop/cart.py", line 14, in third', True),
        ("shop/cart.py\n>  14     return a.third_of_all", True),
        ("shop/cart.py\nE       return a.third_of_all", True),
        ("tests/test_shop.py\n   14     return a.third_of_all", False),
        ("shop/cart.py\n   9     return inner(a)", False),
    ],
)
def test_line_shown(scene, text, is_shown):
    assert shows_line(scene, text, "shop/cart.py", [14]) == is_shown


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


@pytest.mark.parametrize(
    ("changed", "rank"),
    [
        ({}, 2),
        ({"function": "third"}, None),
        ({"file": "shop/other.py"}, None),
        ({"function": "<module>", "line": 6}, 1),
        ({"function": "<module>", "line": 99}, None),
    ],
)
def test_rank(scene, changed, rank):
    (scene.root / "shop").mkdir()
    (scene.root / "shop" / "other.py").write_text("\n" * 20)
    said = Said(
        text="shop/cart.py" * 4,
        named=(Named("shop/cart.py", 5, "inner"), Named("shop/cart.py", 9, "outer")),
        groups=1,
    )
    result = score(scene, fault(**changed), "ours", said)
    assert (result.rank, result.named, result.is_read) == (rank, 2, False)
    assert result.tokens == count_tokens(said.text) > 0
    assert result.names == ("shop/cart.py:inner", "shop/cart.py:outer")


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
        ("tests/test_shop.py:9, /usr/lib/cart.py:9", []),
        ("# 5 tests fail, 36 pass: probably third() in shop/cart.py:14", ["third"]),
        ("### 1. `outer` at `shop/cart.py:9` (62 %)", ["outer"]),
        (
            "Other places: `shop/cart.py:14` `third` (12 %), `shop/cart.py:5` `inner` (3 %)",
            ["third", "inner"],
        ),
        ("`shop/cart.py:14` `third` (12 %), `:5` `inner` (3 %), `:9` `outer`", ["third", "inner", "outer"]),
        ("`:5` and `tests/test_cart.py:1`, `:9`", []),
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


def test_calibration_of_nothing():
    assert calibration([])[1:] == [("all", "0", "expected calibration error", "0.000")]
