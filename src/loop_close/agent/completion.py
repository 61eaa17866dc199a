"""Whether a response reports that the work is done, by the rules of Nity's ResponseAnalyzer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from loop_close.agent.response import (
    HIGH,
    TESTS,
    VERY_HIGH,
    CompletionSignal,
    Response,
    Sentence,
    any_of,
    clause_at,
    clauses_of,
    combined,
    is_about_work,
    is_aside,
    is_question,
)
from loop_close.records import Record

_MAX_QUALIFIERS = 5
_SHOWN = 160
_DOUBTED = 0.3
_FRACTION = re.compile(
    r"\b(\d{1,6}) ?(?:/|of|out of) ?(?:the |all )?(\d{1,6}) (?:\w+ )?(?:tests?|specs?) \w*\s?(?:pass|green"
    r"|succe)"
)
# How agents are asked to end their message: Ralph's status block, ralph-orchestrator's check box.
_EXIT = re.compile(r"^[\s>*_`#-]*EXIT[_ ]SIGNAL[*_`]*\s*[:=]\s*[*_`]*(true|false|yes|no)\b", re.IGNORECASE)
#: The check box that ralph-orchestrator's agents tick in the file of their task.
BOX = re.compile(r"^\s*[-*+]\s+\[([ xX]?)\]\s+[*_`]*TASK_COMPLETE\b")
_DENIED = {"exit signal": "its exit signal is false", "task_complete": "its box TASK_COMPLETE is not checked"}
_STRENGTH = {"very high": VERY_HIGH, "high": HIGH, "tests": TESTS}


class CompletionClaims(Record, frozen=True, kw_only=True):
    """What a response says of completion.

    :ivar claims: (keyword, level) of each that counts, in order, once.
    :ivar doubts: the sentences that say the contrary.
    """

    claims: tuple[tuple[str, Level], ...] = ()
    doubts: tuple[str, ...] = ()


def completion_claims(response: Response, task: str = "") -> CompletionClaims:
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
    return CompletionClaims(
        claims=tuple(claims.items()), doubts=(*denied, *_shown(doubts), *_output(response))
    )


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


def completion_signal(said: CompletionClaims, response: Response) -> CompletionSignal:
    """Two signals or a very strong one complete, where nothing is taken back.

    A green test run that is shown is a signal, as one that is only reported.
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


# --- the words by which an agent says that its work is done, and their places in a sentence

#: ``tests`` is not a keyword of completion, but a signal beside one: tests are said to pass.
Level = Literal["very high", "high", "tests"]


class Keyword(NamedTuple):
    """One keyword of Nity's ResponseAnalyzer, with its inflections."""

    name: str
    level: Level
    regex: re.Pattern[str]


class Mention(NamedTuple):
    """A keyword and its place in a sentence."""

    keyword: Keyword
    start: int
    end: int


_PASS = r"(?:pass(?:ed|es|ing)?|green|succeed(?:ed|s)?|successful)\b"
_ARE = r"(?:are |is |have |has |now |all |still |currently |again |successfully |fully |both )*"
_STILL_OPEN = r"(?:remaining|outstanding|unresolved|open)"
_MATTERS = r"(?:issues?|problems?|errors?|failures?|bugs?|work|tasks?|todos?|items?|steps?)\b"
_ALL_TESTS = (
    r"\b(?:all|every|each)(?: of)? (?:the |our |its |your |these |those |single |\d{1,6} |\(\d{1,6}\) "
    r"|existing |new "
    r"|unit |integration |regression |end-to-end |remaining |other |relevant |and )*"
    rf"(?:tests?|specs?|checks?)(?: (?:cases?|suites?))?(?: \([^()]{{1,60}}\))? {_ARE}{_PASS}"
    rf"|\b(?:tests?|specs?|checks?)[:,]? (?:are |is |have |has |now )*all {_ARE}{_PASS}"
    rf"|\b(?:the |our )?(?:entire |full |whole |complete )*(?:test )?suite {_ARE}{_PASS}"
    rf"|\b(\d{{1,6}}) ?(?:/|of|out of) ?\1 (?:tests?|specs?) {_ARE}{_PASS}"
)
_NO_ISSUES = (
    rf"\b(?:no|zero|without any) (?:known |more |further |other )*{_STILL_OPEN} {_MATTERS}"
    rf"|\bno (?:known |more |further |other )*{_MATTERS} (?:are |is )?(?:remain(?:s|ing)?|left|outstanding)\b"
    r"|\bnothing (?:else )?(?:is |was )?(?:left|remains|remaining|outstanding)\b"
)
_READY = (
    r"\bready (?:for (?:\w{1,12} ){0,3}?(?:review|merge|merging)|to (?:be )?(?:reviewed|review|merged?))\b"
)

