import textwrap
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.memory import Edits
from loop_close.workspace import FileEntry
from loop_close.workspace.edits import MAX_DIFFS, MAX_EDITS, Changed, changed, edited_functions, edits_of

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


def compared(before, after):
    """Edits between two projects, given as path -> text."""
    contents = {}

    def entries(files):
        for text in files.values():
            contents[str(hash(text))] = textwrap.dedent(text).lstrip("\n").encode()
        return {
            path: FileEntry(size=len(text), mtime_ns=1, digest=str(hash(text)))
            for path, text in files.items()
        }

    return edits_of(changed(entries(before), entries(after)), contents.get)


def of_file(before, after, path="a.py"):
    return compared({path: before}, {path: after})


def told(edits):
    return [(e.file, e.function, e.change, e.is_effective) for e in edits.edits]


def test_time_alone_is_no_change():
    before = {"a": FileEntry(size=1, mtime_ns=1, digest="x")}
    assert changed(before, {"a": FileEntry(size=1, mtime_ns=2, digest="x")}) == ()


def test_changes_are_sorted_by_path():
    def entries(**digests):
        return {name: FileEntry(size=1, mtime_ns=1, digest=digest) for name, digest in digests.items()}

    assert changed(entries(c="1", a="1", b="1"), entries(b="2", d="1", c="1")) == (
        Changed(path="a", before="1", after=None),
        Changed(path="b", before="1", after="2"),
        Changed(path="d", before=None, after="1"),
    )


def test_nothing_changed_is_no_edit():
    assert edits_of((), dict[str, bytes]().get) == Edits(kind="none")


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (BASE.replace("a + 1", "a + 2"), [("one", "edited", True)]),
        (BASE.replace("size = 3", "size = 4"), [("Cart", "edited", True)]),
        (BASE.replace("import os", "import re"), [("<module>", "edited", True)]),
        (BASE.replace("import os", ""), [("<module>", "edited", True)]),
        (BASE.replace("return self.size", "return 1"), [("Cart.total", "edited", True)]),
        (BASE + "\n    def more(self):\n        return 2\n", [("Cart.more", "added", True)]),
        (BASE + "\ndef more():\n    return 2\n", [("more", "added", True)]),
        (BASE[: BASE.index("\n    def")], [("Cart.total", "removed", True)]),
        (BASE.replace("def one(a)", "def one(b)").replace("a + 1", "b + 1"), [("one", "edited", True)]),
        (BASE.replace("a + 1", "a + 1  # why"), [("one", "edited", False)]),
        (BASE.replace("(self):\n", '(self):\n        """All."""\n'), [("Cart.total", "edited", False)]),
        ("# A header.\n" + BASE, [("<module>", "edited", False)]),
        (BASE.replace("\n\n", "\n\n\n\n"), [("", "edited", False)]),
        (BASE.replace("\n", "\r\n"), [("", "edited", False)]),
        (BASE.replace("a + 1", "a +  1"), [("one", "edited", False)]),
        (BASE.replace("a + 1", "a + 1  # type: ignore"), [("one", "edited", True)]),
        (BASE.replace("a + 1", "a + 1  # pragma: no cover"), [("one", "edited", True)]),
        (BASE.replace("return a + 1", "return a +"), [("", "edited", True)]),
        (
            BASE.replace("a + 1", "a").replace("self.size", "0"),
            [("one", "edited", True), ("Cart.total", "edited", True)],
        ),
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


def test_order_of_definitions_is_an_edit_of_their_owner():
    edits = of_file("def a(): x\ndef b(): y\n", "def b(): y\ndef a(): x\n")
    assert told(edits) == [("a.py", "<module>", "edited", True)]


@pytest.mark.parametrize(
    ("path", "is_effective"),
    [
        ("README.md", False),
        ("docs/a.rst", False),
        ("tests/data/a.md", True),
        ("test_doc.rst", True),
        ("pyproject.toml", True),
        ("data", True),
        ("requirements.txt", True),
    ],
)
@pytest.mark.parametrize(("before", "after"), [("a\n", "b\n"), (None, "b\n"), ("a\n", None)])
def test_prose_is_no_effective_edit(path, is_effective, before, after):
    edits = compared({path: before} if before else {}, {path: after} if after else {})
    change = "added" if before is None else "removed" if after is None else "edited"
    assert told(edits) == [(path, "", change, is_effective)]


def test_new_module_is_told_by_its_functions():
    assert told(compared({}, {"a.py": BASE})) == [
        ("a.py", "<module>", "added", True),
        ("a.py", "one", "added", True),
        ("a.py", "Cart", "added", True),
        ("a.py", "Cart.total", "added", True),
    ]
    assert {change for _, _, change, _ in told(compared({"a.py": BASE}, {}))} == {"removed"}


