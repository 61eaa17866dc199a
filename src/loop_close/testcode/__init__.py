"""Compare the tests of a project at the start of a loop with those of now, and say what was done to them.

The tests of now have to demand at least what the earlier ones demanded.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from loop_close.testcode.changes import (
    BY_KNOWN,
    Kind,
    TestChange,
    excerpt,
    fingerprint,
    hints,
    hook_changes,
    patch_changes,
)
from loop_close.testcode.demands import BASES, Demand, TestAnalysis, became, same_start
from loop_close.testcode.matching import (
    CALLED,
    WORD,
    DemandIndex,
    SuiteDifference,
    Work,
    is_about,
    is_retargeted,
    renamed,
)
from loop_close.testcode.nodes import TOO_DEEP, TOO_LARGE
from loop_close.testcode.reach import read
from loop_close.testcode.selection import configuration_changes, difference, known_changes
from loop_close.testcode.suite import FUNCTIONS, Function, Module, Test, is_autouse
from loop_close.text import listed

__all__ = ["Kind", "TestChange", "compare_tests", "fingerprint", "known_changes"]

_MAX_SEARCHED = 20
_MAX_FOLLOWED = 40
_MAX_LIKELY = 8
_MAX_LINES = 400_000
_MAX_WORK = 3_500_000
_SNAPSHOT = re.compile(r"snap|\.ambr$|golden|approved|expected", re.IGNORECASE)
_PART = re.compile(r"\w+")
# A condition that is about another platform, or an older version, than that of most machines.
_ELSEWHERE = re.compile(
    r"(?:sys\.)?platform (?:==|in) \(?(?:['\"](?:win32|darwin|cygwin)['\"](?:, )?)+\)?"
    r"|(?:sys\.)?platform\.startswith\(['\"](?:win|darwin|cygwin)\w*['\"]\)|(?:os\.)?name == ['\"]nt['\"]"
    r"|(?:platform\.)?system\(\) == ['\"](?:Windows|Darwin)['\"]|(?:sys\.)?version_info < \(3, \d+[^)]*\)"
)
_CONSTANT = re.compile(r"(?:\w+\.)*[A-Z][A-Z\d_]*")
_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)", re.MULTILINE)


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
    :returns: sorted by file and line; empty if all that was demanded still is.
    """
    found: list[TestChange] = []
    try:
        if dict(before) != dict(after):
            found += _SuiteComparison(before, after).changes()
        if code_after is not None:
            found += hints(code_before or {}, code_after, after)
    except RecursionError:
        changed = [path for path in before if before[path] != after.get(path)]
        found = [TestChange(path, "", "not-compared", "nested too deeply to be compared") for path in changed]
    return tuple(sorted(set(found), key=lambda c: (c.file, c.line, c.test, c.kind, c.what)))