KEYWORDS: tuple[Keyword, ...] = (
    Keyword("all tests passing", "very high", re.compile(_ALL_TESTS)),
    Keyword("no remaining issues", "very high", re.compile(_NO_ISSUES)),
    Keyword("ready for review", "high", re.compile(_READY)),
    Keyword("done", "high", re.compile(r"(?<![.\w-])done\b(?![(=\w-])")),
    Keyword("complete", "high", re.compile(r"(?<![.\w-])complete[ds]?\b(?![(=\w-])")),
    Keyword("finished", "high", re.compile(r"(?<![.\w-])finished\b(?![(=\w-])")),
    Keyword(
        "tests passing",
        "tests",
        re.compile(
            rf"\b(?:tests?|specs?|everything) {_ARE}{_PASS}"
            r"|\b[1-9]\d{0,6} (?:\w{1,20} )?(?:tests? |specs? )?(?:are |now |all )*(?:passed|passing)\b"
        ),
    ),
)

# No sentence that means something has more.
_MOST = 8


def mentions(sentence: str) -> list[Mention]:
    """The keywords of a sentence in lower case, in order; what is part of a stronger one does not count again."""
    found: list[Mention] = []
    for keyword in KEYWORDS:
        for match in keyword.regex.finditer(sentence):
            start, end = match.span()
            if not any(other.start < end and start < other.end for other in found):
                found.append(Mention(keyword, start, end))
    return sorted(found, key=lambda mention: mention.start)[:_MOST]


# Text around a keyword of completion that makes it no report: the patterns, for text in lower case.
# Those that end in ``$`` are asked of what comes before the keyword, those that begin with ``^`` of what
# comes after it.

_NEGATED = re.compile(
    r"(?:\bnot(?! (?:only|just|to mention)\b)|n't|\bnever|\bcannot|\bnothing|\bnone|\bnobody|\bhardly|\bbarely"
    r"|\bfar from|\bno longer|\byet to be|\bwithout|\bneither|\bnor|\bno)\b[ \w'`…]{0,40}$"
)
#: A negation of the past says nothing about now.
_NEGATED_PAST = re.compile(r"\b(?:was|were|had)(?:n't| not)\b[ \w'`…]{0,40}$")
_BARELY = re.compile(
    r"(?:\b(?:almost|nearly|mostly|partially|partly|largely|half(?:way)?|just about|practically|virtually|basically"
    r"|essentially|more or less)|(?<![\d.])\d{1,2} ?(?:%|percent)) (?:all )?$"
)
_SO_FAR = re.compile(r"^\W*(?:so far|for the most part|partially|in part|mostly)\b")

