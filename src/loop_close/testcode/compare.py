"""Compare two states of a test suite: the one of now has to demand at least what the earlier one demanded."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from loop_close.testcode.change import Kind, TestChange, excerpt
from loop_close.testcode.demands import BUILT_IN, Demand, elements, implies, is_narrower
from loop_close.testcode.hints import hints
from loop_close.testcode.nodes import LITERAL
from loop_close.testcode.reach import read
from loop_close.testcode.selection import configuration_changes, difference, hook_changes
from loop_close.testcode.sides import Difference
from loop_close.testcode.suite import FUNCTIONS, Module, Test, is_autouse
from loop_close.testcode.values import Reading

_MAX_SEARCHED = 20
_SNAPSHOT = re.compile(r"snap|\.ambr$|golden|approved|expected", re.IGNORECASE)
_CALLED = re.compile(r"([A-Za-z_]\w*)\(")
_WORD = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)", re.MULTILINE)
_TOKEN = re.compile(r"\w+|[^\w\s]")
_KEYWORD = re.compile(r"\b[A-Za-z_]\w*=(?!=)")
_CHOICES = (
    "if",
    "or",
    "and",
    "not",
    "either",
    "varying",
    "round",
    "abs",
    "int",
    "set",
    "sorted",
    "len",
    "any",
)
_MADE = re.compile(r"\b([A-Z]\w*)\([^()]+\)(?=\.)")


def compare_tests(
    before: Mapping[str, str],
    after: Mapping[str, str],
    code_before: Mapping[str, str] | None = None,
    code_after: Mapping[str, str] | None = None,
) -> tuple[TestChange, ...]:
    """Say what was done to the tests of a project.

    :param before: path and text, at the start, of test modules, conftest files, helpers beside them, and of the
        configuration that selects tests; ``after``: those of now. Any text will do.
    :param code_before: path and text of edited product files, for the hints; ``code_after``: as they are now.
    :returns: sorted by file and line; empty where all that was demanded still is.
    """
    found: list[TestChange] = []
    try:
        if dict(before) != dict(after):
            found += _Comparison(before, after).changes()
        if code_after is not None:
            found += hints(code_before or {}, code_after, after)
    except RecursionError:
        changed = [path for path in before if before[path] != after.get(path)]
        found = [TestChange(path, "", "unclear", "nested too deeply to be compared") for path in changed]
    return tuple(sorted(set(found), key=lambda c: (c.file, c.line, c.test, c.kind, c.what)))


class _Comparison(Difference):
    """What differs, test by test."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        super().__init__(before, after)
        self._searched: dict[frozenset[str], list[Test]] = {}

    def changes(self) -> Iterator[TestChange]:
        yield from configuration_changes(self.was.texts, self.now.texts)
        yield from hook_changes(self.was.suite, self.now.suite)
        yield from self._conftest_fixtures()
        yield from self._deselected()
        for path in sorted(self.changed & self.was.texts.keys()):
            if _SNAPSHOT.search(path) and not path.endswith(".py"):
                text, now = self.was.texts[path], self.now.texts.get(path, "")
                yield difference(
                    path, "unclear", "the snapshot changed" if now else "the snapshot is gone", text, now
                )
        found: list[TestChange] = []
        for path in self.affected:
            tests = self.was.tests(path)
            own = [change for test in tests.values() if (change := self._of_test(test)) is not None]
            if self.was.suite.modules[path].tree is None:  # then all that is known are the names
                lost = set(_DEFINED.findall(self.was.texts[path])) - set(
                    _DEFINED.findall(self.now.texts.get(path, ""))
                )
                own = [TestChange(path, name, "deleted", "the test is gone") for name in sorted(lost)]
            is_gone = path not in self.now.texts and len(own) >= len(tests) > 1
            if is_gone and {change.kind for change in own} == {"deleted"}:
                what = f"the file is gone, with its {len(tests)} tests"
                own = [TestChange(path, "", "deleted", what, excerpt(self.was.texts[path]))]
            found += own
        yield from self._by_helper(found)

    def _by_helper(self, found: Sequence[TestChange]) -> Iterator[TestChange]:
        """One change for all tests that a changed helper weakens in the same way."""
        groups: dict[tuple[str, ...], list[TestChange]] = {}
        for change in found:
            is_own = change.before != change.after and change.before in self.was.texts[change.file]
            key = (change.id,) if is_own else (change.kind, change.before, change.after)
            groups.setdefault(key, []).append(change)
        for group in groups.values():
            more = f" (so in {len(group)} tests)" if len(group) > 1 else ""
            yield replace(group[0], what=group[0].what + more)

    @cached_property
    def _demanded(self) -> dict[str, list[Demand]]:
        """All that new tests demand, by subject."""
        return self._by_subject(self.added)

    def _by_subject(self, tests: Sequence[Test]) -> dict[str, list[Demand]]:
        found: dict[str, list[Demand]] = {}
        for test in tests:
            is_run = not self.now.left_out(test.module.path) and not self.now.deselected(test)
            for demand in self.now.reading(test).demands if is_run and self.now.is_live(test) else ():
                found.setdefault(demand.subject, []).append(demand)
        return found

    # One test

    def _of_test(self, test: Test) -> TestChange | None:
        path = test.module.path
        other = self._counterpart(test)
        if other is not None and self.is_as_it_was(test, other):
            return None
        if self.was.left_out(path) or not self.was.is_live(test):
            return None
        was = self.was.reading(test)
        if other is None:
            missing = self._missing(test, None)
            if was.demands and not missing:
                return None
            other = self._likely(test, missing)
            if other is None:
                return self._gone(test)
        now = self.now.reading(other)
        if was.is_brief != now.is_brief:  # both or none: the rows of a brief one are demands
            was, now = self.was.reading(test, is_brief=True), self.now.reading(other, is_brief=True)
        stop = next((what for key, what in sorted(now.stops.items()) if key not in was.stops), "")
        missing = self._missing(test, other)
        is_async = isinstance(other.node, ast.AsyncFunctionDef) and isinstance(test.node, ast.FunctionDef)
        if is_async and not _runs_async(other, self.now.texts):
            return self._changed(test, other, "not-run", "is `async`, and no plugin is asked to run it")
        if stop and not (was.demands and not self._missing(test, None) and other.key != test.key):
            return self._changed(test, other, "not-run", stop)
        replaced = self._replaced(was, now, other)
        if replaced:
            return self._changed(test, other, "replaced", replaced)
        return self._weaker(test, other, missing) if missing else None

    def _counterpart(self, test: Test) -> Test | None:
        same = self.now.tests(test.module.path).get(test.name)
        if same is not None:
            return same
        last = test.name.rpartition(".")[2]
        named = [t for t in self.added if t.name.rpartition(".")[2] == last]
        return next((t for t in named if t.name == test.name), named[0] if len(named) == 1 else None)

    def _likely(self, test: Test, missing: Sequence[Demand]) -> Test | None:
        """Of the new tests the one that demands most of the same, or says nearly the same."""
        demands = self.was.reading(test).demands
        best, most = None, 0.0
        for other in self.added:
            own = self.now.reading(other)
            every = [*own.demands, *(demand for demand, _ in own.dead)]
            score = float(sum(any(implies(d, wanted) for d in every) for wanted in demands))
            if 2 * score < len(demands) and other.module.path == test.module.path:
                one, two = test.home.source(test.node), other.home.source(other.node)
                ratio = (
                    difflib.SequenceMatcher(None, one, two, autojunk=False).ratio()
                    if len(one) < 4000
                    else 0.0
                )
                score = score + 1 if ratio > 0.75 else 0.0
            elif 2 * score < len(demands):
                continue
            if score > most:
                best, most = other, score
        return best

    def _missing(self, test: Test, other: Test | None) -> list[Demand]:
        """What a test demanded that is demanded no more, by itself or by any other."""
        own = self.now.reading(other) if other is not None and not self.now.deselected(other) else Reading()
        wanted = dict.fromkeys(self.was.reading(test).demands)
        missing = [w for w in wanted if not _is_met(w, own.demands, own.calls)]
        left = [w for w in missing if not self._is_met_elsewhere(w, test)]
        if left and other is not None:
            is_same = test.home.source(test.node) == other.home.source(other.node)
            left = [w for w in left if not any(self._is_renamed(w, d, is_same) for d in own.demands)]
        return left

    def _is_met_elsewhere(self, wanted: Demand, test: Test) -> bool:
        """Whether a new test demands it, or one in which the same calls stand."""
        called = set(_CALLED.findall(f"{wanted.subject} {wanted.expected}")) - {
            "each",
            "entered",
            "len",
            "sorted",
        }
        if called and self._has(wanted, self._demanded):
            return True
        if wanted.op == "runs":
            return any(_is_met(wanted, (), self.now.reading(t).calls) for t in self.added)
        names = frozenset(called & set(_WORD.findall(test.home.source(test.node))))
        return bool(names) and self._has(wanted, self._by_subject(self._mentioning(names)))

    def _mentioning(self, names: frozenset[str]) -> list[Test]:
        """Some tests in which all of the names stand, those of files that changed first."""
        if names not in self._searched:
            found: list[Test] = []
            for path in sorted(self.now.paths, key=lambda path: (path not in self.changed, path)):
                is_near = self.now.suite.is_test_file(path) and all(
                    name in self.now.texts[path] for name in names
                )
                for test in self.now.tests(path).values() if is_near and len(found) < _MAX_SEARCHED else ():
                    if all(name in test.home.source(test.node) for name in names):
                        found.append(test)
            self._searched[names] = found[: 2 * _MAX_SEARCHED]
        return self._searched[names]

    @staticmethod
    def _has(wanted: Demand, index: Mapping[str, list[Demand]]) -> bool:
        near = index.get(wanted.subject, [])
        if _is_met(wanted, near, ()):
            return True
        parts = list(elements(wanted))
        if parts and all(_is_met(part, index.get(part.subject, []), ()) for part in parts):
            return True
        outer = re.sub(r"(\[[^\[\]]*\]|\))$", "", wanted.subject).removeprefix("len(")
        return _is_met(wanted, index.get(outer, []), ()) or _is_met(
            wanted, index.get(wanted.expected, []), ()
        )

    def _is_renamed(self, wanted: Demand, found: Demand, is_same: bool) -> bool:
        """Whether it is the same demand but for the name of a function or argument, or for how helpers prepare it.

        :param is_same: the test itself is as it was.
        """
        if wanted.op != found.op or len(found.guards) > len(wanted.guards):
            return False
        if wanted.op == "~=" and not is_narrower(found, wanted):
            return False
        if wanted.op == "raises" and wanted.value not in (..., found.value):
            return False
        if wanted.text == found.text and wanted.text and _is_prepared(wanted.normal, found.normal, is_same):
            return True
        if not found.guards <= wanted.guards:
            return False
        one, two = _loose(wanted), _loose(found)
        if one == two:
            return True
        if "=" in wanted.normal + found.normal and sorted(one) == sorted(two):
            return True
        if len(one) != len(two):
            return False
        pairs = {(a, b) for a, b in zip(one, two, strict=True) if a != b}
        if (
            not pairs
            or len(pairs) > 3
            or len({a for a, _ in pairs}) != len({b for _, b in pairs}) != len(pairs)
        ):
            return False
        return all(
            _WORD.fullmatch(a)
            and _WORD.fullmatch(b)
            and not {a, b} & BUILT_IN
            and not self.now.mentions(a)
            and not self.was.mentions(b)
            for a, b in pairs
        )

    # In words

    def _weaker(self, test: Test, other: Test, missing: list[Demand]) -> TestChange:
        now = self.now.reading(other)
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        void = [text for text in now.void if text not in self.was.reading(test).void]
        new = [d for d in now.demands if not any(implies(w, d) for w in self.was.reading(test).demands)]
        for wanted in missing:
            why = next((why for dead, why in now.dead if implies(dead, wanted) or dead == wanted), "")
            if why:
                kind: Kind = "not-run" if "does not run" in why or "never calls" in why else "weakened"
                return self._changed(test, other, kind, f"{why}: `{wanted.shown}`{more}", wanted)
        for wanted in missing:
            for found in now.demands:
                if implies(found, wanted) and not found.guards <= wanted.guards:
                    only = min(found.guards - wanted.guards)
                    what = f"asserts `{wanted.shown}` only under `{only}`{more}"
                    return self._changed(test, other, "weakened", what, wanted, found)
        for wanted in missing:
            near = next((d for d in now.demands if d.subject == wanted.subject), None)
            if near is not None:
                return self._changed(test, other, "weakened", _became(wanted, near) + more, wanted, near)
        wanted = missing[0]
        if wanted.op != "runs" and all(d.op == "runs" for d in now.demands) and not void:
            why = next((why for _, why in now.dead), "")
            what = f"asserts nothing any more: {why}" if why else "asserts nothing any more"
            return self._changed(test, other, "weakened", what + more, wanted)
        weaker = next((d for d in now.demands for w in missing if implies(w, d) and d.op != "runs"), None)
        if weaker is not None and not void:
            what = f"`{wanted.shown}` became `{weaker.shown}`{more}"
            return self._changed(test, other, "weakened", what, wanted, weaker)
        if void:
            return self._changed(test, other, "weakened", f"`{void[0]}` is always true{more}", wanted)
        if new:
            closest = max(
                new, key=lambda d: difflib.SequenceMatcher(None, d.normal[:400], wanted.normal[:400]).ratio()
            )
            is_wrapped = wanted.subject in closest.subject or closest.op == wanted.op == "=="
            is_wrapped &= wanted.subject in closest.subject and wanted.op == closest.op
            kind = "weakened" if is_wrapped else "unclear"
            what = _became(wanted, closest) + more
            return self._changed(test, other, kind, what, wanted, closest)
        return self._changed(test, other, "weakened", f"no longer asserts `{wanted.shown}`{more}", wanted)

    def _replaced(self, was: Reading, now: Reading, other: Test) -> str:
        for target, text in sorted(now.patched.items()):
            if target not in was.patched and _is_hit(target, was.demands, other.home):
                return f"replaces what it tests: `{text}`"
        return ""

    def _gone(self, test: Test) -> TestChange:
        """A test that is not collected any more: it may be there all the same."""
        path, module = test.module.path, self.now.suite.modules.get(test.module.path)
        source = excerpt(test.home.source(test.node))
        if module is None:
            return TestChange(path, test.name, "deleted", "the file is gone", source)
        if module.tree is None:
            return TestChange(path, test.name, "not-run", "the file is not Python any more", source)
        body = ast.dump(ast.Module(test.node.body, []))
        last = test.name.rpartition(".")[2]
        for node in ast.walk(module.tree):
            is_same = isinstance(node, FUNCTIONS) and ast.dump(ast.Module(node.body, [])) == body
            if isinstance(node, FUNCTIONS) and (is_same or node.name == last):
                name = f" as `{node.name}`" if node.name != last else ""
                what = f"it is still written{name}, but pytest does not collect it"
                return TestChange(
                    path, test.name, "not-run", what, source, excerpt(module.source(node)), node.lineno
                )
        return TestChange(path, test.name, "deleted", "the test is gone", source)

    @staticmethod
    def _changed(
        test: Test,
        other: Test,
        kind: Kind,
        what: str,
        wanted: Demand | None = None,
        found: Demand | None = None,
    ) -> TestChange:
        one, two = test.home.source(test.node).split("\n"), other.home.source(other.node).split("\n")
        if one == two:
            before, after = wanted.text if wanted else "", found.text if found else ""
        else:
            matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
            blocks = [b for b in matcher.get_opcodes() if b[0] != "equal"]
            before = "\n".join(line for _, i, j, _, _ in blocks for line in one[i:j])
            after = "\n".join(line for _, _, _, i, j in blocks for line in two[i:j])
        line = found.line if found and found.line and one != two else other.node.lineno
        if other.key != test.key:
            what = f"now `{other.name}`: {what}"
        path, name = (other if other.key != test.key and other.name == test.name else test).key
        return TestChange(path, name, kind, what, excerpt(before), excerpt(after), line)

    # All tests at once

    def _deselected(self) -> Iterator[TestChange]:
        """Tests that are still there and that configuration or a conftest leaves out."""
        is_wide = [s.choice for s in self.was.selections] != [s.choice for s in self.now.selections]
        is_wide |= any(
            "collect_ignore" in side.texts.get(p, "") for side in (self.was, self.now) for p in self.changed
        )
        left_out: dict[str, list[str]] = {}
        for path in self.was.paths if is_wide else self.changed:
            if not self.was.suite.is_test_file(path) or path not in self.now.texts or self.was.left_out(path):
                continue
            reason = self.now.left_out(path)
            if not reason and not self.now.suite.is_test_file(path):
                reason = "`python_files`"
            if reason:
                left_out.setdefault(reason, []).append(path)
                continue
            tests = self.now.tests(path)
            for name, test in (
                self.was.tests(path).items() if self._has_options or self._patterns_differ else ()
            ):
                other = tests.get(name)
                reason = (
                    self.now.deselected(other) if other is not None and not self.was.deselected(test) else ""
                )
                if other is None and path not in self.changed:
                    reason = "`python_classes` or `python_functions`"
                if reason:
                    left_out.setdefault(reason, []).append("::".join([path, *name.split(".")]))
        for reason, ids in sorted(left_out.items()):
            yield self._left_out(reason, ids)

    @cached_property
    def _patterns_differ(self) -> bool:
        return self.was.suite.patterns != self.now.suite.patterns

    @cached_property
    def _has_options(self) -> bool:
        return any(name in ("-k", "-m", "--deselect") for s in self.now.selections for name, _ in s.options)

    def _left_out(self, reason: str, ids: list[str]) -> TestChange:
        match = re.search(r"of `(.*)`$", reason)
        path = match[1] if match else next(iter([s.path for s in self.now.selections]), ids[0])
        was, now = (side.texts.get(path, "").splitlines() for side in (self.was, self.now))
        before = "\n".join(line for line in was if line not in now)
        after = "\n".join(line for line in now if line not in was)
        shown = ", ".join(f"`{name}`" for name in ids[:3]) + (
            f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        )
        line = next((number for number, text in enumerate(now, 1) if text not in was), 0)
        what = f"{reason} leaves out {shown}"
        return TestChange(path, "", "not-run", what, excerpt(before), excerpt(after), line)

    def _conftest_fixtures(self) -> Iterator[TestChange]:
        """What the fixtures and hooks of a conftest that no test asks for skip or replace, and what it does itself."""
        for path in sorted(self.changed & self.now.suite.modules.keys()):
            module, old = self.now.suite.modules[path], self.was.suite.modules.get(path)
            if not path.endswith("conftest.py"):
                continue
            for name, node in module.scope.bound.items():
                if not isinstance(node, FUNCTIONS) or not (is_autouse(node) or name.startswith("pytest_")):
                    continue
                before = old.scope.bound.get(name) if old is not None else None
                now = read(self.now.suite, Test(module, module, name, node))
                was = Reading()
                if old is not None and isinstance(before, FUNCTIONS):
                    was = read(self.was.suite, Test(old, old, name, before))
                text = old.source(before) if old is not None and isinstance(before, FUNCTIONS) else ""
                place = (excerpt(text), excerpt(module.source(node)), node.lineno)
                stop = next((what for key, what in sorted(now.stops.items()) if key not in was.stops), "")
                if stop and is_autouse(node):
                    yield TestChange(
                        path, name, "not-run", f"a fixture that all tests get skips: {stop}", *place
                    )
                for target, statement in sorted(now.patched.items()):
                    if target not in was.patched and self._is_tested(path, target):
                        yield TestChange(
                            path, name, "replaced", f"replaces what is tested: `{statement}`", *place
                        )
            held = old.scope.attributes if old is not None else {}
            for owner, values in module.scope.attributes.items():
                for attribute in values.keys() - held.get(owner, {}).keys():
                    if self._is_tested(path, f"{owner}.{attribute}"):
                        what = f"replaces what is tested: `{owner}.{attribute}`"
                        after = excerpt(ast.unparse(values[attribute]))
                        yield TestChange(
                            path, "", "replaced", what, "", after, getattr(values[attribute], "lineno", 0)
                        )

    def _is_tested(self, conftest: str, target: str) -> bool:
        """Whether a test below the conftest demands something of what is replaced."""
        folder = conftest.rpartition("/")[0]
        name = re.compile(rf"\b{re.escape(target.rpartition('.')[2])}\b")
        for path in self.was.paths:
            is_below = not folder or path.startswith(f"{folder}/")
            if is_below and self.was.suite.is_test_file(path) and name.search(self.was.texts[path]):
                for test in self.was.tests(path).values():
                    if _is_hit(target, self.was.reading(test).demands, test.home):
                        return True
        return False


