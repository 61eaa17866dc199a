"""What to do first about a root cause: where to look, and the command that runs the failing tests again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from loop_close import lazy
from loop_close.causes.clues import swallowed_for
from loop_close.facts import base_name, failure_place, innermost, is_environment, links, test_function
from loop_close.lazy import dataclass
from loop_close.memory import Progress
from loop_close.model import Failure, Frame, Observation, Raised, Report, RootCause, Suspect
from loop_close.progress.fingerprints import id_of
from loop_close.prompt import plain, safe
from loop_close.syntax import edited_at
from loop_close.syntax.meaning import MODULE
from loop_close.text.redact import MARK

#: From this probability on a place is called probable, below it possible.
PROBABLE = 0.5
#: Below this one no place is clear.
POSSIBLE = 0.25
_MOST_FAILURES = 200
# Of two places of one root cause, so much of the probability of the first makes the second as good a place to look.
_NEAR = 0.5
_MOST_CAUSES = 10
_DEFINITION = lazy.pattern(r"\s*(?:async\s+def|def|class)\s")
_LINE = lazy.pattern(r"\bline ([0-9]{1,6})\b")


def representative(cause: RootCause) -> Failure:
    """The failure that is shown for all of them."""
    failure = cause.evidence[0].failure
    assert failure is not None
    return failure


_XPASS = "XPASS(strict)"


def name_of(cause: RootCause) -> str:
    """What kind of thing went wrong: the exception's type, a checker and its rule, else the detector's kind.

    A test that passes against its strict mark has no exception, but pytest has a word for it.
    """
    failure = representative(cause)
    if failure.phase == "check" or is_environment(failure):
        return f"{failure.tool} {failure.code}".strip() or cause.kind
    if failure.raised is not None:
        return failure.raised.type
    return _XPASS if failure.message.startswith(f"[{_XPASS}]") else cause.kind


@dataclass(frozen=True, slots=True)
class ProbablePlace:
    """Where to look first for a root cause.

    :ivar function: the qualified name; empty if none is known.
    :ivar score: the probability from 0 to 1 of a suspect; None for the location of the failure.
    :ivar start: the line in which the function of a suspect begins, 0 if it is unknown.
    :ivar mark: the line that counts, 0 for none.
    :ivar why: why that line counts: ``raised``, ``odd`` (it sets failing tests apart), ``edited``, ``removed`` (lines
        above it were removed); empty for others.
    :ivar constant: what a statement outside of functions binds; empty for others.
    """

    file: str
    line: int
    function: str
    score: float | None = None
    start: int = 0
    mark: int = 0
    why: str = ""
    constant: str = ""

    @property
    def where(self) -> str:
        """``file:line``, or the file alone."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def source_key(self) -> tuple[str, str, int]:
        """What is equal for places whose source is the same; two functions of a file may have one name."""
        return self.file, self.function, self.start

    @property
    def called(self) -> str:
        """``cost()``, or ``RATES``; empty for other code outside of functions."""
        if self.constant:
            return self.constant
        return f"{self.function}()" if self.function and self.function != MODULE else ""


def probable_place(cause: RootCause, progress: Progress | None = None) -> ProbablePlace:
    """The likeliest suspect, at the line that counts; the failure's own location where nothing is likely."""
    if cause.suspects:
        first = cause.suspects[0]
        line, why = _line_and_why(cause, progress)
        return ProbablePlace(
            first.file,
            line or _line_of_definition(first),
            first.function,
            first.score,
            first.line,
            line,
            why,
            first.constant,
        )
    file, line, function = failure_place(representative(cause))
    return ProbablePlace(file, line, function, mark=line)


def _line_of_definition(suspect: Suspect) -> int:
    """The line of its ``def`` or ``class``: a function begins with its decorators."""
    source = suspect.source
    if source is None or source.start != suspect.line or not source.lines[0].lstrip().startswith("@"):
        return suspect.line
    numbers = (
        number for number, text in zip(source.numbers, source.lines, strict=True) if _DEFINITION.match(text)
    )
    return next(numbers, suspect.line)


def _line_and_why(cause: RootCause, progress: Progress | None) -> tuple[int, str]:
    """The line of the first suspect that counts, 0 for none, and why.

    The first that is known of these: the line that raised the exception, the edited line, the line that sets the
    failing tests apart, the line on the traceback.
    """
    suspect = cause.suspects[0]
    if suspect.constant:
        return suspect.line, ""
    frames = frames_of(representative(cause).raised)
    own = [f for f in frames if (f.file, base_name(f.function)) == (suspect.file, suspect.function)]
    if own and frames[-1] is own[-1]:
        return own[-1].line, "raised"
    if suspect.source is not None and suspect.function != MODULE:
        at = edited_in(suspect.source.lines, suspect, progress)
        if at is not None:
            is_there = any(re.search(r"(?m)^\+", diff) for diff in _diffs(suspect, progress))
            return suspect.source.start + at, "edited" if is_there else "removed"
    if suspect.odd[0] or suspect.function == MODULE:
        return suspect.odd[0] or suspect.line, "odd" if suspect.odd[0] else ""
    return (own[-1].line, "") if own else (0, "")


