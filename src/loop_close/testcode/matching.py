"""Which demands of now meet one of then: looked up by what they are about, with all work counted."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from loop_close.testcode.demands import BUILT_IN, Demand, consequences, elements, implies, is_narrower
from loop_close.testcode.nodes import LITERAL
from loop_close.testcode.suite import Module

CALLED = re.compile(r"([A-Za-z_]\w*)\(")
WORD = re.compile(r"[A-Za-z_]\w*")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_KEYWORD = re.compile(r"\b[A-Za-z_]\w*=(?!=)")
_MADE = re.compile(r"\b([A-Z]\w*)\([^()]+\)(?=\.)")
_CHOICES = (
    *("if", "or", "and", "not", "either", "varying", "round", "abs", "int"),
    *("set", "sorted", "len", "any"),
)
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


class Demanded:
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
        """The demands that are the same but for tolerances, patterns and conditions."""
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
        """Demands that may be the wanted one by other names: written the same, or the same but for names."""
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


def renamed(wanted: Demand, found: Demand, is_same: bool) -> list[tuple[str, str]] | None:
    """The names that differ if two demands are the same but for them, or for how helpers prepare it; None if not.

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
            if any(
                origin.partition(".")[0] == name.partition(".")[0] for origin in origins.values() if origin
            ):
                return True
        elif name in called or (demand.op != "runs" and f".{name}" in shown):
            origin = origins.get(name, "")
            known = {*origin.split("."), *WORD.findall(shown), *module.scope.imports}
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
