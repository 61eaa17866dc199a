import pytest

from loop_close.monitor.contexts import compiled


@pytest.mark.parametrize(
    ("source", "owners", "shared"),
    [
        ("x = 1\n", {}, set()),
        ("def f():\n    '''What.'''\n    x = 1\n\n    return x\n", {3: "f", 5: "f"}, set()),
        ("@a\n@b(\n    1)\ndef f(\n    x=1,\n    *, y: int = 2,\n):\n    return x\n", {8: "f"}, set()),
        ("def f(): return 1\n", {1: "f"}, {1}),
        ("@a\ndef f(): return 1\n", {2: "f"}, {2}),
        ("def f(\n    x): return 1\n", {2: "f"}, set()),
        ("class A:\n    x = 1\n    def f(self):\n        return 1\n", {4: "A.f"}, set()),
        ("class A:\n    def f(self): return 1\n", {2: "A.f"}, {2}),
        (
            "def f():\n    def g():\n        return 1\n    return g\n",
            {2: "f", 3: "f.<locals>.g", 4: "f"},
            set(),
        ),
        ("def f():\n    def g(): return 1\n    return g\n", {2: "f", 3: "f"}, set()),
        ("def f():\n    class A:\n        x = 1\n    return A\n", {2: "f", 4: "f"}, set()),
        ("def f():\n    return [\n        x\n        for x in a]\n", {2: "f", 3: "f", 4: "f"}, set()),
        (
            "def f():\n    return sorted(\n        a,\n        key=lambda x: x)\n",
            {2: "f", 3: "f", 4: "f"},
            set(),
        ),
        ("f = lambda x: x\n", {1: "<lambda>"}, {1}),
        ("async def f():\n    yield 1\n", {2: "f"}, set()),
        ("def f(x):\n    match x:\n        case 1:\n            return 2\n", {2: "f", 3: "f", 4: "f"}, set()),
        ("def f():\n    return '\\d'\n", {2: "f"}, set()),
        ("# coding: latin-1\ndef f():\n    return '\xe4'\n", {3: "f"}, set()),
    ],
)
def test_lines_belong_to_functions(tmp_path, source, owners, shared):
    path = tmp_path / "a.py"
    path.write_bytes(source.encode("latin-1"))
    found = compiled(path)
    assert {line: code.co_qualname for line, code in found.owners.items()} == owners
    assert found.shared == shared
    assert found.module.isdisjoint(owners)
    assert all(code.co_filename == str(path) for code in found.owners.values())


def test_functions_that_cannot_be_told_apart_are_one(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("f = g(lambda: 1, lambda: (\n    2))\n")
    assert len({id(code) for code in compiled(path).owners.values()}) == 1


def test_lines_of_the_module_run_at_import_alone(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("import os\nx = 1\ndef f():\n    return 1\ndef g(): return 1\nclass A:\n    y = 1\n")
    assert compiled(path).module == {1, 2, 3, 6}


@pytest.mark.parametrize("content", [b"def f(:\n", b"\0", b"x = '\xff'\n", b"# coding: none\n", b"(" * 5000])
def test_what_is_no_python_is_none(tmp_path, content):
    path = tmp_path / "a.py"
    path.write_bytes(content)
    assert compiled(path) is None


def test_what_cannot_be_read_is_none(tmp_path):
    assert compiled(tmp_path) is None
    assert compiled(tmp_path / "a.py") is None