#: Somewhere before it in its clause: a wish, a plan, a condition, a guess.
_HYPOTHETICAL = any_of(
    r"\b(?:will|won't|shall|going to|gonna|about to|i'd)\b|\w'll\b",
    r"\b(?:once|whenever|when|until|till|before|if|unless|as soon as|whether|in order to|so that)\b",
    r"\b(?:to (?:be|have|consider|keep|make|see|confirm)|get(?:ting)?|mak(?:e|es|ing))\b",
    r"\b(?:should|must|would|could|might|may|needs?|wants?|wanted|asked|hope(?:fully)?|expect\w*|supposed)\b",
    r"\b(?:ensur(?:e|es|ing)|verify(?:ing)?|check(?:ing)? (?:that|if|whether)|see if|let(?:'s| me| us))\b",
    r"\b(?:plan(?:s|ning)? to|try(?:ing)? to|aim\w*|wait\w*|working|towards?|continue|keep going|don't stop)\b",
    r"\b(?:my|your|our|the) (?:goal|aim|objective|task|job) (?:is|was) (?:to|that)\b|\bgoal:",
    r"\b(?:probably|likely|perhaps|maybe|i think|i believe|i guess|seems?|appears?)\b",
    r"\b(?:pretend\w*|imagine|suppose|assum\w+|claim\w*|definition of|mark(?:s|ed|ing)? .{0,30}\bas)\b",
)
#: In the clause before, joined by "and": its wish goes on.
_CARRIED = re.compile(
    r"(?:\b(?:until|ensur(?:e|es|ing)|mak(?:e|es|ing) sure|once|let(?:'s| me| us)|must|will|goal|need to|verify|want)\b"
    r"|\w'll\b)[^,;]*\b(?:and|or)\s*$"
)
_AFTER = re.compile(r"\bafter (?!\w+ing\b)")
#: "When I ran the tests" is about the past.
_RAN = re.compile(r"\b(?:when|once) (?:i|we) (?:re-?)?(?:ran|run|\w+ed)\b")
_CONDITION_FIRST = re.compile(
    r"^\W*(?:and |so |but |then |now )?(?:if|unless|once|until|when|whenever|as soon as|assuming|provided)\b"
)
_CONDITION_AFTER = re.compile(r"^\W*(?:\w+ ){0,3}?(?:if|once|as soon as|unless|until|provided)\b")
_CONDITION_LATER = re.compile(r"^[\s,—–-]*(?:once|as soon as|until|unless|provided|assuming|pending)\b")
_WHEN = re.compile(r"^ when\b")
_QUESTION_FIRST = re.compile(
    r"^\W*(?:and |so |but )?"
    r"(?:(?:is|are|am|was|were|do|does|did|has|have|can|could|should|shall|will|would|may)(?:n't)?"
    r" (?:it|this|that|we|you|i|they|the|all|everything|there|your|my|our)|why|how|who)\b"
)
#: "done, complete or finished": an enumeration of states.
_LISTED, _LISTED_AFTER = re.compile(r"\bor $"), re.compile(r"^,? or (?!i\b|we\b)")

_PARTS = (
    r"half|(?:a|one|two|three) (?:third|quarter|fifth)s?|some|most|many|several|a few|a couple|parts?|the bulk"
    r"|the majority|\d{1,2} ?(?:%|percent)"
)
#: "half of the work is", before the keyword: it is of a part.
_OF_PART = re.compile(
    rf"(?:^|[^\w])(?:(?:only|about|around|roughly|nearly|almost|over|more than|at least) )*(?:{_PARTS})"
    r" of (?:the|my|our|your|this|that|these|those|it|all|them|what|everything)\b[\w '`…-]{0,60}$"
)
_WORDS = "one two three four five six seven eight nine ten"
_NUMBERS = {word: str(number) for number, word in enumerate(_WORDS.split(), 1)}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBERS)})\b")
_OF_HOW_MANY = re.compile(r"\b(\d{1,4}) ?(?:of|/|out of) ?(?:the |all )?(\d{1,4})\b")
_PART = any_of(
    r"\b(?:step|phase|part|stage|milestone|section|item|chunk|round)s? (?:#?\d{1,4}|one|two|three|[ivx]+)\b",
    r"\b(?:first|second|initial|next|previous) (?:\w+ )?(?:step|part|half|phase|stage|pass|task|milestone|round)\b",
)