def frames_of(raised: Raised | None) -> Sequence[Frame]:
    """The frames of a traceback without those that hide themselves."""
    return [frame for frame in raised.frames if not frame.is_hidden] if raised is not None else ()


def cited_lines(cause: RootCause, file: str, report: Report) -> frozenset[int]:
    """The lines of a file that the block of a root cause may name by their numbers, and the places of other causes."""
    failures = [each.failure for each in cause.evidence[:_MOST_FAILURES] if each.failure is not None]
    raised = [*(failure.raised for failure in failures), *links(failures[0].raised)]
    frames = [
        *frames_of(failures[0].raised),
        *(frame for frame in map(innermost, raised) if frame is not None),
    ]
    swallowed = swallowed_for(cause, report.observation.calls)
    # As a SyntaxError does, a message may be about a line.
    texts = (failures[0].message, *chain.from_iterable(each.reasons for each in cause.suspects))
    named = {
        *(probable_place(each, report.progress).where for each in report.causes[:_MOST_CAUSES]),
        *(f"{each.file}:{each.odd[0]}" for each in cause.suspects),
        *(f"{each.file}:{each.line}" for each in cause.findings),
        *(f"{each.file}:{each.line}" for each in frames),
        *(f"{each.file}:{each.line}" for each in swallowed),
        *(each.caught for each in swallowed),
        *(f"{file}:{number}" for text in texts for number in _LINE.findall(text)),
    }
    lines = (each.removeprefix(f"{file}:") for each in named if each.startswith(f"{file}:"))
    return frozenset(int(line) for line in lines if line.isdecimal())


def edited_in(lines: Sequence[str], suspect: Suspect, progress: Progress | None) -> int | None:
    """The index of the line that was edited right before it began to fail; if that is gone, since then.

    :returns: None if it was not edited, or if the line cannot be found.
    """
    first, *others = _diffs(suspect, progress) or [""]
    found = (edited_at(lines, diff) for diff in (first, *reversed(others)))
    return next((at for at in found if at is not None), None)


def _diffs(suspect: Suspect, progress: Progress | None) -> list[str]:
    """The recorded edits of a function since right before it began to fail, the first one first."""
    steps = progress.episode.steps if progress is not None and suspect.edited else ()
    edits = (edit for step in steps if step.run >= suspect.edited for edit in step.edits.edits)
    return [
        e.diff for e in edits if e.is_effective and (e.file, e.function) == (suspect.file, suspect.function)
    ]


def place_in_words(cause: RootCause, progress: Progress | None) -> str:
    """``probably cost() in src/shop/shipping.py:15``, or the exception and its location; plain text for a title."""
    at = probable_place(cause, progress)
    if at.score is not None:
        sure = how_sure(at.score)
        return f"{sure} {f'{plain(at.called)} in ' if at.called else ''}{plain(at.where)}"
    where = f" at {plain(at.where)}" if at.file else ""
    return f"{plain(name_of(cause))}{where}"


def are_one_place(causes: Sequence[RootCause]) -> bool:
    """Whether the root causes are probably one fault: the first suspect of each is the same, and probable."""
    first = [cause.suspects[0] for cause in causes if cause.suspects and cause.suspects[0].score >= PROBABLE]
    places = {_identity(each) for each in first}
    return len(first) == len(causes) and len(places) == 1


def _identity(place: Suspect) -> tuple[str, str, int, str]:
    return place.file, place.function, place.line, place.constant


def earlier_with_same_place(causes: Sequence[RootCause], number: int) -> int:
    """The number of the first root cause before one, from 1, whose first suspect is the same; 0 if there is none."""
    first = [_identity(cause.suspects[0]) if cause.suspects else None for cause in causes[:number]]
    found = first.index(first[-1]) + 1
    return found if first[-1] is not None and found < number else 0


def shared_place(causes: Sequence[RootCause], number: int) -> tuple[Suspect, list[int]] | None:
    """The second or third place of a root cause if it is the first one of others, and nearly as likely as its own.

    Nearly: at least half as likely. It is then ahead of the first once the others' evidence counts too, which makes it
    probable by itself. Of two root causes that each have the other's place only the first is told.

    :param number: of the root cause, from 1.
    :returns: the place and the numbers of the others; None if there is none.
    """
    shown = causes[:_MOST_CAUSES]
    for each in _near_places(shown[number - 1]) if number <= len(shown) else ():
        others = [n for n, other in enumerate(shown, 1) if n != number and _is_first(each, other)]
        told = (n < number and _is_told(shown[n - 1], shown[number - 1]) for n in others)
        if others and not any(told):
            return each, others
    return None