def _runs_async(test: Test, texts: Mapping[str, str]) -> bool:
    marks = ast.unparse(ast.Tuple([d for node in (*test.owners, test.node) for d in node.decorator_list]))
    if re.search(
        r"asyncio|anyio|trio|tornado|pytestmark",
        marks + ("pytestmark" if "pytestmark" in test.home.text else ""),
    ):
        return True
    return any(
        re.search(r"asyncio[_-]mode\W+auto|IsolatedAsyncioTestCase|anyio_backend", text)
        for text in texts.values()
    )


def _is_met(wanted: Demand, demands: Sequence[Demand], calls: Sequence[str]) -> bool:
    if wanted.op == "runs" and any(wanted.subject in call for call in calls):
        return True
    if any(d.guards <= wanted.guards and implies(d, wanted) for d in demands):
        return True
    parts = list(elements(wanted))
    return bool(parts) and all(_is_met(part, demands, ()) for part in parts)


def _is_prepared(was: str, now: str, is_same: bool) -> bool:
    """Whether two demands that are written alike differ only in how what they are about is prepared.

    Another literal is another input or expectation; another function around it is another demand.
    """
    words = [_WORD.findall(LITERAL.sub("", text)) for text in (was, now)]
    if words[0] == words[1]:
        return False
    if _outline(was) == _outline(now):
        return True
    called = [set(_CALLED.findall(text)) for text in (was, now)]
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