_YOU = re.compile(r"\byou(?:'re|'ve| are| have| were| had| get)?(?: \w+)? $")
_IDIOM = re.compile(
    r"\b(?:well|nicely|said than|good as|over and|easier|can be|being|gets?|getting|it'll be|have i|have you) $"
)
_IDIOM_AFTER = re.compile(r"^ (?:deal|talking|waiting|with you)\b")
#: "It is done by the parser": how something works.
_IS, _HOW = (
    re.compile(r"\b(?:is|are|was|were|gets?|be|been|being|it's|that's) (?:\w+ )?$"),
    re.compile(
        r"^ (?:by|via|using|through|in|inside|at|on|when|where|per|lazily|automatically|only|first|before|after|to"
        r"|elsewhere)\b"
    ),
)
#: "the complete list", "of finished jobs": a property of a thing.
_OF_A_THING = re.compile(
    r"\b(?:the|a|an|of|for|any|each|every|only|some|no|non|their|marks?|status|on|with|is_|to)[ -]$"
)
_PREDICATE = re.compile(
    r"(?:^|\b(?:is|are|was|were|be|been|now|have|has|i|we|i've|we've|it's|that's|successfully|fully|all|also|just"
    r"|looks|everything|already|\w+:))\W*$"
)
_PREDICATE_AFTER = re.compile(r"^\W*(?:$|[.!,;:)]|(?:and|with|for|now|as|on|in|again|\W)\b)")
#: "finished in 3s", "finished with exit code 1": what programs print.
_PRINTED = re.compile(r"^ (?:in|after) \d|^ (?:with|at) (?:exit|code|\d)|^ (?:dev|release|test) ")
_COMPLETES = re.compile(
    r"^ (?:the|this|all|my|our|both)\b.{0,40}\b(?:task|work|fix|implementation|feature|migration|change)"
)
_NOTHING_FOLLOWS = re.compile(r"^[\s.!\"'`✅🎉]*$")


#: ``claim``: it says so. ``open``: it says the contrary. ``none``: it says neither.
Reading = Literal["claim", "open", "none"]


class Around(NamedTuple):
    """A keyword with the text around it.

    :ivar before: the rest of its clause to the left; ``after`` to the right.
    :ivar earlier: the sentence before the clause; ``later`` the sentence after the keyword.
    """

    keyword: str
    before: str
    after: str
    earlier: str
    later: str


def reading_of(sentence: str, mention: Mention) -> Reading:
    """What the keyword says in its sentence.

    :param sentence: in lower case.
    """
    left, right = clause_at(sentence, mention.start, mention.end)
    around = Around(
        keyword=sentence[mention.start : mention.end],
        before=sentence[left : mention.start],
        after=sentence[mention.end : right],
        earlier=sentence[:left],
        later=sentence[mention.end :],
    )
    if is_question(sentence) or _QUESTION_FIRST.match(sentence) or _is_hypothetical(around):
        return "none"
    is_high = mention.keyword.level == "high"
    if is_high and (_AFTER.search(around.before) or _WHEN.match(around.after)):
        return "none"
    if _BARELY.search(around.before) or _SO_FAR.match(around.later):
        return "open"
    if _NEGATED.search(around.before):
        is_report = _NEGATED_PAST.search(around.before) or mention.keyword.level == "tests"
        return "none" if is_report else "open"
    if _is_of_fewer(around):
        return "open"
    return "none" if is_high and (_is_other_sense(around, mention) or _is_of_a_part(around)) else "claim"


def _is_hypothetical(around: Around) -> bool:
    before, earlier = _RAN.sub("", around.before), _RAN.sub("", around.earlier)
    found = (
        _HYPOTHETICAL.search(before)
        or _CONDITION_AFTER.match(around.after)
        or _CONDITION_LATER.match(around.later)
        or _CONDITION_FIRST.match(earlier)
        or _CARRIED.search(earlier)
        or _LISTED.search(before)
        or _LISTED_AFTER.match(around.later)
    )
    return found is not None


def _is_of_fewer(around: Around) -> bool:
    """``3 of 7 are done``, ``half of the work is done``."""
    if _OF_PART.search(around.before):
        return True
    text = _NUMBER_WORD.sub(lambda found: _NUMBERS[found[0]], around.before + around.keyword + around.after)
    counts = _OF_HOW_MANY.search(text)
    return counts is not None and int(counts[1]) < int(counts[2])


def _is_of_a_part(around: Around) -> bool:
    """``Phase 1 is done``, without the number of phases."""
    text = around.before + around.after
    return _PART.search(text) is not None and _OF_HOW_MANY.search(text) is None