@pytest.mark.parametrize("text", ["", "# words\n", '"""Words."""\n', "def f(:\n"])
def test_new_module_without_functions_is_one_edit(text):
    assert told(compared({}, {"pkg/__init__.py": text})) == [("pkg/__init__.py", "", "added", True)]


def test_content_that_was_not_kept_makes_a_file_one_edit_without_a_diff():
    change = [Changed(path="a.py", before="gone", after="kept")]
    (edit,) = edits_of(change, {"kept": b"def f(): pass\n"}.get).edits
    assert (edit.function, edit.change, edit.is_effective, edit.diff) == ("", "edited", True, "")


def test_diff_is_that_of_the_function():
    (edit,) = of_file(BASE, BASE.replace("a + 1", "a + 2")).edits
    assert edit.diff == " def one(a):\n-    return a + 1\n+    return a + 2"
    assert [e.diff for e in of_file(BASE, BASE.replace("a + 1", "a + 1  # why")).edits] == [""]


@pytest.mark.parametrize("path", ["x.toml", "x.md", "data", "x.pyw", "x.py.txt", ".env.py", "secrets.json"])
@pytest.mark.parametrize(("before", "after"), [("a = 1\n", "a = 2\n"), (None, "a = 2\n"), ("a = 1\n", None)])
def test_file_that_is_no_python_has_no_diff(path, before, after):
    edits = compared({path: before} if before else {}, {path: after} if after else {})
    assert [(e.file, e.function, e.diff) for e in edits.edits] == [(path, "", "")]


def test_diff_of_python_that_cannot_be_read():
    (edit,) = of_file("def f():\n    x\n", "def f(:\n    x\n").edits
    assert edit.diff == "-def f():\n+def f(:\n     x"


def moves(edits):
    assert {e.change for e in edits.edits} == {"moved"}
    assert {e.diff for e in edits.edits} == {""}
    return [(e.file, e.function, *e.moved_to) for e in edits.edits]


def test_renamed_test_file_is_moved_function_by_function():
    edits = compared({"test_a.py": TEST}, {"tests/test_b.py": "# moved\n" + TEST})
    assert moves(edits) == [
        ("test_a.py", "test_one", "tests/test_b.py", "test_one"),
        ("test_a.py", "test_two", "tests/test_b.py", "test_two"),
    ]


def test_renamed_function_is_moved_within_its_file():
    assert moves(of_file(TEST, TEST.replace("test_one", "check_one"), "test_a.py")) == [
        ("test_a.py", "test_one", "test_a.py", "check_one")
    ]


def test_renamed_class_takes_its_methods_along():
    assert moves(of_file(BASE, BASE.replace("Cart", "Basket"))) == [
        ("a.py", "Cart", "a.py", "Basket"),
        ("a.py", "Cart.total", "a.py", "Basket.total"),
    ]


def test_same_name_is_preferred_and_the_same_file_name_before_others():
    edits = compared({"a/x.py": TEST, "a/y.py": TEST}, {"b/x.py": TEST, "b/y.py": TEST})
    assert {(e.file[2:], e.function) for e in edits.edits} == {
        (e.moved_to[0][2:], e.moved_to[1]) for e in edits.edits
    }
    assert all(e.file[2:] == e.moved_to[0][2:] for e in edits.edits)


def test_ambiguous_functions_are_not_matched():
    one = "def {}():\n    return compute(1, 2, 3)[0].value + 7\n"
    edits = of_file(one.format("a"), one.format("b") + one.format("c"))
    assert told(edits) == [
        ("a.py", "a", "removed", True),
        ("a.py", "b", "added", True),
        ("a.py", "c", "added", True),
    ]


@pytest.mark.parametrize("body", ["pass", "return None", "return self.x", "raise NotImplementedError"])
def test_tiny_functions_are_matched_by_name_only(body):
    one = f"def f(self):\n    {body}\n"
    edits = of_file(one, one.replace("f(", "g("))
    assert [e.change for e in edits.edits] == ["removed", "added"]
    assert moves(compared({"a.py": one}, {"b.py": one})) == [("a.py", "f", "b.py", "f")]


