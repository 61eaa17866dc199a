"""Join verdicts that one wrong function explains.

``assert take(5, convolve(a, b)) == …`` is about ``take``, and as much about ``convolve``. Where other tests fail on
``convolve`` alone, that one function explains both, and the simpler explanation is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from loop_close.facts import is_assertion
from loop_close.model import Evidence, Failure


def join_explained(parts: list[list[int]], failing: Sequence[tuple[Evidence, Failure]]) -> list[list[int]]:
    """Parts whose every failure also involves a function that is all another part involves, joined to that part.

    :param parts: positions in ``failing`` that are known to belong together.
    """
    involved = [_involved([failing[i] for i in part]) for part in parts]
    simple = {next(iter(names)): n for n, names in enumerate(involved) if len(names) == 1}
    joined: dict[int, list[int]] = {}
    kept = []
    for n, part in enumerate(parts):
        explaining = [simple[name] for name in involved[n] if name in simple and simple[name] != n]
        if explaining:
            target = min(explaining, key=lambda other: (-len(parts[other]), min(involved[other])))
            joined.setdefault(target, []).extend(part)
        else:
            kept.append(n)
    return [parts[n] + joined.get(n, []) for n in kept]


def _involved(failing: Sequence[tuple[Evidence, Failure]]) -> frozenset[tuple[str, str]]:
    """The functions that every one of the failures involves; empty when one is no verdict on a known function.

    Each with the kind of the evidence: failures of different kinds are never joined.
    """
    names: frozenset[tuple[str, str]] | None = None
    for evidence, failure in failing:
        site = failure.raised.site if failure.raised is not None else None
        if site is None or not site.origins or not is_assertion(failure.raised):
            return frozenset()
        own = {*site.inner, *(f"{o.file}:{o.function}" for o in site.origins if not o.is_test)}
        kinds = frozenset((evidence.kind, name) for name in own)
        names = kinds if names is None else names & kinds
    return names or frozenset()
