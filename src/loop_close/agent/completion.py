"""Whether a response reports that the work is done, by the rules of Nity's ResponseAnalyzer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loop_close.agent.analysis import CompletionSignal
from loop_close.agent.claims import reading_of
from loop_close.agent.confidence import HIGH, TESTS, VERY_HIGH, combined
from loop_close.agent.echo import echo_of, words_of_task
from loop_close.agent.qualifiers import doubt_in, is_good_news
from loop_close.agent.response import Response
from loop_close.agent.sentences import Sentence
from loop_close.agent.words import Level, Mention, mentions
from loop_close.agent.work import is_about_work, is_aside

_MAX_QUALIFIERS = 5
_SHOWN = 160
_DOUBTED = 0.3
_FRACTION = re.compile(
    r"\b(\d{1,6}) ?(?:/|of|out of) ?(?:the |all )?(\d{1,6}) (?:\w+ )?(?:tests?|specs?) \w*\s?(?:pass|green"
    r"|succe)"
)
# What agents are told to end their message with: Ralph's status block, ralph-orchestrator's check box.
_EXIT = re.compile(r"^[\s>*_`#-]*EXIT[_ ]SIGNAL[*_`]*\s*[:=]\s*[*_`]*(true|false|yes|no)\b", re.IGNORECASE)
#: The check box that ralph-orchestrator's agents tick in the file of their task.
BOX = re.compile(r"^\s*[-*+]\s+\[([ xX]?)\]\s+[*_`]*TASK_COMPLETE\b")
_DENIED = {"exit signal": "its exit signal is false", "task_complete": "its box TASK_COMPLETE is not checked"}
_STRENGTH = {"very high": VERY_HIGH, "high": HIGH, "tests": TESTS}


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a response says of completion.

    :ivar claims: (keyword, level) of each that counts, in order, once.
    :ivar doubts: the sentences that say the contrary.
    """

    claims: tuple[tuple[str, Level], ...] = ()
    doubts: tuple[str, ...] = ()


def said_in(response: Response, task: str = "") -> Said:
    """The claims and the doubts of a response.

    :param task: the task's description, whose own words are discounted.
    """
    words = words_of_task(task)
    claims: dict[str, Level] = {}
    doubts: list[tuple[bool, str]] = []  # (whether good news can settle it, the sentence)
    marker, denied = _markers(response)
    for sentence in response.sentences:
        made, is_denied = _claims(sentence, response, words)
        doubt = "open" if is_denied else _doubt(sentence)
        if "very high" in made.values() or (is_good_news(sentence) and not doubt):
            doubts = [known for known in doubts if not known[0]]
        if doubt:
            doubts.append((doubt == "failing", sentence.text))
        claims |= {name: level for name, level in made.items() if name not in claims or level == "very high"}
    claims |= marker
    return Said(claims=tuple(claims.items()), doubts=(*denied, *_shown(doubts), *_output(response)))


def _markers(response: Response) -> tuple[dict[str, Level], tuple[str, ...]]:
    """What the last exit signal and the last check box say: claims and denials. No task says them for the agent."""
    found: dict[str, bool] = {}
    for line in response.lines:
        if line.kind not in ("code", "quote", "test") or not line.text.startswith(("    ", "\t", ">")):
            signal, box = _EXIT.match(line.text), BOX.match(line.text)
            if signal:
                found["exit signal"] = signal[1].lower() in ("true", "yes")
            if box:
                found["task_complete"] = box[1] in ("x", "X")
    levels: dict[str, Level] = {"exit signal": "high", "task_complete": "very high"}
    made = {name: levels[name] for name, is_set in found.items() if is_set}
    return made, tuple(_DENIED[name] for name, is_set in found.items() if not is_set)


def signal_of(said: Said, response: Response) -> CompletionSignal:
    """Two signals or a very strong one complete, where nothing is taken back.

    A test run shown to be green is a signal as one that is told of.
    """
    levels = [level for _, level in said.claims if level != "tests"]
    has_tests = response.is_green or any(level == "tests" for _, level in said.claims)
    strength = (
        combined(*(_STRENGTH[level] for level in levels), TESTS if has_tests else 0.0) if levels else 0.0
    )
    is_enough = "very high" in levels or (bool(levels) and len(levels) + has_tests >= 2)
    return CompletionSignal(
        detected=is_enough and not said.doubts,
        keywords=tuple(name for name, level in said.claims if level != "tests"),
        test_only=response.is_test_only,
        confidence=round(strength * _DOUBTED, 2) if said.doubts else strength,
        qualifiers=said.doubts,
    )


def _claims(sentence: Sentence, response: Response, task: str) -> tuple[dict[str, Level], bool]:
    """The keywords that the sentence claims, and whether it denies one."""
    made: dict[str, Level] = {}
    is_denied = False
    for mention in mentions(sentence.text):
        reading = reading_of(sentence.text, mention)
        is_denied = is_denied or reading == "open"
        level = _level(sentence, mention, response, task) if reading == "claim" else None
        if level is not None:
            made.setdefault(mention.keyword.name, level)
    return made, is_denied


def _level(sentence: Sentence, mention: Mention, response: Response, task: str) -> Level | None:
    """How much a claim counts for; None for small talk and for the task's own words."""
    level = mention.keyword.level
    if level == "high" and _is_small_talk(sentence.text, response):
        return None
    echo = echo_of(sentence.text, mention, task)
    if echo == "phrase":
        return None
    return "high" if echo == "bare" and level == "very high" else level


def _is_small_talk(text: str, response: Response) -> bool:
    """A keyword counts where work is reported: in its sentence, or in one beside a terse "done"."""
    if is_aside(text):
        return True
    is_terse = len(text.split()) <= 4
    return not is_about_work(text) and not (is_terse and response.tells_of_work)


def _doubt(sentence: Sentence) -> str:
    counts = _FRACTION.search(sentence.text)
    if counts is not None and int(counts[1]) < int(counts[2]):
        return "failing"
    return doubt_in(sentence)


def _shown(doubts: Sequence[tuple[bool, str]]) -> Iterable[str]:
    return dict.fromkeys(text[:_SHOWN] for _, text in doubts[-_MAX_QUALIFIERS:])


def _output(response: Response) -> tuple[str, ...]:
    """A response that shows a failing run last does not report completion."""
    tally = response.tally
    if tally is None or tally.is_green:
        return ()
    return (f"its test output: {tally.failed} failed" if tally.failed else "its test output is not green",)
