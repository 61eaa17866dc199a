"""A pattern is compiled when it is first used, and every one compiles."""

import copy
import pickle
import re
from importlib import import_module
from pkgutil import walk_packages

import pytest

import loop_close
from loop_close import lazy


def test_a_pattern_is_compiled_when_it_is_first_used(monkeypatch):
    compiled = []
    monkeypatch.setattr(lazy, "_compile_pattern", lambda *words: compiled.append(words) or re.compile(*words))
    pattern = lazy.pattern("(?P<letter>b)", re.IGNORECASE)
    assert (pattern.pattern, compiled) == ("(?P<letter>b)", [])
    assert [pattern.search(text)["letter"] for text in ("aB", "Cb", "b")] == ["B", "b", "b"]
    assert compiled == [("(?P<letter>b)", re.IGNORECASE)]
    assert dict(pattern.groupindex) == {"letter": 1}


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_pattern_can_be_copied(copied):
    assert copied(lazy.pattern("b", re.IGNORECASE)).fullmatch("B")


def test_every_lazy_pattern_compiles():
    modules = [
        import_module(each.name)
        for each in walk_packages(loop_close.__path__, "loop_close.")
        if each.name.split(".")[1] not in ("__main__", "mcp", "nox", "tox")  # need extras
    ]
    found = {
        f"{module.__name__}.{name}": value.groups
        for module in modules
        for name, value in vars(module).items()
        if type(value) is type(lazy.pattern(""))
    }
    assert len(found) > 60