def test_renamed_data_is_moved():
    assert moves(compared({"a.json": "{}\n"}, {"b/a.json": "{}\n"})) == [("a.json", "", "b/a.json", "")]
    assert moves(compared({"a.json": "{}\n"}, {"b.txt": "{}\n"})) == [("a.json", "", "b.txt", "")]
    assert compared({"a.md": "x"}, {"b.md": "x"}).kind == "ineffective"
    for before, after in (("a.md", "a.txt"), ("a.txt", "a.md")):
        assert compared({before: "x"}, {after: "x"}).kind == "effective"


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
    assert (len(edits.edits), edits.omitted) == (MAX_EDITS, 22)
    assert edits.edits[-1].file == "tests/test_a.py"
    assert edits.edits[-1].diff
    assert [bool(e.diff) for e in edits.edits].count(True) == MAX_DIFFS
    assert [e.file for e in edits.edits] == sorted(e.file for e in edits.edits)


def test_warnings_of_the_parser_are_kept_from_the_user():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        edits = of_file("def f(): return '\\d'\n", "def f(): return '\\d' is 1\n")
    assert told(edits) == [("a.py", "f", "edited", True)]


@pytest.mark.slow
@pytest.mark.timeout(30)
def test_large_module_stays_quick():
    lines = [f"x{n} = 'token {n % 50}'\n" for n in range(20_000)]
    edits = of_file("".join(lines), "".join(line.replace("1", "2") for line in lines))
    assert told(edits) == [("a.py", "<module>", "edited", True)]
    assert len(edits.edits[0].diff.splitlines()) <= 12


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_many_changed_modules_stay_quick():
    text = "def f{}():\n" + "    x = [1, 2, 3]\n" * 2000
    before = {f"m{n:03}.py": text.format(n) for n in range(200)}
    edits = compared(before, {path: text.replace("3]", "4]") for path, text in before.items()})
    assert len(edits.edits) + edits.omitted == 200
    assert {e.function for e in edits.edits} >= {"f0", ""}


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
def test_projects_are_told_apart(before, after):
    edits = compared(before, after)
    assert (edits.kind == "none") == (before == after) == (not edits.edits)
    assert (edits.kind == "effective") == any(e.is_effective for e in edits.edits)
    named = {e.file for e in edits.edits} | {e.moved_to[0] for e in edits.edits}
    assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} == named - {
        ""
    }


def functions(before, after, path="a.py"):
    """Names of the functions that were edited between two versions of a file; None where that is not known."""
    contents = {text: textwrap.dedent(text).encode() for text in (before, after) if text is not None}
    found = edited_functions([Changed(path=path, before=before, after=after)], contents.get)
    return found and {name for _, name in found}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(): return 1\n", "def f(): return 1  # a remark\n"),
        ("def f():\n    return 1\n", 'def f():\n    "What it does."\n    return 1\n'),
        ("def f(): return 1\n", "\n\ndef f(): return 1\n"),
        ("def f(): return 1\nx = 1\n", "def f(): return 1\nx = 2\n"),
        ("class A:\n    x = 1\n", "class A:\n    x = 2\n"),
        ("def f(): return 1\nx = 1\n", "x = 1\n"),
        ("x = 1\n", "x = 1\nclass A:\n    def f(self): ...\n"),
        ("x = 1\n", "x = 1\nclass A:\n    def f(self):\n        ...\n"),
        ("x = 1\n", "x = 1\nclass A:\n    @abstractmethod\n    def f(self):\n        raise E\n"),
    ],
    ids=["comment", "docstring", "moved", "module", "class", "removed", "stub", "body", "abstract"],
)
def test_no_function_was_edited(before, after):
    assert functions(before, after) == set()


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("def f(): return 1\n", "def f(): return 2\n", {"f"}),
        (None, "x = 1\ndef f(): return 1\nasync def g(): return 1\n", {"f", "g"}),
        ("class A:\n    def f(self): return 1\n", "class A:\n    def f(self): return 2\n", {"A.f"}),
        (
            "def f():\n    def g(): return 1\n    return g\n",
            "def f():\n    def g(): return 2\n    return g\n",
            {"f.<locals>.g"},
        ),
        ("def f(): return sum([1, 2, 3])\n", "def g(): return sum([1, 2, 3])\n", {"g"}),
        ("f = 1\n", "def f(): return lambda: 2\n", {"f"}),
    ],
    ids=["edited", "new file", "method", "inner", "renamed", "lambda"],
)
def test_functions_that_were_edited(before, after, found):
    assert functions(before, after) == found


@pytest.mark.parametrize(("before", "after"), [("x = 1\n", "def f(:\n"), ("not kept", "def f(): return 1\n")])
def test_functions_of_a_file_that_cannot_be_compared(before, after):
    contents = {after: after.encode(), "x = 1\n": b"x = 1\n"}
    assert edited_functions([Changed(path="a.py", before=before, after=after)], contents.get) is None
