import textwrap
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.edits import (
    MAX_DIFFS,
    MAX_EDITS,
    MAX_LINES,
    between,
    diff_of,
)

KEY = "ghp_" + "a1B2" * 9

BASE = """
import os

def one(a):
    return a + 1

class Cart:
    size = 3

    def total(self):
        return self.size
"""
TEST = """
def test_one():
    x = one(1)
    y = one(2)
    assert x == 2
    assert y == 3

def test_two():
    with pytest.raises(ValueError):
        one("a" * 3 + str(5))
"""


def sides(*projects):
    """Two trees and the content of a digest, for projects given as path -> text."""
    contents = {}

    def listing(files):
        digests = {path: str(hash(text)) for path, text in files.items()}
        for path, text in files.items():
            contents[digests[path]] = textwrap.dedent(text).lstrip("\n").encode()
        return digests

    return (*map(listing, projects), contents.get)


def compared(before, after):
    """Edits between two projects, given as path -> text."""
    return between(*sides(before, after))


def of_file(before, after, path="a.py"):
    return compared({path: before}, {path: after})


def shown(edits):
    return [(e.file, e.function, e.change, e.is_effective) for e in edits.edits]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (BASE.replace("a + 1", "a + 2"), [("one", "edited", True)]),
        (BASE.replace("size = 3", "size = 4"), [("Cart", "edited", True)]),
        (BASE.replace("import os", "import re"), [("<module>", "edited", True)]),
        (BASE + "\ndef more():\n    return 2\n", [("more", "added", True)]),
        (BASE[: BASE.index("\n    def")], [("Cart.total", "removed", True)]),
        (BASE.replace("def one(a)", "def one(b)").replace("a + 1", "b + 1"), [("one", "edited", True)]),
        (BASE.replace("a + 1", "a + 1  # why"), [("one", "edited", False)]),
        (BASE.replace("(self):\n", '(self):\n        """All."""\n'), [("Cart.total", "edited", False)]),
        ("# A header.\n" + BASE, [("<module>", "edited", False)]),
        (BASE.replace("\n    def", "\n\n    def"), [("Cart", "edited", False)]),
        (BASE.lstrip().replace("\n", "\r\n"), [("", "edited", False)]),
        (BASE.replace("a + 1", "a + 1  # type: ignore"), [("one", "edited", True)]),
        (BASE.replace("a + 1", "a + 1  # pragma: no cover"), [("one", "edited", True)]),
        (BASE.replace("return a + 1", "return a +"), [("", "edited", True)]),
        (
            "# A header.\n" + BASE.replace("self.size", "0"),
            [("Cart.total", "edited", True), ("<module>", "edited", False)],
        ),
    ],
)
def test_edits_of_one_module(after, expected):
    edits = of_file(BASE, after)
    assert [(e.function, e.change, e.is_effective) for e in edits.edits] == expected
    assert edits.kind == ("effective" if expected[0][2] else "ineffective")


@pytest.mark.parametrize(
    ("path", "is_effective"),
    [
        ("README.md", False),
        ("tests/data/a.md", True),
        ("test_doc.rst", True),
        ("pyproject.toml", True),
    ],
)
@pytest.mark.parametrize(("before", "after"), [("a\n", "b\n"), (None, "b\n"), ("a\n", None)])
def test_prose_is_no_effective_edit(path, is_effective, before, after):
    edits = compared({path: before} if before else {}, {path: after} if after else {})
    change = "added" if before is None else "removed" if after is None else "edited"
    assert shown(edits) == [(path, "", change, is_effective)]


def test_new_module_is_shown_by_its_functions():
    assert shown(compared({}, {"a.py": BASE})) == [
        ("a.py", "<module>", "added", True),
        ("a.py", "one", "added", True),
        ("a.py", "Cart", "added", True),
        ("a.py", "Cart.total", "added", True),
    ]
    assert {change for _, _, change, _ in shown(compared({"a.py": BASE}, {}))} == {"removed"}


def test_content_that_was_not_kept_makes_a_file_one_edit_without_a_diff():
    (edit,) = between({"a.py": "gone"}, {"a.py": "kept"}, {"kept": b"def f(): pass\n"}.get).edits
    assert (edit.function, edit.change, edit.is_effective, edit.diff) == ("", "edited", True, "")


def test_diff_is_that_of_the_function():
    (edit,) = of_file(BASE, BASE.replace("a + 1", "a + 2")).edits
    assert edit.diff == " def one(a):\n-    return a + 1\n+    return a + 2"
    assert [e.diff for e in of_file(BASE, BASE.replace("a + 1", "a + 1  # why")).edits] == [""]


def test_small_text_file_is_one_edit_with_its_diff():
    (edit,) = compared({"x.toml": "a = 1\nb = 2\n"}, {"x.toml": "a = 1\nb = 3\n"}).edits
    assert (edit.function, edit.diff) == ("", " a = 1\n-b = 2\n+b = 3")
    (edit,) = compared({"x.json": "1"}, {"x.json": f'{{"token": "{KEY}"}}'}).edits
    assert KEY not in edit.diff


def test_file_that_became_a_program_is_an_effective_edit():
    content = {"1": b"x = 1\n", "1+x": b"x = 1\n"}.get
    (edit,) = between({"run.py": "1"}, {"run.py": "1+x"}, content).edits
    assert (edit.function, edit.change, edit.is_effective, edit.diff) == ("", "edited", True, "")


