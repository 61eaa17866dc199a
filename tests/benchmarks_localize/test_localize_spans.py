import pytest
from benchmarks.localize.spans import Resolver

SOURCE = """\
import os
@first
@second(
    1)
def plain(a):
    return [x
            for x in a]
class A:
    x = 1
    @property
    def one(self):
        def inner(): return 1
        class B:
            def two(self):
                return lambda: 3
        return inner
    if x:
        async def three(self): ...
"""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (1, "<module>"),
        (2, "plain"),
        (4, "plain"),
        (7, "plain"),
        (8, "<module>"),
        (9, "<module>"),
        (10, "A.one"),
        (12, "A.one.<locals>.inner"),
        (13, "A.one"),
        (15, "A.one.<locals>.B.two"),
        (16, "A.one"),
        (17, "<module>"),
        (18, "A.three"),
        (99, "<module>"),
    ],
)
def test_innermost_function(tmp_path, line, name):
    (tmp_path / "a.py").write_text(SOURCE)
    assert Resolver(tmp_path).function("a.py", line) == name


def test_another_text_stands_in_for_a_file(tmp_path):
    (tmp_path / "a.py").write_text(SOURCE)
    assert Resolver(tmp_path, {"a.py": "def f():\n  pass\n"}).function("a.py", 1) == "f"
    assert Resolver(tmp_path).function("b.py", 1) == "<module>"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (1, "<module>"),
        (7, "plain"),
        (8, "A"),
        (9, "A"),
        (10, "A.one"),
        (13, "A.one.<locals>.B"),
        (17, "A"),
        (18, "A.three"),
    ],
)
def test_innermost_function_or_class(tmp_path, line, name):
    (tmp_path / "a.py").write_text(SOURCE)
    assert Resolver(tmp_path, has_classes=True).function("a.py", line) == name
