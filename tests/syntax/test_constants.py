import textwrap

import pytest

from loop_close.calls import Called, Calls
from loop_close.syntax import index_source
from loop_close.syntax.constants import class_of, constants_of


def found(texts, function, file="pkg/a.py", *more):
    """What a function of a file loads, by name, where a failing test ran all of its lines, and what else it ran."""
    texts = {path: textwrap.dedent(text) for path, text in texts.items()}
    functions, hits = [], []
    for path, name in ((file, function), *more):
        nodes = index_source(texts[path]).functions
        (node,) = [each for each in nodes.values() if each.name == name.rpartition(".")[2]]
        hits += [(len(functions), line) for line in range(node.lineno + 1, node.end_lineno + 1)]
        functions.append(Called(path, node.lineno, name, node.end_lineno))
    calls = Calls(
        functions=tuple(functions), failed={"test_a.py::test": tuple(hits)}, modules=frozenset(texts)
    )
    return constants_of(calls, lambda path: index_source(texts[path]))


def names(constants):
    return [(each.file, each.owner, each.name, each.line, each.end_line) for each in constants]


@pytest.mark.parametrize(
    "statement",
    ["RATES = {'de': 19}", "RATES: dict = {'de': 19}", "OTHER = RATES = {}", "if 1:\n    RATES = {}"],
)
def test_a_global_name(statement):
    text = f"{statement}\n\ndef rate(country):\n    return RATES[country]\n"
    (one,) = found({"pkg/a.py": text}, "rate")
    line = text[: text.index("RATES")].count("\n") + 1
    assert (one.file, one.owner, one.line) == ("pkg/a.py", "", line)
    assert one.loads == (("pkg/a.py", line + 3),)


def test_every_statement_that_changes_it():
    text = "RATES = {}\nRATES['de'] = 19\nRATES.update(fr=20)\nRATES |= {}\nother()\n\ndef f():\n    return RATES\n"
    assert [each.line for each in found({"pkg/a.py": text}, "f")] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "body",
    [
        "RATES = 3\n    return RATES",
        "return [RATES for RATES in ()]",
        "return other.RATES",
        "return g(), C()",
        "return RATES_OF",
    ],
)
def test_other_names_are_not_taken_for_it(body):
    assert (
        found({"pkg/a.py": f"def g(): ...\nclass C: ...\nRATES = {{}}\n\ndef f(other):\n    {body}\n"}, "f")
        == ()
    )


@pytest.mark.slow
def test_of_a_registry_that_thousands_of_statements_fill_some_are_looked_at():
    entries = [f"RATES[{number}] = RATES.get({number - 1})" for number in range(600)]
    text = "\n".join(["RATES = {}", *entries, "def f():", *["    RATES"] * 300])
    lines = [each.line for each in found({"pkg/a.py": text}, "f")]
    assert lines == [*range(1, 51)]


@pytest.mark.large
def test_a_name_of_a_thousand_parts():
    text = f"RATES = b{'.a' * 1_200}\n\ndef f():\n    return RATES\n"
    assert [each.name for each in found({"pkg/a.py": text}, "f")] == ["RATES"]


def test_lines_that_did_not_run():
    text = "A = 1\nB = 2\n\ndef f(x):\n    if x:\n        return A\n    return B\n"
    calls = Calls(functions=(Called("a.py", 4, "f", 7),), failed={"t": ((0, 5), (0, 7))})
    assert [each.name for each in constants_of(calls, lambda _: index_source(text))] == ["B"]


@pytest.mark.parametrize(
    ("imports", "use", "line"),
    [
        ("from pkg.b import RATES", "RATES", 1),
        ("from .b import RATES as R", "R", 1),
        ("from pkg import b", "b.RATES", 1),
        ("from . import b", "b.RATES", 1),
        ("import pkg.b as c", "c.RATES", 1),
        ("from .b import Table", "Table.RATES", 3),
    ],
)
def test_imported(imports, use, line):
    texts = {
        "src/pkg/__init__.py": "",
        "src/pkg/a.py": f"{imports}\n\ndef f():\n    return {use}\n",
        "src/pkg/b.py": "RATES = 1\nclass Table:\n    RATES = 2\n",
    }
    (one,) = found(texts, "f", "src/pkg/a.py")
    assert (one.file, one.line, one.owner) == ("src/pkg/b.py", line, "" if line == 1 else "Table")


def test_imports_in_a_circle():
    texts = {"pkg/a.py": "from .b import X\ndef f():\n    return X\n", "pkg/b.py": "from .a import X\n"}
    assert found(texts, "f") == ()


def test_bases_in_a_circle():
    texts = {
        "pkg/a.py": "from .b import B\nclass A(B):\n    def f(self):\n        return self.X\n",
        "pkg/b.py": "from .a import A\nclass B(A):\n    X = 1\n",
    }
    indexes = {path: index_source(text) for path, text in texts.items()}
    calls = Calls(
        functions=(Called("pkg/a.py", 3, "A.f", 4),), failed={"t": ((0, 4),)}, modules=frozenset(texts)
    )
    assert names(constants_of(calls, indexes.get)) == [("pkg/b.py", "B", "X", 3, 3)]


def test_a_constant_is_made_of_others():
    text = "A = 'a'\nB = A + 'b'\nC = compile(B)\nD = 1\n\ndef f():\n    return C\n"
    constants = found({"pkg/a.py": text}, "f")
    assert [each.name for each in constants] == ["A", "B", "C"]
    assert {each.loads for each in constants} == {(("pkg/a.py", 7),)}


SHAPES = {
    "pkg/a.py": """
        class Base:
            LIMIT = 1
            def check(self):
                return self.LIMIT
        """,
    "pkg/b.py": """
        from .a import Base
        class Round(Base):
            LIMIT = 2
            def size(self):
                return 3
        """,
}


def test_an_attribute_of_the_object_and_of_one_of_a_subclass():
    assert names(found(SHAPES, "Base.check")) == [("pkg/a.py", "Base", "LIMIT", 3, 3)]
    constants = found(SHAPES, "Base.check", "pkg/a.py", ("pkg/b.py", "Round.size"))
    assert names(constants) == [("pkg/a.py", "Base", "LIMIT", 3, 3), ("pkg/b.py", "Round", "LIMIT", 4, 4)]


def test_a_file_that_cannot_be_parsed():
    calls = Calls(functions=(Called("a.py", 1, "f", 2),), failed={"t": ((0, 2),)})
    assert constants_of(calls, lambda _: None) == ()


def test_the_class_of_a_function():
    assert class_of("f") == class_of("f.<locals>.C.g") == ""
    assert class_of("A.B.f.<locals>.g") == "A.B"


def test_functions_that_set_failing_tests_apart_are_searched():
    text = "A = 1\n" + "".join(f"def f{n}():\n    A\n" for n in range(99)) + "def odd():\n    A\n"
    common = [Called("a.py", 2 + 2 * n, f"f{n}", passed=9, lines={3 + 2 * n: 9}) for n in range(99)]
    odd = Called("a.py", 200, "odd", passed=9, lines={200: 9})
    ran = (*((n, 3 + 2 * n) for n in range(99)), (99, 201))
    (one,) = constants_of(
        Calls(passed=9, functions=(*common, odd), failed={"t": ran}), lambda _: index_source(text)
    )
    assert ("a.py", 201) in one.loads
    assert len(one.loads) < 50
