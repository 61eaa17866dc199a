import textwrap

import pytest

from loop_close.calls import Called, Calls
from loop_close.syntax import index_source
from loop_close.syntax.constants import class_of, constants_of, unusual_functions


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
    assert one.classes == ()


def test_every_statement_that_changes_it():
    text = "RATES = {}\nRATES['de'] = 19\nRATES.update(fr=20)\nRATES |= {}\nother()\n\ndef f():\n    return RATES\n"
    assert [each.line for each in found({"pkg/a.py": text}, "f")] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "body",
    [
        "RATES = 3\n    return RATES",
        "return [RATES for RATES in ()]",
        "return print()",
        "return RATES_OF",
        "return other.RATES",
        "from other import RATES\n    return RATES",
        "import RATES.de\n    return RATES",
        "def RATES(): ...\n    return RATES()",
        "class RATES: ...\n    return RATES()",
        "try: other()\n    except OSError as RATES: return RATES",
        "match other:\n        case [RATES, *_]: return RATES",
        "match other:\n        case [*RATES]: return RATES",
        "match other:\n        case {**RATES}: return RATES",
    ],
)
def test_other_names_are_not_taken_for_it(body):
    assert found({"pkg/a.py": f"RATES = {{}}\n\ndef f(other):\n    {body}\n"}, "f") == ()


def test_name_of_the_function_around_is_not_taken_for_it():
    text = "RATES = {}\n\ndef f(RATES):\n    def g():\n        return RATES\n    return g\n"
    assert found({"pkg/a.py": text}, "f.<locals>.g") == ()


def test_what_stands_in_for_an_import_that_may_fail_is_not_what_is_loaded():
    text = "try:\n    import fast\nexcept ImportError:\n    fast = None\n    RATES = {}\n"
    text += "\ndef f():\n    return fast, RATES\n"
    assert [each.name for each in found({"pkg/a.py": text}, "f")] == ["RATES"]


@pytest.mark.large
def test_of_a_registry_that_thousands_of_statements_fill_some_are_looked_at():
    entries = [f"RATES[{number}] = RATES.get({number - 1})" for number in range(600)]
    text = "\n".join(["RATES = {}", *entries, "def f():", *["    RATES"] * 300])
    lines = [each.line for each in found({"pkg/a.py": text}, "f")]
    assert lines == [*range(1, 501)]


@pytest.mark.large
def test_a_name_of_a_thousand_parts():
    text = f"RATES = b{'.a' * 1_200}\n\ndef f():\n    return RATES\n"
    assert [each.name for each in found({"pkg/a.py": text}, "f")] == ["RATES"]


def test_functions_and_classes_are_no_constants():
    text = "def g(): ...\n\nclass C: ...\n\ndef f():\n    return g(), C()\n"
    assert found({"pkg/a.py": text}, "f") == ()


def test_lines_that_did_not_run():
    text = "A = 1\nB = 2\n\ndef f(x):\n    if x:\n        return A\n    return B\n"
    calls = Calls(functions=(Called("a.py", 4, "f", 7),), failed={"t": ((0, 5), (0, 7))})
    assert [each.name for each in constants_of(calls, lambda _: index_source(text))] == ["B"]


@pytest.mark.parametrize(
    ("imports", "use"),
    [
        ("from pkg.b import RATES", "RATES"),
        ("from .b import RATES as R", "R"),
        ("from pkg import b", "b.RATES"),
        ("from . import b", "b.RATES"),
        ("import pkg.b as c", "c.RATES"),
        ("from .c import RATES", "RATES"),
        ("from .b import Table", "Table.RATES"),
        ("from .b import Below", "Below.RATES"),
    ],
)
def test_imported(imports, use):
    texts = {
        "src/pkg/__init__.py": "",
        "src/pkg/a.py": f"{imports}\n\ndef f():\n    return {use}\n",
        "src/pkg/b.py": "RATES = 1\nclass Table:\n    RATES = 2\nclass Below(Table):\n    pass\n",
        "src/pkg/c.py": "from pkg.b import RATES\n",
    }
    (one,) = found(texts, "f", "src/pkg/a.py")
    assert one.parts == ()
    assert (one.file, one.line) == ("src/pkg/b.py", 3 if use.endswith("e.RATES") or "Below" in use else 1)
    assert one.owner == ("" if one.line == 1 else "Table")
    assert one.classes == ()