class _SuiteComparison(SuiteDifference):
    """What differs, test by test."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        super().__init__(before, after, Work(_MAX_WORK))
        self._followed: Counter[str] = Counter()
        self._searched: dict[frozenset[str], list[Test]] = {}
        self._near = DemandIndex(self.work)
        self._known_near: set[tuple[str, str]] = set()
        self._edited: set[tuple[str, str]] = set()
        self._functions: dict[str, tuple[dict[str, Function], dict[str, Function]]] = {}

    def changes(self) -> Iterator[TestChange]:
        yield from configuration_changes(self.was.texts, self.now.texts)
        yield from hook_changes(self.was.suite, self.now.suite)
        yield from patch_changes(self.was.suite, self.now.suite)
        yield from self._conftest_fixtures()
        yield from self._deselected()
        for path in sorted(self.changed & self.was.texts.keys()):
            if _SNAPSHOT.search(path) and not path.endswith(".py"):
                text, now = self.was.texts[path], self.now.texts.get(path, "")
                yield difference(
                    path, "unclear", "the snapshot changed" if now else "the snapshot is gone", text, now
                )
        found: list[TestChange] = []
        yield from self._not_read()
        for path in self.affected:
            if self._fault(path):
                continue
            tests = self.was.tests(path)
            own = [change for test in tests.values() if (change := self._of_test(test)) is not None]
            if self.was.suite.modules[path].tree is None:  # then all that is known are the names
                texts = self.was.texts[path], self.now.texts.get(path, "")
                lost = set(_DEFINED.findall(texts[0])) - set(_DEFINED.findall(texts[1]))
                own = [TestChange(path, name, "deleted", "the test is gone") for name in sorted(lost)]
            is_gone = path not in self.now.texts and len(own) >= len(tests) > 1
            if is_gone and {change.kind for change in own} == {"deleted"}:
                what = f"the file is gone, with its {len(tests)} tests"
                own = [TestChange(path, "", "deleted", what, excerpt(self.was.texts[path]))]
            found += own
        yield from self._by_helper(found)

    def _fault(self, path: str) -> str:
        """In words why a file that changed cannot be compared, if it is Python."""
        modules = (side.suite.modules.get(path) for side in (self.now, self.was))
        faults = [module.fault for module in modules if module is not None and path in self.changed]
        return next((fault for fault in faults if fault in (TOO_LARGE, TOO_DEEP)), "")

    def _not_read(self) -> Iterator[TestChange]:
        """The files that cannot be compared, and statements that may define anything."""
        for path in sorted(self.changed & self.now.suite.modules.keys()):
            if self._fault(path):
                yield TestChange(path, "", "not-compared", f"the file {self._fault(path)}")
                continue
            old = self.was.suite.modules.get(path)
            for text in self.now.suite.modules[path].scope.dynamic:
                if old is None or text not in old.scope.dynamic:
                    what = f"`{excerpt(text)}` may define or replace anything"
                    yield TestChange(path, "", "unclear", what, "", excerpt(text))

    def _by_helper(self, found: Sequence[TestChange]) -> Iterator[TestChange]:
        """One change for all tests that a changed helper weakens in the same way."""
        groups: dict[tuple[str, ...], list[TestChange]] = {}
        for change in found:
            is_own = change.kind in ("deleted", "not-run") or (change.file, change.test) in self._edited
            is_own &= change.kind != "not-compared"
            key = (change.id,) if is_own else (change.kind, change.before, change.after)
            groups.setdefault(key, []).append(change)
        for group in groups.values():
            more = f" (so in {len(group)} tests)" if len(group) > 1 else ""
            yield replace(group[0], what=group[0].what + more)

    @cached_property
    def _demanded(self) -> DemandIndex:
        """All that new tests demand."""
        found = DemandIndex(self.work)
        for test in self.added:
            found.add(self._live_demands(test))
        return found

    @cached_property
    def _made(self) -> str:
        """All that new tests call."""
        return "\n".join(call for test in self.added for call in self.now.reading(test).calls)

    def _live_demands(self, test: Test) -> Sequence[Demand]:
        is_run = not self.now.left_out(test.module.path) and not self.now.deselected(test)
        return self.now.reading(test).demands if is_run and self.now.is_live(test) else ()

    # One test

    def _of_test(self, test: Test) -> TestChange | None:
        other = self._counterpart(test)
        if other is not None and (self.is_as_it_was(test, other) or self._is_enough(test, other)):
            return None
        change = self._against(test, other) if not self.work.is_spent else None
        if self.work.is_spent:
            return TestChange(*test.key, "not-compared", "too much changed at once for it to be compared")
        return change

    def _against(self, test: Test, other: Test | None) -> TestChange | None:
        path = test.module.path
        if self.was.left_out(path) or not self.was.is_live(test):
            return None
        was = self.was.reading(test)
        if other is None:
            missing = self._missing(test, None)
            if was.demands and not missing:
                return None
            other = self._likely(test)
            if other is None:
                return self._gone(test)
        if self._lacks_fixture(test, other):
            return None
        now = self.now.reading(other)
        if was.is_brief != now.is_brief:  # both or none: the rows of a brief one are demands
            was, now = self.was.reading(test, is_brief=True), self.now.reading(other, is_brief=True)
        if was.excess != now.excess:
            return self._changed(test, other, "not-compared", "is too large to be compared")
        stops = [
            (what, _is_doubtful(key, was, now))
            for key, what in sorted(now.stops.items())
            if key not in was.stops
        ]
        stop = next((what for what, is_doubtful in stops if not is_doubtful), "")
        missing = self._missing(test, other)
        is_async = isinstance(other.node, ast.AsyncFunctionDef) and isinstance(test.node, ast.FunctionDef)
        if is_async and not _runs_async(other, self.now.texts):
            return self._changed(test, other, "not-run", "is `async`, and no plugin is asked to run it")
        if self.now.is_known(other) and not self.was.is_known(test):
            return self._changed(test, other, "not-run", BY_KNOWN)
        if stop and not (was.demands and not self._missing(test, None) and other.key != test.key):
            return self._changed(test, other, "not-run", stop)
        replaced = self._replaced(was, now, other)
        if replaced:
            return self._changed(test, other, "replaced", replaced)
        if missing:
            return self._weaker(test, other, missing)
        return self._changed(test, other, "unclear", stops[0][0]) if stops else None

    def _lacks_fixture(self, test: Test, other: Test) -> bool:
        """Whether a test that is as it was asks for a fixture that is gone: it fails, and demands the same."""
        if test.home.source(test.node) != other.home.source(other.node):
            return False
        modules = (other.module, *self.now.suite.conftests(other.module.path))
        texts = [self.now.texts.get(module.path, "") for module in modules]
        names = [each.arg for each in (*other.node.args.args, *other.node.args.kwonlyargs)]
        # A name in quotes may be that of a fixture that is made in another way.
        names = [name for name in names if not any(f"{q}{name}{q}" in text for text in texts for q in "'\"")]
        return any(
            self.was.suite.fixture(test, name)[1] is not None
            and self.now.suite.fixture(other, name)[1] is None
            for name in names
        )

    def _is_enough(self, test: Test, other: Test) -> bool:
        """Whether a test is as it was, and of what it uses so many tests were followed that one more says no more."""
        source = test.home.source(test.node)
        if source != other.home.source(other.node):
            return False
        names = self._changed_for(test.module.path) & {*WORD.findall(source), "*", "pytestmark"}
        is_enough = bool(names) and all(self._followed[name] >= _MAX_FOLLOWED for name in names)
        self._followed.update(names)
        return is_enough

    def _counterpart(self, test: Test) -> Test | None:
        same = self.now.tests(test.module.path).get(test.name)
        if same is not None:
            return same
        named = self._added_by_name.get(test.name.rpartition(".")[2], [])
        whole = next((t for t in named[:_MAX_SEARCHED] if t.name == test.name), None)
        return whole or (named[0] if len(named) == 1 else None)

    @cached_property
    def _added_by_name(self) -> dict[str, list[Test]]:
        found: dict[str, list[Test]] = {}
        for test in self.added:
            found.setdefault(test.name.rpartition(".")[2], []).append(test)
        return found

    @cached_property
    def _added_about(self) -> dict[str, list[Test]]:
        """The new tests by what they demand something of, and by the words of their source with their file."""
        found: dict[str, list[Test]] = {}
        for test in self.added:
            reading, (path, _) = self.now.reading(test), test.key
            subjects = {demand.subject for demand in (*reading.demands, *(d for d, _ in reading.dead))}
            words = {f"{path}:{word}" for word in _PART.findall(test.home.source(test.node))}
            self.work.spend(len(words))
            for key in subjects | words:
                found.setdefault(key, []).append(test)
        return found

    def _alike(self, keys: Iterable[str]) -> list[Test]:
        """The new tests that share most, the rare counting more."""
        counted: dict[tuple[str, str], float] = {}
        tests: dict[tuple[str, str], Test] = {}
        for key in sorted(set(keys)):
            named = self._added_about.get(key, [])
            self.work.spend(min(len(named), 2 * _MAX_SEARCHED) + 1)
            for test in named[: 2 * _MAX_SEARCHED]:
                tests[test.key] = test
                counted[test.key] = counted.get(test.key, 0) + 1 / len(named)
        return [tests[key] for key in sorted(counted, key=lambda key: (-counted[key], key))[:_MAX_LIKELY]]

    def _likely(self, test: Test) -> Test | None:
        """Of the new tests the one that demands most of the same, or says nearly the same."""
        demands, source = self.was.reading(test).demands, test.home.source(test.node)
        near = self._alike(demand.subject for demand in demands)
        near += self._alike(f"{test.module.path}:{word}" for word in _PART.findall(source))
        best, most = None, 0.0
        for other in dict.fromkeys(near):
            own = self.now.reading(other)
            every = DemandIndex(self.work, [*own.demands, *(demand for demand, _ in own.dead)])
            score = float(sum(every.find(wanted, is_guarded=False) is not None for wanted in demands))
            if 2 * score < len(demands):
                if other.module.path != test.module.path or len(source) >= 4000:
                    continue
                self.work.spend(len(source) // 4)
                matcher = difflib.SequenceMatcher(None, source, other.home.source(other.node), autojunk=False)
                is_near = matcher.quick_ratio() > 0.75 and matcher.ratio() > 0.75
                score = score + 1 if is_near else 0.0
            if score > most:
                best, most = other, score
        return best

    def _missing(self, test: Test, other: Test | None) -> list[Demand]:
        """What a test demanded that is demanded no more, by itself or by any other."""
        is_run = other is not None and (bool(self.was.deselected(test)) or not self.now.deselected(other))
        own = self.now.demanded(other) if other is not None and is_run else DemandIndex(self.work)
        calls = "\n".join(self.now.reading(other).calls) if other is not None and is_run else ""
        wanted = dict.fromkeys(self.was.reading(test).demands)
        missing = [w for w in wanted if not (own.meets(w) or (w.op == "runs" and w.subject in calls))]
        left = [w for w in missing if not self._is_met_elsewhere(w, test)]
        if left and other is not None:
            is_same = test.home.source(test.node) == other.home.source(other.node)
            left = [w for w in left if not any(self._is_renamed(w, d, is_same) for d in own.alike(w))]
        return left

    def _is_renamed(self, wanted: Demand, found: Demand, is_same: bool) -> bool:
        """Whether it is the same demand, with other names for what has that name nowhere else, or another patch."""
        if is_retargeted(wanted, found):
            return True
        pairs = renamed(wanted, found, is_same)
        return pairs is not None and not any(a in self.now.words or b in self.was.words for a, b in pairs)

    def _is_met_elsewhere(self, wanted: Demand, test: Test) -> bool:
        """Whether a new test demands it, or one that has the same calls."""
        called = set(CALLED.findall(f"{wanted.subject} {wanted.expected}"))
        called -= {"each", "entered", "len", "sorted"}
        if called and self._demanded.meets(wanted):
            return True
        if wanted.op == "runs":
            self.work.spend(len(self._made) // 1000)
            return wanted.subject in self._made
        names = frozenset(called & set(WORD.findall(test.home.source(test.node))))
        for other in self._mentioning(names) if names else ():
            if other.key not in self._known_near:
                self._known_near.add(other.key)
                self._near.add(self._live_demands(other))
        return bool(names) and self._near.meets(wanted)

    def _mentioning(self, names: frozenset[str]) -> list[Test]:
        """Some tests that have all of the names, those of changed files first."""
        if names not in self._searched:
            found: list[Test] = []
            paths = set.intersection(*(self.now.words.get(name, set()) for name in names))
            self.work.spend(len(paths))
            files = filter(self.now.suite.is_test_file, paths)
            near = sorted(files, key=lambda path: (path not in self.changed, path))
            for path in near[: 3 * _MAX_SEARCHED] if not self.work.is_spent else ():
                if len(found) < _MAX_SEARCHED:
                    tests = [self.now.tests_with(path).get(name, []) for name in names]
                    rarest = min(tests, key=len)
                    self.work.spend(min(len(rarest), 10 * _MAX_SEARCHED))
                    some = rarest[: 10 * _MAX_SEARCHED]
                    found += [t for t in some if names <= set(WORD.findall(t.home.source(t.node)))]
            self._searched[names] = found[: 2 * _MAX_SEARCHED]
        return self._searched[names]

    # In words

    def _weaker(self, test: Test, other: Test, missing: list[Demand]) -> TestChange:
        now, own, was = self.now.reading(other), self.now.demanded(other), self.was.demanded(test)
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        void = [text for text in now.void if text not in self.was.reading(test).void]
        dead = DemandIndex(self.work, [dead for dead, _ in now.dead])
        for wanted in missing:
            swallowed = dead.find(wanted, is_guarded=False) or next(iter(dead.same(wanted)), None)
            if swallowed is not None:
                why = next(w for d, w in now.dead if d.line == swallowed.line and d.text == swallowed.text)
                kind: Kind = "not-run" if "does not run" in why or "never calls" in why else "weakened"
                return self._changed(test, other, kind, f"{why}: `{wanted.shown}`{more}", wanted)
        for wanted in missing:
            found = own.find(wanted, is_guarded=False)
            if found is not None and not found.guards <= wanted.guards:
                only = min(found.guards - wanted.guards, key=lambda guard: (guard in now.contexts, guard))
                if only in now.contexts:
                    what = f"`{wanted.shown}` is inside `{now.contexts[only]}`, which may swallow its failure{more}"
                    return self._changed(test, other, "unclear", what, wanted, found)
                what = f"asserts `{wanted.shown}` only under `{only}`{more}"
                return self._changed(test, other, "weakened", what, wanted, found)
        for wanted in missing:
            about = own.about(wanted.subject)
            near = next((d for d in about if was.find(d, is_guarded=False) is None), next(iter(about), None))
            if near is not None:
                kind = "unclear" if _is_open(wanted, near) else "weakened"
                return self._changed(test, other, kind, became(wanted, near) + more, wanted, near)
        wanted = missing[0]
        if wanted.op != "runs" and all(d.op == "runs" for d in now.demands) and not void:
            why = next((why for _, why in now.dead), "")
            what = f"asserts nothing any more: {why}" if why else "asserts nothing any more"
            return self._changed(test, other, "weakened", what + more, wanted)
        lost = DemandIndex(self.work, missing)
        weaker = next((d for d in now.demands if d.op != "runs" and lost.find(d, is_guarded=False)), None)
        if weaker is not None and not void:
            what = f"`{wanted.shown}` became `{weaker.shown}`{more}"
            return self._changed(test, other, "weakened", what, wanted, weaker)
        if void:
            return self._changed(test, other, "weakened", f"`{void[0]}` is always true{more}", wanted)
        new = [d for d in now.demands if was.find(d, is_guarded=False) is None][:_MAX_SEARCHED]
        if new:
            closest = max(
                new, key=lambda d: difflib.SequenceMatcher(None, d.normal[:400], wanted.normal[:400]).ratio()
            )
            is_inside = wanted.subject == closest.expected or wanted.subject in closest.subject
            kind = "weakened" if wanted.op == closest.op and is_inside else "unclear"
            return self._changed(test, other, kind, became(wanted, closest) + more, wanted, closest)
        return self._changed(test, other, "weakened", f"no longer asserts `{wanted.shown}`{more}", wanted)

    def _replaced(self, was: TestAnalysis, now: TestAnalysis, other: Test) -> str:
        for target, text in sorted(now.patched.items()):
            if target not in was.patched and is_about(target, was.demands, other.home):
                return f"replaces what it tests: `{text}`"
        return ""

    def _gone(self, test: Test) -> TestChange:
        """A test that is not collected any more: it may still be there."""
        path, module = test.module.path, self.now.suite.modules.get(test.module.path)
        source = excerpt(test.home.source(test.node))
        if module is None:
            return TestChange(path, test.name, "deleted", "the file is gone", source)
        if module.tree is None:
            return TestChange(path, test.name, "not-run", f"the file {module.fault}", source)
        last = test.name.rpartition(".")[2]
        by_name, by_body = self._written(module)
        node = by_body.get(ast.dump(ast.Module(test.node.body, []))) or by_name.get(last)
        if node is not None:
            name = f" as `{node.name}`" if node.name != last else ""
            what = f"it is still written{name}, but pytest does not collect it"
            after = excerpt(module.source(node))
            return TestChange(path, test.name, "not-run", what, source, after, node.lineno)
        return TestChange(path, test.name, "deleted", "the test is gone", source)

    def _written(self, module: Module) -> tuple[dict[str, Function], dict[str, Function]]:
        """The functions of a module by their names and by their bodies."""
        if module.path not in self._functions:
            walked = ast.walk(module.tree) if module.tree else ()
            nodes = [node for node in walked if isinstance(node, FUNCTIONS)]
            by_body = {ast.dump(ast.Module(node.body, [])): node for node in reversed(nodes)}
            self._functions[module.path] = {node.name: node for node in reversed(nodes)}, by_body
        return self._functions[module.path]

    def _changed(
        self,
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
            before, after = _changed_lines(one, two)
        line = found.line if found and found.line and one != two else other.node.lineno
        if other.key != test.key:
            what = f"now `{other.name}`: {what}"
        path, name = (other if other.key != test.key and other.name == test.name else test).key
        if one != two:
            self._edited.add((path, name))
        return TestChange(path, name, kind, what, excerpt(before), excerpt(after), line)

    # All tests at once

    def _deselected(self) -> Iterator[TestChange]:
        """Tests that are still there and that configuration or a conftest leaves out."""
        is_wide = [s.choice for s in self.was.selections] != [s.choice for s in self.now.selections]
        is_wide |= any(
            "collect_ignore" in side.texts.get(p, "") for side in (self.was, self.now) for p in self.changed
        )
        selects = self.was.suite.patterns != self.now.suite.patterns
        selects |= any(
            name in ("-k", "-m", "--deselect") for s in self.now.selections for name, _ in s.options
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
            for name, test in self.was.tests(path).items() if selects else ():
                other = tests.get(name)
                is_held = other is not None and not self.was.deselected(test)
                reason = self.now.deselected(other) if other is not None and is_held else ""
                if other is None and path not in self.changed:
                    reason = "`python_classes` or `python_functions`"
                if reason:
                    left_out.setdefault(reason, []).append("::".join([path, *name.split(".")]))
        for reason, ids in sorted(left_out.items()):
            yield self._left_out(reason, ids)

    def _left_out(self, reason: str, ids: list[str]) -> TestChange:
        match = re.search(r"of `(.*)`$", reason)
        path = match[1] if match else next(iter([s.path for s in self.now.selections]), ids[0])
        shown = listed(ids, 3, lambda name: f"`{name}`")
        was, now = self.was.texts.get(path, ""), self.now.texts.get(path, "")
        return difference(path, "not-run", f"{reason} leaves out {shown}", was, now)

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
                was = TestAnalysis()
                if old is not None and isinstance(before, FUNCTIONS):
                    was = read(self.was.suite, Test(old, old, name, before))
                text = old.source(before) if old is not None and isinstance(before, FUNCTIONS) else ""
                place = (excerpt(text), excerpt(module.source(node)), node.lineno)
                stop = next((what for key, what in sorted(now.stops.items()) if key not in was.stops), "")
                if stop and is_autouse(node):
                    what = f"a fixture that all tests get skips: {stop}"
                    yield TestChange(path, name, "not-run", what, *place)
                for target, statement in sorted(now.patched.items()):
                    if target not in was.patched and self._is_tested(path, target):
                        what = f"replaces what is tested: `{statement}`"
                        yield TestChange(path, name, "replaced", what, *place)
            held = old.scope.attributes if old is not None else {}
            for owner, values in module.scope.attributes.items():
                for attribute in values.keys() - held.get(owner, {}).keys():
                    if self._is_tested(path, f"{owner}.{attribute}"):
                        what = f"replaces what is tested: `{owner}.{attribute}`"
                        node, line = values[attribute], getattr(values[attribute], "lineno", 0)
                        yield TestChange(path, "", "replaced", what, "", excerpt(ast.unparse(node)), line)

    def _is_tested(self, conftest: str, target: str) -> bool:
        """Whether a test below the conftest demands something of what is replaced."""
        folder = conftest.rpartition("/")[0]
        name = re.compile(rf"\b{re.escape(target.rpartition('.')[2])}\b")
        for path in self.was.paths:
            is_below = not folder or path.startswith(f"{folder}/")
            if is_below and self.was.suite.is_test_file(path) and name.search(self.was.texts[path]):
                for test in self.was.tests(path).values():
                    if is_about(target, self.was.reading(test).demands, test.home):
                        return True
        return False


def _runs_async(test: Test, texts: Mapping[str, str]) -> bool:
    marks = ast.unparse(ast.Tuple([d for node in (*test.owners, test.node) for d in node.decorator_list]))
    if "pytestmark" in test.home.text or re.search(r"asyncio|anyio|trio|tornado|pytestmark", marks):
        return True
    automatic = re.compile(r"asyncio[_-]mode\W+auto|IsolatedAsyncioTestCase|anyio_backend")
    return any(automatic.search(text) for text in texts.values())


def _changed_lines(was: list[str], now: list[str]) -> tuple[str, str]:
    """The lines that differ; of very many all between the first and the last that do."""
    head = same_start(was, now)
    one, two = was[head:], now[head:]
    if len(one) * len(two) > _MAX_LINES:
        return "\n".join(one), "\n".join(two)
    matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
    blocks = [b for b in matcher.get_opcodes() if b[0] != "equal"]
    before = "\n".join(line for _, i, j, _, _ in blocks for line in one[i:j])
    return before, "\n".join(line for _, _, _, i, j in blocks for line in two[i:j])


def _is_doubtful(key: str, was: TestAnalysis, now: TestAnalysis) -> bool:
    """Whether a skip is one that another took the place of, or is for another platform than those of most."""
    way, _, condition = key.partition(" ")
    is_other = any(k.partition(" ")[0] == way and k not in now.stops and k != key for k in was.stops)
    return bool(condition) and (is_other or _ELSEWHERE.fullmatch(condition) is not None)


def _is_open(wanted: Demand, found: Demand) -> bool:
    """Whether the new expectation may well be the old one: a name of the code under test that has its value."""
    if wanted.op == found.op == "raises":
        kinds = set(WORD.findall(found.expected))
        is_known = bool(kinds & BASES.keys()) or wanted.value not in (..., found.value)
        return not is_known
    return wanted.value is not ... and _CONSTANT.fullmatch(found.expected) is not None
