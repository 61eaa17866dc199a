import ast
from pathlib import Path

import pytest
from cases import CHEATS, HONEST, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from loop_close import testcode
from loop_close.testcode import TestChange, compare_tests, fingerprint
from loop_close.testcode.matching import Work

TESTS = Path(__file__).parent.parent
SAMPLE = sorted(path for path in TESTS.glob("*/test_*.py") if path.stat().st_size < 12_000)[::40]
PATHS = st.sampled_from(
    ["test_a.py", "conftest.py", "pytest.ini", "pyproject.toml", "tests/helpers.py", "setup.cfg"]
)
PIECES = st.sampled_from(
    [line for case in (*CHEATS, *HONEST) for line in "".join(texts(case.after).values()).splitlines()]
)
SOURCES = st.one_of(
    st.text(max_size=200),
    st.lists(PIECES, max_size=12).map("\n".join),
    st.sampled_from(["".join(texts(case.after).values()) for case in (*CHEATS, *HONEST)]),
)
SUITES = st.dictionaries(PATHS, SOURCES, max_size=3)


@settings(max_examples=40, deadline=None)
@given(SUITES, SUITES)
def test_any_text_is_compared(before, after):
    found = compare_tests(before, after, before, after)
    assert found == compare_tests(dict(reversed(before.items())), after, before, after)
    assert len({(change, fingerprint(change)) for change in found}) == len(found)


@settings(max_examples=20, deadline=None)
@given(SUITES)
def test_the_same_texts_differ_in_nothing(suite):
    assert compare_tests(suite, dict(suite)) == ()


class Renamed(ast.NodeTransformer):
    """Every local of a function gets another name."""

    def visit_FunctionDef(self, node):
        kept = {
            n
            for inner in ast.walk(node)
            if isinstance(inner, (ast.Global, ast.Nonlocal))
            for n in inner.names
        }
        kept |= {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        stored = {
            n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        } - kept
        nested = any(
            isinstance(n, (ast.FunctionDef, ast.Lambda, ast.ClassDef))
            for n in ast.walk(node)
            if n is not node
        )
        for inner in ast.walk(node) if not nested else ():
            if isinstance(inner, ast.Name) and inner.id in stored:
                inner.id += "_of_ours"
        return node


def rewritten(text, transformer=None):
    tree = ast.parse(text)
    return ast.unparse(transformer.visit(tree) if transformer else tree)


@pytest.mark.large
@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.stem)
def test_mechanical_edits_of_real_tests_are_not_accused(path):
    name, text = path.relative_to(TESTS.parent).as_posix(), path.read_text(encoding="utf-8")
    for after in (rewritten(text), rewritten(text, Renamed()), f'"""Of {name}."""\n{text}'):
        assert compare_tests({name: text}, {name: after}) == ()


@pytest.mark.large
def test_a_moved_file_is_not_accused():
    for path in SAMPLE[:5]:
        text = path.read_text(encoding="utf-8")
        assert compare_tests({f"tests/{path.name}": text}, {f"checks/{path.name}": text}) == ()


def test_a_large_suite_is_compared_by_its_changed_files(monkeypatch):
    parsed = []
    monkeypatch.setattr(
        "loop_close.testcode.suite.parse", lambda text: parsed.append(text) or ast.parse(text)
    )
    tests = "".join(f"def test_{n}():\n    assert total(FILE, {n}) == {n}\n" for n in range(4))
    before = {f"tests/test_{n}.py": tests.replace("FILE", str(n)) for n in range(500)}
    after = before | {
        f"tests/test_{n}.py": before[f"tests/test_{n}.py"].replace("== 3", "== 4") for n in range(10)
    }
    found = compare_tests(before, after)
    assert [change.what for change in found] == [
        f"expects 4 where it expected 3: `total({n}, 3)`" for n in range(10)
    ]
    assert len(parsed) <= 50


def _all_in(suite, old, new):
    return {path: text.replace(old, new) for path, text in suite.items()}


def _suite(files, body):
    head = "import shop\n\n\n"
    return {
        f"test_{i}.py": head + "".join(f"def test_{j}():\n{body.format(i=i, j=j)}\n\n" for j in range(20))
        for i in range(files)
    }


ONE_CALL = "    x = shop.f({i}, {j})\n    assert x.a == {j}\n    assert x.b == {i}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("x.a ==", "x.c ==", set()),  # renamed everywhere
        ("def test_", "def test_x", set()),
        ("x.a == ", "x.a == 1 + ", {"weakened"}),
        ("f(", "f(1 + ", {"unclear"}),
        ("assert x.a", "print(x.a)  #", {"weakened"}),
    ],
)
def test_the_work_grows_with_the_size_of_the_change(old, new, kinds, monkeypatch):
    taken = []
    spend = Work.spend
    monkeypatch.setattr(Work, "spend", lambda self, steps=1: taken.append(steps) or spend(self, steps))

    def steps(files):
        taken.clear()
        before = _suite(files, ONE_CALL)
        found = compare_tests(before, _all_in(before, old, new))
        assert {change.kind for change in found} == kinds
        return sum(taken)

    assert steps(16) < 5 * steps(4)


def test_what_is_too_much_is_not_compared_and_said(monkeypatch):
    monkeypatch.setattr(testcode, "_MAX_WORK", 5_000)
    before = _suite(4, ONE_CALL)
    found = compare_tests(before, _all_in(before, "== ", "== 1 + "))
    assert {change.kind for change in found} == {"weakened", "not-compared"}
    (left,) = [change for change in found if change.kind == "not-compared"]
    assert left.blocks
    assert left.what.startswith("too much changed at once for it to be compared (so in ")
    assert compare_tests(before, before | {"test_0.py": before["test_0.py"] + "# end\n"}) == ()


def test_a_change_has_an_id_and_a_fingerprint():
    change = TestChange(
        "tests/test_a.py", "TestA.test_b", "weakened", "asserts nothing any more", "assert x", "pass"
    )
    assert (change.id, change.blocks) == ("tests/test_a.py::TestA::test_b", True)
    assert fingerprint(change) == fingerprint(
        TestChange(*[getattr(change, f) for f in change.__dataclass_fields__])
    )
    assert (
        len(
            {fingerprint(change), fingerprint(TestChange("tests/test_a.py", "TestA.test_b", "weakened", "x"))}
        )
        == 2
    )
    assert (TestChange("pyproject.toml", "", "hint", "x").id, TestChange("a.py", "", "hint", "x").blocks) == (
        "pyproject.toml",
        False,
    )


@pytest.mark.parametrize(
    "deep", ["x = " + "+".join(["1"] * 5000), "x = " + "(" * 90 + ")" * 90, "-" * 3000 + "1"]
)
def test_what_is_nested_deeply_is_compared(deep):
    test = "def test_a():\n    assert total(1) == 1\n"
    assert compare_tests({"test_a.py": test + deep}, {"test_a.py": test + deep}) == ()
    assert compare_tests({"test_a.py": test + deep}, {"test_a.py": deep})