def _near_places(cause: RootCause) -> list[Suspect]:
    return [each for each in cause.suspects[1:3] if each.score >= _NEAR * cause.suspects[0].score]


def _is_first(place: Suspect, cause: RootCause) -> bool:
    return any(_identity(each) == _identity(place) and each.score >= PROBABLE for each in cause.suspects[:1])


def _is_told(earlier: RootCause, later: RootCause) -> bool:
    return any(_is_first(each, later) for each in _near_places(earlier))


def how_sure(score: float) -> str:
    """A probability as a word."""
    if score >= PROBABLE:
        return "probably"
    return "possibly" if score >= POSSIBLE else "no clear place, at best"


def percent(score: float) -> str:
    """``62 %``; neither 0 nor 100, as nothing is certain."""
    return f"{min(max(round(100 * score), 1), 99)} %"


# --- the command that runs the failing tests again

_START = "--loop-close"
#: Options of pytest-split, pytest-shard and pytest-test-groups that choose a part of the tests.
_SHARD_OPTIONS = frozenset(
    ("--splits", "--group", "--num-shards", "--shard-id", "--test-group-count", "--test-group")
)
#: Bytes that the named tests may take: fewer where an option says the same in one word.
_MAX_SELECTED = 200
_MAX_BESIDE_OPTION = 120


def rerun_command(observation: Observation) -> str:
    """A POSIX shell command, every word quoted, that selects just the failing tests.

    Node ids if they are few, else the option that reads them from the state folder. A command without such an
    option gets the test functions, the test files, or no selection, the first that is short enough.
    """
    words = _words(observation)
    nodeids = selected_tests(observation)
    if names_tests(observation):
        return shlex.join([*words, *_arguments(nodeids)])
    if observation.failed_option and any(failure.nodeid for failure in observation.failures):
        return shlex.join([observation.failed_option if word == _START else word for word in words])
    functions = sorted({test_function(n) for n in nodeids})
    files = sorted({n.split("::", 1)[0] for n in nodeids})
    choices = (nodeids, functions, files) if observation.takes_ids else ()
    return shlex.join(
        [*words, *next((_arguments(c) for c in choices if c and _is_short(c, observation)), ())]
    )


def rerun_commands(observations: Sequence[Observation]) -> list[str]:
    """Commands that run what failed in several sources again; environments of one runner share a command.

    Each of these environments finds its own failing tests by the option that reads them from the state folder. Sources
    that are run by the same words, as another interpreter runs them, share a command, too. Beside tests of another
    command, theirs are named: what the option reads is of all sources.
    """
    environments: dict[tuple[str, ...], list[str]] = {}
    others: dict[tuple[str, ...], Observation] = {}
    order: dict[tuple[str, ...], None] = {}
    for each in observations:
        words = each.rerun
        is_named = each.takes_ids and not each.failed_option and bool(words) and words[-1] == "--"
        if _has_own_list(each) and not is_named:
            option = each.failed_option or _START
            key = (words[0], words[1], *(option if word == _START else word for word in words[3:]))
            environments.setdefault(key, []).append(words[2])
        elif words:
            key = words
            known = others.get(key)
            others[key] = (
                each if known is None else replace(known, failures=(*known.failures, *each.failures))
            )
        else:
            continue
        order.setdefault(key)
    tests = [each.rerun for each in observations if any(failure.nodeid for failure in each.failures)]
    is_alone = len({*tests}) < 2
    return [
        _of_environments(key, environments[key])
        if key in environments
        else rerun_command(others[key] if is_alone else _by_name(others[key]))
        for key in order
    ]


def rerun_of_source(observation: Observation, observations: Iterable[Observation]) -> str:
    """The command for one of several sources, which runs no other's failing tests."""
    of_others = (each for each in observations if each is not observation)
    is_alone = _has_own_list(observation) or not any(f.nodeid for each in of_others for f in each.failures)
    return rerun_command(observation if is_alone else _by_name(observation))


def _has_own_list(observation: Observation) -> bool:
    """Whether it is run again by a runner of environments, each of which has a list of its failing tests."""
    words, made = observation.rerun, observation.provenance
    return bool(words) and words[0] == made.runner and made.environment in words[:3]


def _by_name(observation: Observation) -> Observation:
    """The same with its failing tests named, or their files, as the option would read those of other sources."""
    return replace(observation, failed_option="")


