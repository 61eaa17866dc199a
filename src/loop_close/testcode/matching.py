"""Which demands of now meet one of then: looked up by what they are about, with all work counted."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from loop_close.conventions import is_like
from loop_close.testcode.demands import (
    BUILT_IN,
    Demand,
    TestAnalysis,
    consequences,
    elements,
    implies,
    is_narrower,
)
from loop_close.testcode.nodes import LITERAL, dotted
from loop_close.testcode.reach import read
from loop_close.testcode.selection import Selection, ignored_by_conftest, known_of, selection_of, selections
from loop_close.testcode.suite import FUNCTIONS, Module, Scope, Test, TestSuite

CALLED = re.compile(r"([A-Za-z_]\w*)\(")
WORD = re.compile(r"[A-Za-z_]\w*")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_KEYWORD = re.compile(r"\b[A-Za-z_]\w*=(?!=)")
_MADE = re.compile(r"\b([A-Z]\w*)\([^()]+\)(?=\.)")
_CHOICES = (
    *("if", "or", "and", "not", "either", "varying", "round", "abs", "int"),
    *("set", "sorted", "len", "any"),
)
# Modules that tests replace as they reach outside of the program, not as what they test.
_OUTSIDE = {"requests", "time", "os", "random", "datetime", "subprocess", "socket"}
_MAX_NEAR = 200
_MAX_NESTED = 3


class Work:
    """The steps that a comparison may take: counted, so that it ends at the same place on every machine."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Count steps that were taken."""
        self.left -= steps

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is to be compared."""
        return self.left <= 0


class DemandIndex:
    """Demands that can be looked up by what they are about."""

    def __init__(self, work: Work, demands: Iterable[Demand] = ()) -> None:
        self._work = work
        self._same: dict[Demand, list[Demand]] = {}
        self._about: dict[str, list[Demand]] = {}
        self.demands: list[Demand] = []
        self.add(demands)

    def add(self, demands: Iterable[Demand]) -> None:
        """Take up further demands, with what they demand of the elements of a container."""
        for demand in demands:
            self.demands.append(demand)
            for part in (demand, *_parts(demand)):
                self._same.setdefault(part, []).append(part)
                self._about.setdefault(part.subject, []).append(part)

    def same(self, wanted: Demand) -> list[Demand]:
        """The demands that are equal apart from tolerances, patterns and conditions."""
        return self._same.get(wanted, [])

    def about(self, subject: str) -> list[Demand]:
        """The demands on a subject, some of very many."""
        return self._about.get(subject, [])[:_MAX_NEAR]

    def find(self, wanted: Demand, *, is_guarded: bool = True) -> Demand | None:
        """A demand that includes the wanted one.

        :param is_guarded: it has to be reached under the same conditions.
        """
        places = [self._same.get(wanted, [])[:_MAX_NEAR], self.about(wanted.subject)]
        if wanted.op in ("in", "not in"):
            places.append(self.about(wanted.expected))
        if wanted.subject.startswith("len("):
            places.append(self.about(wanted.subject[4:-1]))
        for place in places:
            for found in place:
                self._work.spend()
                if (not is_guarded or found.guards <= wanted.guards) and implies(found, wanted):
                    return found
        return None

    def meets(self, wanted: Demand) -> bool:
        """Whether the wanted one is demanded, as a whole or by elements."""
        if self.find(wanted) is not None:
            return True
        parts = list(elements(wanted))
        return bool(parts) and all(self.meets(part) for part in parts)

    @cached_property
    def _outlines(self) -> dict[object, list[Demand]]:
        found: dict[object, list[Demand]] = defaultdict(list)
        for demand in self.demands:
            self._work.spend(2)
            for key in _outlines(demand):
                found[key].append(demand)
        return found

    def alike(self, wanted: Demand) -> Iterator[Demand]:
        """Demands that may be the wanted one with other names: with the same text, or equal apart from names."""
        for key in _outlines(wanted):
            for found in self._outlines.get(key, [])[:_MAX_NEAR]:
                self._work.spend(4)
                yield found


def _parts(demand: Demand, depth: int = 0) -> Iterator[Demand]:
    for part in consequences(demand) if depth < _MAX_NESTED else ():
        yield part
        yield from _parts(part, depth + 1)


def _outlines(demand: Demand) -> Iterator[object]:
    words = loose(demand)
    yield demand.op, *("_" if WORD.fullmatch(word) and word not in BUILT_IN else word for word in words)
    yield demand.op, "words", *sorted(words)
    if demand.text:
        yield demand.op, "text", demand.text


# The target of a patch as a text, of which the last part is what is replaced.
_TARGET = re.compile(r"\b(setattr|delattr|patch)\('[\w.]+\.(\w+)'")


def is_retargeted(wanted: Demand, found: Demand) -> bool:
    """Whether it is the same demand, but for the module in which something of one name is patched."""
    one, other = (
        (d.op, d.expected, d.value, d.tolerance, _TARGET.sub(r"\1('\2'", d.subject)) for d in (wanted, found)
    )
    return one == other and found.guards <= wanted.guards


def renamed(wanted: Demand, found: Demand, is_same: bool) -> list[tuple[str, str]] | None:
    """The names that differ if two demands are equal apart from them, or from the helpers' preparation; else None.

    :param is_same: the test itself is as it was.
    """
    if wanted.op == "drawn" or wanted.op != found.op or len(found.guards) > len(wanted.guards):
        return None
    if wanted.op == "~=" and not is_narrower(found, wanted):
        return None
    if wanted.op == "raises" and wanted.value not in (..., found.value):
        return None
    is_cut = wanted.text.endswith("…")  # then the same text may be another statement
    if wanted.text == found.text != "" and not is_cut and _is_prepared(wanted.normal, found.normal, is_same):
        return []
    if not found.guards <= wanted.guards:
        return None
    one, two = loose(wanted), loose(found)
    if one == two or ("=" in wanted.normal + found.normal and sorted(one) == sorted(two)):
        return []
    if len(one) != len(two):
        return None
    pairs = {(a, b) for a, b in zip(one, two, strict=True) if a != b}
    if len(pairs) > 3 or len({a for a, _ in pairs}) != len({b for _, b in pairs}) != len(pairs):
        return None
    is_named = all(WORD.fullmatch(a) and WORD.fullmatch(b) and not {a, b} & BUILT_IN for a, b in pairs)
    return sorted(pairs) if is_named else None


def _is_prepared(was: str, now: str, is_same: bool) -> bool:
    """Whether two demands that are written alike differ only in how what they are about is prepared.

    Another literal is another input or expectation; another function around it is another demand.
    """
    words = [WORD.findall(LITERAL.sub("", text)) for text in (was, now)]
    if words[0] == words[1]:
        return False
    if _outline(was) == _outline(now):
        return True
    called = [set(CALLED.findall(text)) for text in (was, now)]
    is_chosen = any(words[1].count(word) > words[0].count(word) for word in _CHOICES)
    return is_same and not is_chosen and 2 * len(called[0] & called[1]) >= len(called[0])


def _outline(text: str) -> str:
    """An expression without the arguments of its calls."""
    depth, found = 0, []
    for letter in LITERAL.sub("0", text):
        depth -= letter in ")]}"
        if depth <= 0:
            found.append(letter)
        depth += letter in "([{"
    return "".join(found)


def loose(demand: Demand) -> list[str]:
    """The words of a demand without the names of arguments and without what an object is made with."""
    text = demand.normal
    for _ in range(3):
        text = _MADE.sub(r"\1()", text)
    return [token for token in _TOKEN.findall(_KEYWORD.sub("", text)) if token != ","]


def is_about(target: str, demands: Sequence[Demand], module: Module) -> bool:
    """Whether what is replaced is what the demands are about."""
    owner, _, name = target.rpartition(".")
    place, last = owner.partition(".")[0], owner.rpartition(".")[2]
    for demand in demands:
        shown = f"{demand.subject} {demand.expected}"
        called = set(CALLED.findall(shown))
        origins = {n: module.scope.imports.get(n, ("", ""))[0] for n in called}
        if owner in ("sys.modules", "modules"):
            if name.partition(".")[0] in {origin.partition(".")[0] for origin in origins.values() if origin}:
                return True
        elif name in called or (demand.op != "runs" and f".{name}" in shown):
            origin = origins.get(name, "")
            known = {*origin.split("."), *WORD.findall(shown), *module.scope.imports}
            is_own = last in known and last not in _OUTSIDE
            if is_own or (origin and place == origin.partition(".")[0]):
                return True
    return False


# --- the two states of a suite, what differs between them, and which tests that concerns

_MAX_STEPS = 25_000


class Side:
    """One state of the suite, with what was read of it so far."""

    def __init__(self, texts: Mapping[str, str], work: Work) -> None:
        self.texts = texts
        self.selections = selections(texts)
        self.suite = TestSuite(
            texts, self.selections[0].patterns if self.selections else Selection().patterns
        )
        self.paths = sorted(path for path in texts if path.endswith(".py"))
        self.steps = 0
        self.known: tuple[str, ...] = ()
        self._work = work
        self._readings: dict[tuple[str, str], TestAnalysis] = {}
        self._demanded: dict[tuple[tuple[str, str], bool], DemandIndex] = {}
        self._tests_with: dict[str, dict[str, list[Test]]] = {}

    def tests(self, path: str) -> dict[str, Test]:
        """What is collected from a file."""
        return self.suite.tests(path)

    def reading(self, test: Test, is_brief: bool = False) -> TestAnalysis:
        """What a test demands; read once, and not at all once the work is spent."""
        if test.key not in self._readings or (is_brief and not self._readings[test.key].is_brief):
            if self._work.is_spent:
                return TestAnalysis()
            reading = read(self.suite, test, is_brief=is_brief or self.steps > _MAX_STEPS)
            self.steps += reading.steps
            self._work.spend(4 * reading.steps + 80)
            self._readings[test.key] = reading
        return self._readings[test.key]

    def demanded(self, test: Test) -> DemandIndex:
        """What a test demands, to look it up."""
        reading = self.reading(test)
        key = test.key, reading.is_brief
        if key not in self._demanded:
            self._demanded[key] = DemandIndex(self._work, reading.demands)
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
        if self.is_known(test):
            return "`known`"
        return selection_of(test.module.path, self.selections).deselects(test)

    def is_known(self, test: Test) -> bool:
        """Whether the setting ``known`` names it, so that its failure does not count."""
        node_id = "::".join([test.module.path, *test.name.split(".")])
        return any(is_like(node_id, pattern) for pattern in self.known)

    def is_live(self, test: Test) -> bool:
        """Whether it runs at all, whatever its conditions."""
        stops = self.reading(test).stops
        return not any(not stop.partition(" ")[2].strip() for stop in stops)


class SuiteDifference:
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
        """The names in a file whose meaning changed, by its own definitions or by others'."""
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
            texts = [item for m in (was, now) if m for item in _definitions(m).items() if item[0] != "*"]
            known = [(name, set(WORD.findall(text))) for name, text in texts]
            while further := {name for name, words in known if name not in names and words & names}:
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
    definitions = (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)
    rest = [each for each in module.tree.body if not isinstance(each, definitions)]
    run = [each for each in rest if not isinstance(each, ast.Assign) or "skip" in dotted(each.value)]
    found["*"] = "".join(map(ast.dump, run))
    found["*"] += str(sorted((owner, *values) for owner, values in scope.attributes.items()))
    found["*"] += "".join(map(ast.dump, module.autouse))
    return found


def _shell(node: ast.ClassDef) -> str:
    """A class without its tests."""
    own = [s for s in node.body if not (isinstance(s, FUNCTIONS) and s.name.startswith("test"))]
    return ast.dump(ast.ClassDef(node.name, node.bases, node.keywords, own, node.decorator_list))
