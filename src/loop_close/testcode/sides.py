"""The two states of a suite, what differs between them, and which tests that concerns."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cached_property

from loop_close.conventions import is_like
from loop_close.testcode.matching import WORD, Demanded, Work
from loop_close.testcode.nodes import dotted
from loop_close.testcode.reach import read
from loop_close.testcode.selection import Selection, ignored_by_conftest, known_of, selection_of, selections
from loop_close.testcode.suite import FUNCTIONS, Module, Scope, Suite, Test, is_autouse
from loop_close.testcode.values import Reading

_MAX_STEPS = 25_000


class Side:
    """One state of the suite, with what was read of it so far."""

    def __init__(self, texts: Mapping[str, str], work: Work) -> None:
        self.texts = texts
        self.selections = selections(texts)
        self.suite = Suite(texts, self.selections[0].patterns if self.selections else Selection().patterns)
        self.paths = sorted(path for path in texts if path.endswith(".py"))
        self.steps = 0
        self.known: tuple[str, ...] = ()
        self._work = work
        self._readings: dict[tuple[str, str], Reading] = {}
        self._demanded: dict[tuple[tuple[str, str], bool], Demanded] = {}
        self._tests_with: dict[str, dict[str, list[Test]]] = {}

    def tests(self, path: str) -> dict[str, Test]:
        """What is collected from a file."""
        return self.suite.tests(path)

    def reading(self, test: Test, is_brief: bool = False) -> Reading:
        """What a test demands; read once, and not at all once the work is spent."""
        if test.key not in self._readings or (is_brief and not self._readings[test.key].is_brief):
            if self._work.is_spent:
                return Reading()
            reading = read(self.suite, test, is_brief=is_brief or self.steps > _MAX_STEPS)
            self.steps += reading.steps
            self._work.spend(4 * reading.steps + 80)
            self._readings[test.key] = reading
        return self._readings[test.key]

    def demanded(self, test: Test) -> Demanded:
        """What a test demands, to look it up."""
        reading = self.reading(test)
        key = test.key, reading.is_brief
        if key not in self._demanded:
            self._demanded[key] = Demanded(self._work, reading.demands)
        return self._demanded[key]

    @cached_property
    def words(self) -> dict[str, set[str]]:
        """All words of the Python files, with the files."""
        found: dict[str, set[str]] = {}
        for path in self.paths:
            for word in set(WORD.findall(self.texts[path])):
                found.setdefault(word, set()).add(path)
        return found

    def tests_with(self, path: str) -> dict[str, list[Test]]:
        """The tests of a file by the words in them."""
        if path not in self._tests_with:
            found = self._tests_with[path] = {}
            for test in self.tests(path).values():
                for word in dict.fromkeys(WORD.findall(test.home.source(test.node))):
                    found.setdefault(word, []).append(test)
        return self._tests_with[path]

    def left_out(self, path: str) -> str:
        """By what the whole file is not collected."""
        selection = selection_of(path, self.selections)
        return selection.leaves_out(path, self.paths) or ignored_by_conftest(self.suite, path)

    def deselected(self, test: Test) -> str:
        """By what option a test is left out, or its failure does not count."""
        return (
            "`known`"
            if self.is_known(test)
            else selection_of(test.module.path, self.selections).deselects(test)
        )

    def is_known(self, test: Test) -> bool:
        """Whether the setting ``known`` names it, so that its failure does not count."""
        node_id = "::".join([test.module.path, *test.name.split(".")])
        return any(is_like(node_id, pattern) for pattern in self.known)

    def is_live(self, test: Test) -> bool:
        """Whether it runs at all, whatever its conditions."""
        stops = self.reading(test).stops
        return not any(not stop.partition(" ")[2].strip() for stop in stops)


class Difference:
    """What differs between two states."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str], work: Work) -> None:
        self.work = work
        self.was, self.now = Side(before, work), Side(after, work)
        # What was added since is a change by itself. A test that takes the place of one of these demands nothing.
        was, now = ([each["test"] for each in known_of(texts) if "test" in each] for texts in (before, after))
        self.was.known = self.now.known = tuple(test for test in was if test in now)
        self.changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        self._names: dict[str, set[str]] = {}

    @cached_property
    def _helpers(self) -> dict[str, list[str]]:
        """The modules that others use, by the word with which they are imported."""
        found: dict[str, list[str]] = {}
        for path in dict.fromkeys([*self.was.suite.modules, *self.now.suite.modules]):
            if path in self.changed or not self.now.suite.is_test_file(path):
                stem = path.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]
                found.setdefault(stem, []).append(path)
        return found

    def _changed_for(self, path: str) -> set[str]:
        """The names in a file that do not stand for what they stood for, by its own definitions or by others'."""
        if path in self._names:
            return self._names[path]
        names = self._names[path] = set()
        was, now = self.was.suite.modules.get(path), self.now.suite.modules.get(path)
        one, other = (_definitions(m) if m is not None and path in self.changed else {} for m in (was, now))
        names |= {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
        words = {word for module in (was, now) if module is not None for word in WORD.findall(module.text)}
        used = [p for stem in words & self._helpers.keys() for p in self._helpers[stem]]
        used += [m.path for side in (self.was, self.now) for m in side.suite.conftests(path)]
        for helper in used:
            if helper != path:
                names |= (self._changed_for(helper) - {"*", "pytestmark"}) & words
        if names:
            known = [
                (name, set(WORD.findall(text)))
                for m in (was, now)
                if m
                for name, text in _definitions(m).items()
            ]
            while further := {
                name for name, text in known if name not in names and text & names and name != "*"
            }:
                names |= further
        return names

    @cached_property
    def affected(self) -> list[str]:
        """The files of tests that changed, or that use something that did."""
        files = [path for path in self.was.paths if self.was.suite.is_test_file(path)]
        return [path for path in files if path in self.changed or self._changed_for(path)]

    def is_as_it_was(self, test: Test, other: Test) -> bool:
        """Whether neither a test nor anything that it uses has changed."""
        names = self._changed_for(test.module.path)
        if {"pytestmark", "*"} & names:
            return False
        source = test.home.source(test.node)
        same = source == other.home.source(other.node) and len(test.owners) == len(other.owners)
        shells = all(_shell(a) == _shell(b) for a, b in zip(test.owners, other.owners, strict=False))
        return same and shells and names.isdisjoint(WORD.findall(source))

    @cached_property
    def added(self) -> list[Test]:
        """The tests that were not there before."""
        paths = [path for path in self.now.paths if path in self.changed]
        return [t for p in paths for name, t in self.now.tests(p).items() if name not in self.was.tests(p)]


def _definitions(module: Module) -> dict[str, str]:
    """What others may use of a module, by name; under "*" what it does when it is imported."""
    if module.tree is None:
        return {}
    scope = module.scope
    found: dict[str, str] = {}
    for name, node in scope.bound.items():
        if isinstance(node, ast.ClassDef):
            members = Scope(node.body).bound.items()
            found |= {n: ast.dump(m) for n, m in members if not n.startswith("test")}
            found[name] = _shell(node)
        elif not name.startswith(("test_", "pytest_")):
            found[name] = ast.dump(node)
    found |= {name: str(origin) for name, origin in scope.imports.items() if name not in found}
    rest = [
        s
        for s in module.tree.body
        if not isinstance(s, (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom))
    ]
    found["*"] = "".join(
        ast.dump(s) for s in rest if not isinstance(s, ast.Assign) or "skip" in dotted(s.value)
    )
    found["*"] += str(sorted((owner, *values) for owner, values in scope.attributes.items()))
    found["*"] += "".join(
        ast.dump(n) for n in scope.bound.values() if isinstance(n, FUNCTIONS) and is_autouse(n)
    )
    return found


def _shell(node: ast.ClassDef) -> str:
    """A class without its tests."""
    own = [s for s in node.body if not (isinstance(s, FUNCTIONS) and s.name.startswith("test"))]
    return ast.dump(ast.ClassDef(node.name, node.bases, node.keywords, own, node.decorator_list))