def _of_environments(words: Sequence[str], names: Sequence[str]) -> str:
    """``tox -e py311,py312 -- …`` or ``nox -s tests-3.11 tests-3.12 -- …``."""
    runner, flag, *rest = words
    once = dict.fromkeys(names)
    named = [",".join(once)] if runner == "tox" else once
    return shlex.join([runner, flag, *named, *rest])


def names_tests(observation: Observation) -> bool:
    """Whether :func:`rerun_command` spells out the node id of every failing test."""
    nodeids = selected_tests(observation)
    is_whole = {f.nodeid for f in observation.failures if f.nodeid} == {*nodeids}
    is_possible = observation.rerun and observation.takes_ids and nodeids
    return bool(is_possible) and is_whole and _is_short(nodeids, observation)


def command_for(observation: Observation, tests: Sequence[str]) -> str:
    """The same for tests that are known by name; all tests if they are many or cannot be shown."""
    tests = [*map(id_of, tests)]
    words, nodeids = _words(observation), sorted({_selectable(test) for test in tests if "::" in test})
    is_named = observation.takes_ids and all(map(is_argument, nodeids)) and {*nodeids} == {*tests}
    if is_named and _is_short(nodeids, observation):
        return shlex.join([*words, *_arguments(nodeids)])
    if observation.failed_option and tests:
        return shlex.join([observation.failed_option if word == _START else word for word in words])
    is_fit = nodeids and "" not in nodeids and _size(nodeids) <= _MAX_SELECTED
    return shlex.join([*words, *(_arguments(nodeids) if is_fit else ())])


def command_for_all(observation: Observation) -> str:
    """The command that runs all tests, also those of other shards."""
    return shlex.join(without_shard(_words(observation)))


def without_shard(words: Sequence[str], *more: str) -> tuple[str, ...]:
    """The command without the options that choose one shard, or these, and their values."""
    kept: list[str] = []
    rest = list(words)
    while rest:
        name, equals, _ = rest[0].partition("=")
        is_dropped = name in _SHARD_OPTIONS or name in more
        kept += [] if is_dropped else rest[:1]
        del rest[: 2 if is_dropped and not equals else 1]
    return tuple(kept)


def argument(nodeid: str) -> str:
    """The node id as a word of a command line, where a folder's name must not be taken for an option or a file."""
    return f"./{nodeid}" if nodeid.startswith(("-", "@")) else nodeid


def _arguments(nodeids: Sequence[str]) -> list[str]:
    """The node ids as words; one that holds a credential cannot be given, but its function can."""
    whole = (test_function(nodeid) if MARK.search(nodeid) else nodeid for nodeid in nodeids)
    return [*dict.fromkeys(map(argument, whole))]


def _words(observation: Observation) -> list[str]:
    """The command without its options where one cannot be shown: half of them would be another command."""
    words = list(observation.rerun)
    if words[1:3] == ["-m", "pytest"] and not _is_showable(words[0]):
        words[0] = python_of(observation.provenance.interpreter)
    if all(map(_is_showable, words)):
        return words
    start = words[: words.index(_START) + 1] if _START in words else []
    return start if start and all(map(_is_showable, start)) else ["pytest", _START]


def python_of(interpreter: str) -> str:
    """The usual name of an interpreter's program: ``python3.11`` for ``cpython-3.11``."""
    name, _, version = interpreter.partition("-")
    return f"{name.removeprefix('c')}{version}" if version else "python"


def _is_short(nodeids: Sequence[str], observation: Observation) -> bool:
    return _size(nodeids) <= (_MAX_BESIDE_OPTION if observation.failed_option else _MAX_SELECTED)


def _size(words: Sequence[str]) -> int:
    """What the words cost, in bytes: other scripts take more than one a character."""
    return len(shlex.join(words).encode("utf-8", "replace"))


def selected_tests(observation: Observation) -> list[str]:
    """The failing tests as they can be shown, sorted, each once; empty if all tests are meant.

    Of a node id that cannot be shown, the function's or the file's is left.
    """
    found = {_selectable(f.nodeid) for f in observation.failures if f.nodeid}
    return [] if "" in found else sorted(found)


def _selectable(nodeid: str) -> str:
    """The node id, or what of it can be shown: that of the whole function, or the file; else nothing."""
    candidates = (nodeid, test_function(nodeid), nodeid.split("::", 1)[0])
    return next((c for c in candidates if _is_showable(c)), "")


def is_argument(nodeid: str) -> bool:
    """Whether a command line is sure to select it: a bracket in a path is none of a test.

    In files that are not Python, an item may have ``::`` in its own name. Only a run that collects it knows.
    """
    path, *names = nodeid.partition("[")[0].split("::")
    return bool(names) and (path.endswith(".py") or len(names) == 1)


def _is_showable(word: str) -> bool:
    """Whether it stays what it is when it is made safe: no controls, no credentials."""
    return safe(word) == word and "\n" not in word