def _is_other_sense(around: Around, mention: Mention) -> bool:
    before, after = around.before, around.after
    if _YOU.search(before) or _IDIOM.search(before) or _PRINTED.match(after):
        return True
    if mention.keyword.name == "done":
        is_described = _IS.search(before) and _HOW.match(after)
        return bool(is_described or _IDIOM_AFTER.match(after))
    if around.keyword == "completes":
        return _COMPLETES.match(after) is None
    if around.keyword == "complete" and not _NOTHING_FOLLOWS.match(after):
        return not (_PREDICATE.search(before) and _PREDICATE_AFTER.match(after))
    return mention.keyword.name != "ready for review" and _OF_A_THING.search(before) is not None


# --- what agents write when a completion is none: the patterns, each asked of one clause in lower case

_WORK = r"(?:work|tasks?|items?|steps?|todos?|issues?|failures?|errors?|problems?|tests?|bugs?|parts?|files?)"
_SOME = r"(?:[1-9]\d{0,6}|one|two|three|four|five|six|some|several|a few|a couple of|many|most|half of)"
_LEFT = r"(?:remaining|outstanding|open|unresolved|incomplete|unfinished)"
_DO = r"(?:fix|finish|complete|implement|resolve|address|add|update|do|investigate|handle|write|migrate|port|debug)"
_DONE = (
    r"(?:done|fixed|solved|completed|implemented|finished|added|updated|addressed|resolved|handled|migrated|written"
    r"|ported|investigated|tested|wired)"
)
_ME = r"(?:\bi|\bwe|^) ?(?:\w+ )?"
_COULD_NOT = r"(?:could ?n[o']t|could not|cannot|can't|can not|did(?:n't| not) manage to|failed to)"
_DID_NOT = r"(?:did|do|have)(?:n't| not)"
_CHECKS = (
    r"(?:build|ci|pipeline|lint(?:er|ing)?|type ?check(?:s|er|ing)?|mypy|pyright|ruff|tests?|specs?|suite|compilation"
    r"|job|test_\w+|`…`)"
)
_CONDITION = r"\b(?:if|when|whenever|unless|in case)\b"
_PAST = r"\b(?:(?:was|were)(?:n't)?|previously|before|initially|originally|at first|used to|no longer)\b"


