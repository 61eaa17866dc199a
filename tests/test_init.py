import ast
import importlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import loop_close


@pytest.mark.parametrize("name", sorted(loop_close._HOMES))
def test_public_name_is_the_object_of_its_home(name):
    home = importlib.import_module(loop_close._HOMES[name])
    assert getattr(loop_close, name) is getattr(home, name)


def test_type_checkers_see_the_same_names_as_the_interpreter():
    tree = ast.parse(Path(loop_close.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == loop_close._HOMES


def test_version_is_that_of_the_distribution():
    assert loop_close.__version__ == metadata.version("pytest-loop-close")


def test_who_reads_every_attribute_of_every_module_imports_nothing():
    code = (
        "import sys, loop_close; before = set(sys.modules); [getattr(loop_close, name) for name in dir(loop_close)];"
        "print(*(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match=r"^module 'loop_close' has no attribute 'nothing'$"):
        _ = loop_close.nothing


def test_package_says_that_it_is_typed():
    assert Path(loop_close.__file__).with_name("py.typed").is_file()