def test_code_under_test_comes_first_then_other_files_then_tests():
    before = {
        "a/test_x.py": "def test(): x\n",
        "data.json": "1",
        "src/z.py": "def f(): return 1\n",
        "src/y.py": "x = 1\n",
    }
    after = {path: text.replace("1", "2").replace("x\n", "y\n") for path, text in before.items()}
    after["src/y.py"] = "x = 1  # one\n"
    assert [edit.file for edit in compared(before, after).edits] == [
        *("src/z.py", "data.json", "a/test_x.py"),
        "src/y.py",
    ]


def test_edits_are_bounded_and_the_important_ones_are_kept():
    before = {
        **{f"src/m{n:02}.py": "def f():\n    return 1\n" for n in range(60)},
        "tests/test_a.py": TEST,
        "README.md": "a",
    }
    after = {
        **{f"src/m{n:02}.py": f"def f():\n    return {n + 2}\n" for n in range(60)},
        "tests/test_a.py": TEST[: TEST.index("def test_two")],
        "README.md": "b",
    }
    edits = compared(before, after)
    assert (len(edits.edits), edits.omitted) == (MAX_EDITS, 21)
    assert {e.file[:4] for e in edits.edits} == {"src/"}
    assert [bool(e.diff) for e in edits.edits].count(True) == MAX_DIFFS


def test_warnings_of_the_parser_are_kept_from_the_user():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        edits = of_file("def f(): return '\\d'\n", "def f(): return '\\d' is 1\n")
    assert shown(edits) == [("a.py", "f", "edited", True)]


SNIPPETS = [
    "def f(): return 1\n",
    "def f(): return 2\n",
    "# c\n",
    "x = 1\n",
    "class A:\n    def g(self): x\n",
    "(",
]
PROJECTS = st.dictionaries(
    st.sampled_from(["a.py", "b.py", "test_c.py", "d.md", "e.txt"]),
    st.lists(st.sampled_from(SNIPPETS), max_size=4).map("".join),
)


@given(PROJECTS, PROJECTS)
def test_projects_are_compared(before, after):
    edits = compared(before, after)
    assert (edits.kind == "none") == (before == after) == (not edits.edits)
    assert (edits.kind == "effective") == any(e.is_effective for e in edits.edits)
    differ = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert {e.file for e in edits.edits} == differ


# --- diffs, and the text that they are made of


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a b c", "a x c", [" a", "-b", "+x", " c"]),
        ("a", "a b", [" a", "+b"]),
        ("a b", "b", ["-a", " b"]),
        ("", "a b", ["+a", "+b"]),
        ("a b c d e f g", "x b c d e f y", ["-a", "+x", " b", " f", "-g", "+y"]),
        ("", "", []),
    ],
)
def test_diff_has_one_line_around_and_no_headers(before, after, expected):
    assert diff_of(before.split(), after.split()).splitlines() == expected


def test_long_diff_is_cut_and_says_by_how_much():
    lines = diff_of([], [f"line {n}" for n in range(16)]).splitlines()
    assert (len(lines), lines[0], lines[-1]) == (MAX_LINES, "+line 0", "… 5 more lines")


def test_credentials_and_control_characters_are_taken_out():
    text = diff_of(["a = 1"], [f"a = '{KEY}'", "b = '\x1b[31mred\u202e'"])
    assert text.splitlines() == ["-a = 1", "+a = '<redacted 1>'", "+b = 'red'"]


def test_private_key_is_redacted_before_the_lines_are_taken_apart():
    key = ["-----BEGIN PRIVATE KEY-----", *["QUJD" * 16] * 5, "-----END PRIVATE KEY-----"]
    changed = [*key[:3], "Q0JB" * 16, *key[4:]]
    for before, after in ((key, changed), (key, []), ([], key), (["x"], key)):
        assert "QUJD" not in diff_of(before, after)
        assert "Q0JB" not in diff_of(before, after)


def test_command_for_a_ci_log_is_defused():
    assert " ::error" not in diff_of(["::error::x", "a"], ["::error::x", "b"])


@pytest.mark.timeout(20)
def test_long_and_unlike_sources_take_no_time():
    before = [f"x = {n % 300}" for n in range(20_000)]
    after = [f"x = {n * 7 % 301}" for n in range(20_000)]
    text = diff_of(before, after)
    assert text.splitlines()[0] == "-x = 1"
    assert len(text.splitlines()) == MAX_LINES


@given(*[st.lists(st.text(max_size=300), max_size=40)] * 2)
def test_diff_is_bounded(before, after):
    text = diff_of(before, after)
    assert len(text.split("\n")) <= MAX_LINES
    assert all(len(line) <= 120 for line in text.split("\n"))


@given(st.binary(), st.binary())
def test_any_bytes_are_compared(before, after):
    edits = between({"a.py": "1"}, {"a.py": "2"}, {"1": before, "2": after}.get)
    assert {edit.file for edit in edits.edits} == {"a.py"}


def test_module_that_is_not_utf_8_is_one_effective_edit():
    contents = {"1": b"# coding: latin-1\nx = '\xe4'\n", "2": b"# coding: latin-1\nx = '\xe5'\n"}.get
    (edit,) = between({"a.py": "1"}, {"a.py": "2"}, contents).edits
    assert (edit.function, edit.is_effective) == ("", True)
    assert edit.diff.isprintable() or "\n" in edit.diff