#: It is not finished, and nothing said elsewhere makes it so.
_OPEN = any_of(
    r"(?:^|\b(?:is|are|remains?|still|left|currently|it|status:|but|:)\W+(?:\w+ly )?)"
    r"(?:incomplete|unfinished|unresolved)\b",
    r"\b(?:incomplete|unfinished) (?:work|task|implementation|feature|fix|migration|solution|refactor\w*)",
    r"\b(?:i|we|i've|we've|have|been|task|work|fix|attempt|effort|migration|refactor\w*)\b.{0,30}"
    r"\babandon(?:ed|ing)\b(?! (?:the|my|that|an?) (?:first|initial|original|old|previous|earlier|other))",
    r"(?:: abandoned\b|^abandon(?:ed|ing)\W*(?:$|the (?:task|work|fix|attempt|effort)))",
    r"\b(?:work in progress|wip|in[ _]progress|half-done|half-finished|halfway (?:through|there))\b",
    r"\bpartial(?:ly)? (?:complete\w*|done|finished|implement\w*|fix\w*|work\w*|success|progress|solution)",
    rf"(?:\bnot|n't) (?:yet |been |fully |completely |quite )*(?:{_DONE}|working|passing|there yet|started|begun)\b",
    r"(?<!which )(?<!that )\b(?:is|are) (?:still )?missing\b",
    r"\b(?:ran|run|running) out of (?:time|context|tokens|budget)\b",
    rf"\b(?:left|remain(?:s|ing)?|needs?|still|yet|have|has) to be {_DONE}\b",
    r"\bstill (?:need|have|has|must|requires?|missing|todo|pending|open|outstanding|unresolved|to do|being|left)",
    rf"\b{_SOME} (?:\w+ ){{0,3}}?{_WORK} (?:still |are |is |that )*"
    r"(?:remain(?:s|ing)?|left|outstanding|pending|to go)\b",
    rf"\bthere (?:is|are|remains?) (?:still )?(?:{_SOME} |an? )?(?:\w+ )?{_LEFT} {_WORK}",
    r"^(?:remaining|outstanding|still to do|to ?do|left to do|not done|pending|still open|open items?|unfinished)"
    rf"(?: {_WORK})?\W*:",
    r"^known (?:issues?|bugs?|problems?)\W*:",
    r"\b(?:left|marked) as (?:an? )?(?:todo|follow-?up|stub)|\bleft for (?:an? )?(?:later|follow|another|next)",
    r"\b(?:is|are|remains?) (?:a )?stub(?:bed)?\b|\b(?:unimplemented|untested)\b(?! (?:methods?|functions?))",
    r"\bmost (?:of (?:the |these )?)?(?:\w+ )?tests? (?:now )?pass(?:ing)?\b",
    r"\b(?:is|am|i'm|are|still|currently|got|we're) (?:\w+ )?blocked\b|^blocked\b",
    r"\b(?:will|i'll|we'll) (?:continue|finish|complete|tackle|fix|do the rest|address)\b",
)
#: The clause is about the past, about what is no longer open, or about what the program does.
_NOT_OPEN = any_of(
    _PAST,
    _CONDITION,
    r"\b(?:had been|none|nothing|zero|any more|anymore|instead of)\b",
    rf"\b(?:fixed|resolved|completed|finished|closed|addressed|cleared) (?:\w+ ){{0,3}}{_LEFT}",
    rf"\b(?:no|without) (?:\w+ ){{0,3}}(?:{_LEFT}|left|todo)",
    r"\b(?:raises?|returns?|ensur\w+|so that)\b",
)
#: What the agent itself did not get done, in whatever tense.
_ADMITTED = any_of(
    r"\b(?:gave|giving|have given|had to give) up\b",
    r"(?:\b(?:i|we|i'm|we're|i've)|^)\b ?(?:was |were |am |are |been )?(?:not able|unable) to (?!reproduce)\w+",
    rf"{_ME}{_COULD_NOT} (?:\w+ )?(?:{_DO}|run|verify|make|get|solve|test|figure|build|install|access)\b",
    rf"{_ME}{_DID_NOT} (?:yet )?(?:\w+ )?"
    rf"(?:{_DO}|{_DONE}|g[eo]t(?:ten)? (?:to|around)|run|verify|verified|test|start(?:ed)?|touched|begun)\b",
    r"\bskipped (?:\w+ ){0,3}(?:failing|failed|broken|flaky) tests?\b",
)
_NOT_ADMITTED = any_of(
    _CONDITION,
    r"\b(?:previously|before|initially|originally|at first|used to)\b",
    r"\bany (?:remaining|other|more)\b|\bneed to\b",
)
#: Something fails now; later news may settle it.
_FAILING = any_of(
    r"\b(?:still|currently|keeps?|remains?) (?:fail\w*|broken|red|erroring|crash\w*|hang\w*)\b",
    r"(?:\b(?:is|are|am)|'s|'re) (?:still |now |currently |also |all |both )*"
    r"(?:failing|broken|red|erroring|crashing|hanging)\b",
    rf"\b{_CHECKS}(?: \w+)?(?: is| are)?(?: still| now)?:? (?:fails?|failing|broken|red)\b",
    rf"\b{_SOME} (?:of (?:the |them )?)?(?:\w+ ){{0,2}}?(?:tests?|specs?|checks?|cases?) (?:\w+ )?"
    r"(?:fail(?:s|ing|ed)?|error(?:s|ing)?)\b",
    rf"\b{_SOME} (?:of (?:them|these|those) )?(?:still |now )?fails?\b",
    r"\b[1-9]\d{0,6} (?:failing|failed|failures?|errors?)\b",
    r"\b(?:does|do|did)(?:n't| not) (?:yet |all |even )*(?:pass|compile|build|work)\b",
    r"\bwon't (?:build|compile|pass)\b",
    rf"\b(?:i|we) (?:still |now )*(?:need|have) to {_DO}\b",
    rf"\bneeds? (?:to be {_DONE}|more work|further work|another)\b",
    r"\bunfortunately\b|\bmak(?:es|ing) .{1,40} fail\b",
)
_NOT_FAILING = any_of(
    _PAST,
    _CONDITION,
    r"\b(?:been|earlier|had|no more|now pass\w*|raises?|returns?|would|should|so that)\b",
    r"\b(?:fixe[ds]|resolv(?:ed|es)|repair\w+|address(?:ed|es)|correct(?:ed|s)|solved|cleared)\b",
    r"(?:\b(?:no|none|nothing|zero|not|never|without|instead of)|n't) (?:\w+ ){0,3}(?:fail\w*|broken|red|errors?)\b",
)
#: An exception to a claim; asked of the whole sentence.
_EXCEPT = any_of(
    r"\b(?:done|complete[ds]?|finished|pass(?:ed|es|ing)?|green|review|everything|all)\b.{0,80}?"
    r"\b(?:except|apart from|aside from|other than|save for|excluding|with the exception of|minus|modulo)\b",
    r"^\W*(?:apart from|aside from|other than|except for|except) (?!\w+ing\b)",
)
#: What failed before does no longer; asked of the whole sentence.
_GOOD_NEWS = any_of(
    r"\b(?:now|all|everything) (?:\w+ )?"
    r"(?:pass(?:es|ing|ed)?|green|work(?:s|ing)?|fixed|succeeds?|builds?|compiles?|resolved)\b",
    r"\b(?:pass(?:es|ed)?|green|works|fixed|resolved) now\b",
)