def test_imports_in_a_circle():
    texts = {"pkg/a.py": "from .b import X\ndef f():\n    return X\n", "pkg/b.py": "from .a import X\n"}
    assert found(texts, "f") == ()


def test_what_it_is_made_of():
    text = "A = 'a'\nB = A + 'b'\nC = compile(B)\nD = 1\n\ndef f():\n    return C\n"
    constants = found({"pkg/a.py": text}, "f")
    assert [each.name for each in constants] == ["A", "B", "C"]
    assert {each.loads for each in constants} == {(("pkg/a.py", 7),)}
    assert [each.parts == each.loads for each in constants] == [True, True, False]


def test_what_one_line_loads_itself_and_another_as_a_part():
    text = "A = 'a'\nB = [A]\n\ndef f():\n    B\n    return A, B\n"
    first, _ = found({"pkg/a.py": text}, "f")
    assert (first.name, first.loads, first.parts) == (
        "A",
        (("pkg/a.py", 5), ("pkg/a.py", 6)),
        (("pkg/a.py", 5),),
    )


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
        class Square(Base):
            LIMIT = 4
            def size(self):
                return 5
        """,
}


def test_an_attribute_of_the_object():
    assert names(found(SHAPES, "Base.check")) == [("pkg/a.py", "Base", "LIMIT", 3, 3)]


def test_an_attribute_of_an_object_of_a_subclass():
    round_, _ = SHAPES["pkg/b.py"].split("class Square")
    texts = {**SHAPES, "pkg/b.py": f"{round_}class Square(Base):\n            LIMIT = 4\n"}
    below, base = sorted(found(texts, "Base.check", "pkg/a.py", ("pkg/b.py", "Round.size")), reverse=True)
    assert (below.owner, below.name, below.classes) == ("Round", "LIMIT", (("pkg/b.py", "Round"),))
    assert base.classes == (("pkg/a.py", "Base"),)


def test_a_file_that_cannot_be_parsed():
    calls = Calls(functions=(Called("a.py", 1, "f", 2),), failed={"t": ((0, 2),)})
    assert constants_of(calls, lambda _: None) == ()


def test_the_class_of_a_function():
    assert class_of("f") == class_of("f.<locals>.C.g") == ""
    assert class_of("A.B.f.<locals>.g") == "A.B"


def test_functions_that_set_failing_tests_apart_are_searched():
    common = [Called("a.py", 10 * n, f"f{n}", passed=9, lines={10 * n: 9}) for n in range(1, 100)]
    odd = Called("a.py", 9000, "odd", passed=9, lines={9000: 9})
    ran = (*((n, 10 * (n + 1)) for n in range(99)), (99, 9000), (99, 9001))
    searched = unusual_functions(Calls(passed=9, functions=(*common, odd), failed={"t": ran}))
    assert odd in searched
    assert len(searched) < 50


def test_what_is_loaded_is_found_beside_a_registry_of_more_files_than_are_read(monkeypatch):
    monkeypatch.setattr("loop_close.syntax.constants._MOST_FILES", 6)
    texts = {f"pkg/l{n}.py": f"TABLE = {n}" for n in range(20)}
    imports = "\n".join(f"from pkg import l{n}" for n in range(20))
    tables = ", ".join(f"l{n}.TABLE" for n in range(20))
    texts["pkg/a.py"] = f"{imports}\nREGISTRY = [{tables}]\n\ndef first():\n    return REGISTRY\n"
    texts["pkg/z.py"] = "class Base:\n    RATES = {}\n"
    texts["pkg/b.py"] = (
        "from pkg.z import Base\n\nclass Own(Base):\n    def rate(self):\n        return self.RATES\n"
    )
    constants = names(found(texts, "first", "pkg/a.py", ("pkg/b.py", "Own.rate")))
    assert ("pkg/z.py", "Base", "RATES", 2, 2) in constants
    assert 5 <= sum(name == "TABLE" for *_, name, _, _ in constants) < 20