def _loose(demand: Demand) -> list[str]:
    """The words of a demand without the names of arguments and without what an object is made with."""
    text = demand.normal
    for _ in range(3):
        text = _MADE.sub(r"\1()", text)
    return [token for token in _TOKEN.findall(_KEYWORD.sub("", text)) if token != ","]


def _is_hit(target: str, demands: Sequence[Demand], module: Module) -> bool:
    """Whether what is replaced is what the demands are about."""
    owner, _, name = target.rpartition(".")
    place, last = owner.partition(".")[0], owner.rpartition(".")[2]
    for demand in demands:
        shown = f"{demand.subject} {demand.expected}"
        called = set(_CALLED.findall(shown))
        origins = {n: module.scope.imports.get(n, ("", ""))[0] for n in called}
        if owner in ("sys.modules", "modules"):
            if any(
                origin.partition(".")[0] == name.partition(".")[0] for origin in origins.values() if origin
            ):
                return True
        elif name in called or (demand.op != "runs" and f".{name}" in shown):
            origin = origins.get(name, "")
            known = {*origin.split("."), *_WORD.findall(shown), *module.scope.imports}
            if last in known and last not in (
                "requests",
                "time",
                "os",
                "random",
                "datetime",
                "subprocess",
                "socket",
            ):
                return True
            if origin and place == origin.partition(".")[0]:
                return True
    return False


def _became(wanted: Demand, found: Demand) -> str:
    """What is demanded now in place of what was, in a clause."""
    if wanted.text == found.text and wanted.expected == found.expected:
        return f"`{wanted.text}` is about `{found.subject[:80]}` where it was about `{wanted.subject[:80]}`"
    is_short = max(len(wanted.expected), len(found.expected)) < 80
    if wanted.op == found.op == "==" and wanted.subject == found.subject and is_short:
        return f"expects {found.expected} where it expected {wanted.expected}: `{wanted.subject[:80]}`"
    if wanted.op == found.op == "raises":
        if found.expected != wanted.expected:
            return f"expects {found.expected} where it expected {wanted.expected}"
        return f"no longer matches {wanted.value!r}: `{wanted.shown}`"
    if wanted.op == found.op == "~=" and wanted.expected == found.expected:
        sides = (f"rel={t[0]}, abs={t[1]}" for t in (found.tolerance, wanted.tolerance))
        return "compares with tolerance {} where it was {}".format(*sides) + f": `{wanted.subject}`"
    return f"`{wanted.shown}` became `{found.shown}`"
