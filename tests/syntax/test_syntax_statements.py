from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.syntax.uses import statements_of


def found(source):
    return [(each.first, each.last, {*each.binds}, {*each.reads}) for each in statements_of(source)]


@pytest.mark.parametrize(
    ("source", "binds", "reads"),
    [
        ("A = make(B)", {"A"}, {"make", "B"}),
        ("A, (B, *C) = D", {"A", "B", "C"}, {"D"}),
        ("A: int = make()", {"A"}, {"int", "make"}),
        ("A += B", {"A"}, {"B"}),
        ("A.b = C", {"A"}, {"A", "b", "C"}),
        ("A[0] = C", {"A"}, {"A", "C"}),
        ("A.extend(B)", {"A"}, {"A", "extend", "B"}),
        ("print(A)", set(), {"print", "A"}),
        ("(A := B)", {"A"}, {"B"}),
        ("A = [make(n) for n in B if n]", {"A"}, {"make", "B"}),
        ("A = lambda n, *m: n + m + B", {"A"}, {"B"}),
        ("for name in NAMES:\n    add(name)", {"name"}, {"NAMES", "add", "name"}),
        ("with opened() as A:\n    B = read(A)", {"A", "B"}, {"opened", "read", "A"}),
        ("@mark(A)\ndef f(a=B, *, c=D): return E", {"f"}, {"mark", "A", "B", "D"}),
        ("@mark\nclass C(Base, metaclass=Meta):\n    a = make()\n", {"C"}, {"mark", "Base", "Meta", "make"}),
        ("class C:\n    @mark\n    def f(self, a=A): return B", {"C"}, {"mark", "A"}),
        ("class C:\n    class D(Base):\n        a = A", {"C"}, {"Base", "A"}),
    ],
)
def test_what_a_statement_binds_and_reads(source, binds, reads):
    [(_, _, bound, read)] = found(source)
    assert (bound, read) == (binds, reads)


def test_statements_under_conditions_stand_for_themselves():
    chosen = "if a:\n    A = 1\nelif b:\n    B = 2\nelse:\n    C = 3\n"
    tried = "try:\n    D = 4\nexcept E:\n    F = 5\nfinally:\n    G = 6\n"
    source = chosen + tried
    assert [binds for _, _, binds, _ in found(source)] == [{name} for name in "ABCDFG"]


def test_lines_begin_with_the_decorators():
    assert [(first, last) for first, last, _, _ in found("\n@a\n@b\ndef f():\n    pass\n")] == [(2, 5)]


def test_imports_are_left_out():
    assert found("import a\nfrom b import c\n") == []


@given(
    st.sampled_from(["A = 1", "def f(): pass", "if a:\n    B = 1", "import a", "class C: pass"]),
    st.integers(0, 5),
)
def test_lines_of_statements_do_not_overlap(source, times):
    ranges = [(first, last) for first, last, _, _ in found("\n".join([source] * times))]
    assert all(before[1] < after[0] for before, after in pairwise(ranges))


@pytest.mark.parametrize("text", ["def f(:", "\0", "(" * 500])
def test_what_is_no_python_has_none(text):
    assert statements_of(text) == []