#: ``open``: it stays so, whatever is said elsewhere. ``failing``: until better news follow.
Doubt = Literal["", "open", "failing"]


def doubt_in(sentence: Sentence) -> Doubt:
    """What a sentence says against completion."""
    if sentence.kind == "todo":
        return "open"
    if is_question(sentence.text):
        return ""
    if _EXCEPT.search(sentence.text):
        return "open"
    doubts = {_doubt_of(clause) for clause in clauses_of(sentence.text)}
    return "open" if "open" in doubts else "failing" if "failing" in doubts else ""


def is_good_news(sentence: Sentence) -> bool:
    """Whether it says that what failed before does no longer."""
    return _GOOD_NEWS.search(sentence.text) is not None and not doubt_in(sentence)


def _doubt_of(clause: str) -> Doubt:
    if _ADMITTED.search(clause) and not _NOT_ADMITTED.search(clause):
        return "open"
    if _OPEN.search(clause) and not _NOT_OPEN.search(clause):
        return "open"
    return "failing" if _FAILING.search(clause) and not _NOT_FAILING.search(clause) else ""


_LONGEST = 50_000
_WORD = re.compile(r"[\w']+")
#: So many words beside the keyword make it a phrase, as (before, after).
_BESIDE = ((2, 0), (1, 1), (0, 2))

#: ``phrase``: the words beside it are the task's, too. ``bare``: it is alone, and the task has it.
Echo = Literal["", "bare", "phrase"]


def words_of_task(task: str) -> str:
    """The words of a task, in lower case, a space before and behind each."""
    return f" {' '.join(_words(task[:_LONGEST]))} "


def echo_of(sentence: str, mention: Mention, task_words: str) -> Echo:
    """How far the sentence repeats the task's words around a keyword.

    :param task_words: what :func:`words_of_task` made.
    """
    if not task_words.strip():
        return ""
    before, after = _words(sentence[: mention.start]), _words(sentence[mention.end :])
    keyword = _words(sentence[mention.start : mention.end])
    if len(before) + len(after) < 2:
        return "bare" if len(keyword) > 1 and _is_in([*before, *keyword, *after], task_words) else ""
    for left, right in _BESIDE:
        if left <= len(before) and right <= len(after):
            phrase = [*before[len(before) - left :], *keyword, *after[:right]]
            if _is_in(phrase, task_words):
                return "phrase"
    return ""


def _is_in(phrase: list[str], task_words: str) -> bool:
    return f" {' '.join(phrase)} " in task_words


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))
