"""Seed 003: what an agent says at the end of a turn, whether it reports completion or is stuck, and how sure that is.

After Nity's ResponseAnalyzer. One page of plain patterns: other text is not a claim. They decide nothing that a check
can decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from loop_close.records import Record
from loop_close.text import one_line, sanitize
from loop_close.text.normalize import mask

# --- the records of an analysis


class AnalysisContext(Record, frozen=True, kw_only=True):
    """What is known when a response is looked at.

    :ivar previous_responses: the oldest first.
    :ivar error_history: the errors of the turns so far, one text a turn, the oldest first.
    :ivar task_description: the agent's task.
    """

    previous_responses: tuple[str, ...] = ()
    error_history: tuple[str, ...] = ()
    task_description: str = ""


class CompletionSignal(Record, frozen=True, kw_only=True):
    """Whether the agent says that its work is done.

    :ivar keywords: the keywords that count, each once.
    :ivar test_only: there is test output and no word of a change.
    :ivar confidence: from 0 to 100.
    :ivar qualifiers: the agent's own words that work is left, bounded; also over green checks.
    """

    keywords: tuple[str, ...] = ()
    test_only: bool = False
    confidence: float = 0.0
    qualifiers: tuple[str, ...] = ()

    @property
    def detected(self) -> bool:
        """It reports completion by one very strong keyword or by two signals, without a qualifier."""
        return self.confidence >= 2 * A_SIGNAL


class StuckSignal(Record, frozen=True, kw_only=True):
    """Whether the same error keeps coming.

    :ivar repeated_patterns: errors with their values masked that came often enough, the most frequent first.
    :ivar error_frequency: how often each pattern came.
    :ivar confidence: from 0 to 100.
    """

    repeated_patterns: tuple[str, ...] = ()
    error_frequency: Mapping[str, int] = {}
    confidence: float = 0.0

    @property
    def detected(self) -> bool:
        """Some error came often enough."""
        return bool(self.repeated_patterns)


class AnalysisResult(Record, frozen=True, kw_only=True):
    """The analysis of one response by itself, without the tests.

    :ivar confidence: from 0 to 100: the sum of four parts with their :data:`WEIGHTS`.
    :ivar work_summary: like ``Modified 3 files, 12 tests passing, 2 errors fixed``; empty without any of it.
    :ivar tests: the part of the confidence for tests that are said or shown to pass, from 0 to 100.
    """

    confidence: float = 0.0
    completion_signal: CompletionSignal = CompletionSignal()
    stuck_signal: StuckSignal = StuckSignal()
    work_summary: str = ""
    tests: float = 0.0

    @property
    def exit_reason(self) -> str | None:
        """Why the agent should stop, in a sentence: it is stuck, or claims completion. None if it should go on."""
        stuck, signal = self.stuck_signal, self.completion_signal
        if stuck.detected:
            first = stuck.repeated_patterns[0]
            return f"stuck: {first} ({stuck.error_frequency[first]} times)"
        return f"completion: {', '.join(signal.keywords)}" if signal.detected else None

    @property
    def should_exit(self) -> bool:
        """The agent claims completion with confidence, or it is stuck."""
        return self.exit_reason is not None


#: The seed's weights: how strongly completion is claimed, whether tests pass, how long and specific the response is,
#: that it reports no error.
WEIGHTS = {"keywords": 0.35, "tests": 0.25, "quality": 0.20, "no_errors": 0.20}
#: What one signal adds to the confidence of a completion. A very strong keyword counts for two.
A_SIGNAL = 40.0
#: What the exit strategy ``auto`` asks for: two signals.
ENOUGH = 70.0


# --- the page of patterns, for text in lower case

_TEST = r"(?:tests?|specs?|test suite|checks)"
_PASS = r"pass(?:es|ed|ing)?"
_FILE = r"[\w./-]{1,200}\.(?:py|js|ts|go|rs|java|md|toml|ya?ml|json|sql|sh|c|h|cpp)\b"
_ISSUES = r"(?:issues|errors|failures|problems|bugs|work)"
#: Each keyword of the seed, for how many signals it counts, and how it is said.
KEYWORDS = {
    "all tests passing": (
        2,
        rf"\b(?:all|every) (?:\w+ ){{0,4}}?{_TEST} (?:\w+ ){{0,2}}?(?:{_PASS}|green)\b"
        rf"|\b(\d+)/\1 (?:\w+ )?{_TEST} (?:\w+ )?{_PASS}\b|\b(?:full|whole) test suite (?:\w+ )?(?:green|{_PASS})\b",
    ),
    "no remaining issues": (
        2,
        rf"\bno (?:remaining|outstanding|further|open|more) {_ISSUES}\b|\bno {_ISSUES} remain\b"
        r"|\bnothing (?:is )?(?:left|remains) to (?:do|fix)\b",
    ),
    "ready for review": (1, r"\bready for (?:\w+ ){0,2}?review\b"),
    "complete": (1, r"(?<![\w-])complete[ds]?\b"),
    "done": (1, r"(?<![\w.-])done\b(?![(=-])"),
    "finished": (1, r"(?<![\w-])finish(?:ed|es)\b"),
}
_PASSING = re.compile(rf"\b{_TEST} (?:\w+ ){{0,2}}?{_PASS}\b|\b\d+ (?:\w+ )?{_PASS}\b")
#: A sentence that asks, plans or supposes claims nothing; nor does "That's done!" by itself.
_NO_CLAIM = re.compile(
    r"\?\W*$|\b(?:if|once|when|until|unless|should|must|would|will|i'll|let me|going to|make sure|next|goal|criteria"
    r"|i think|imagine)\b|^\W*(?:that|this|it)(?:'s| is) (?:all )?(?:done|complete|finished)\W*$"
)
_COMPLETED = r"(?:done|completed?|finish(?:ed)?|implement(?:ed)?)\b"
#: The agent says that work is left. Such words count over green checks, too: no check can know.
_OPEN = re.compile(
    rf"(?:\b(?:not|never)|n't) (?:\w+ ){{0,3}}?(?:{_COMPLETED}|there yet\b)|\b\d\d? ?% (?:\w+ ){{0,4}}?{_COMPLETED}"
    rf"|\b(?:almost|nearly|mostly|partial(?:ly)?|half|halfway) (?:\w+ )?{_COMPLETED}"
    rf"|\b(?:half|most|some|one|two|three) of (?:\w+ ){{1,4}}?(?:is|are) (?:\w+ )?{_COMPLETED}"
    r"|\bstill (?:need|have|has) to\b|\b(?:remaining|to ?do)\W*:|\b(?:work|status\W+|task) (?:is )?in[ _]progress\b"
    r"|\b(?:is|are|status:) (?:still )?(?:incomplete|unfinished)\b"
    rf"|\b(?:remains?|left|needs?) to be (?:{_COMPLETED}|written|fixed)|\bi(?:'ll| will) (?:continue|finish)\b"
    r"|\bi gave up\b|\bi (?:could not|couldn't|was unable to|wasn't able to) (?:fix|finish|complete|implement|solve)\b"
)
#: Any word that makes a claim less than one: what fails, what is left out. A check knows better.
_DOUBT = re.compile(
    r"\b(?:not|never) (?:\w+ ){0,3}?(?:\w+ed|done|complete|pass\w*|work\w*|run|there|all)\b|n't (?:\w+ ){0,2}?\w"
    r"|\b(?:incomplete|unfinished|partial(?:ly)?|blocked|unable|almost|mostly|in[ _]progress|so far|gave up"
    r"|except(?:ion)?|apart from)\b|\bstill (?!pass)\w+|\b(?:remains?|left|needs?) (?:to be|more)\b"
    r"|\b(?:remaining|to ?do|pending)\W*:|\bi'll continue\b|\b(?:failing|broken|red|fails)\W*$|\b\d\d? ?% |❌"
    r"|\b(?:[1-9]\d{0,6}|one|two|some|several|most) (?:\w+ ){0,3}?(?:fail(?:s|ed|ing|ures?)?|errors?|remain)\b"
    r"|\b(?:half|most|some|one|two|three) of\b"
)
_FRACTION = re.compile(
    rf"\b(\d{{1,6}}) ?(?:/|of|out of) ?(?:the )?(\d{{1,6}}) (?:\w+ )?(?:{_TEST}|steps|files|cases)\b"
)
#: A doubt about the past, or a question.
_OVER = re.compile(r"\?\W*$|\b(?:no longer|previously|before|was|were|had)\b")
#: A weak keyword counts in a sentence about work.
_WORK = re.compile(
    rf"`…`|\b{_FILE}|\b(?:tasks?|tests?|implement\w*|code|feature|fix(?:ed|es)?|refactor\w*|migration|build|docs?"
    r"|documentation|work|changes?|issue|bug|everything|status)\b"
)
_EDIT = re.compile(
    r"\b(?:added|changed|created|deleted|edited|fixed|implemented|migrated|modified|moved|refactored|removed|renamed|replaced"
    r"|rewrote|rewritten|split|swapped|touched|updated|wired|wrote)\b"
)

# --- markers that agents are asked to end with, and what test runners print

#: The check box that ralph-orchestrator's agents tick; the dash may be missing.
BOX = re.compile(r"^\s*(?:[-*+]\s+)?\[([ xX]?)\]\s+[*_`]*TASK_COMPLETE\b")
_EXIT = re.compile(r"^[\s*_`#-]*EXIT[_ ]SIGNAL[*_`]*\s*[:=]\s*[*_`]*(true|false|yes|no)\b", re.IGNORECASE)
_UNCHECKED = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+\[ ?\]\s(?!\s*[*_`]*TASK_COMPLETE)")
_FENCE = re.compile(
    r"^[ \t]*(?:[-*+] +)?(`{3,}|~{3,})[^\n]*\n(?s:.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE
)
_HIDDEN = (
    (re.compile(r"~~[^~\n]{1,400}~~|https?://\S{1,400}"), " "),
    (re.compile(r"`{1,2}[^`\n]{1,400}`{1,2}"), "`…`"),
    (re.compile(r"[\"“«][^\"“”«»\n]{1,400}[\"”»]|(?<!\w)'[^'\n]{1,400}'(?!\w)"), "…"),
    (re.compile(r"\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)"), ""),
)
#: A line by which a test runner says how a run ended: pytest, unittest, tox, and those of the Jest kind.
_RESULT = re.compile(
    r"(?:=+ )?(?:no tests ran|\d+ \w+\b.{0,200}?) in [\d.]+s\b|OK(?: \(|$)|FAILED \("
    r"|  (?:congratulations|evaluation failed) :|test result: |Tests:\s+\d"
    r"|\s*\d+ (?:passing|failing)\b|\d+ (?:tests?|specs?) (?:passed|failed)\b"
)
#: The other lines that they print.
_TEST_LINE = re.compile(
    rf"{_RESULT.pattern}|\s*(?:PASS|FAIL|SKIP|ERROR)(?:ED)?:? \S|[=_-]{{3,}} .{{1,200}} [=_-]{{3,}}$|[=-]{{60,}}$"
    r"|[.FEsxX]{1,200}(?:\s+\[ *\d+%\])?$|\S+\.py(?:::\S+ [A-Z]+| [.FEsxX]+\s|:\d+: )|(?:collect(?:ed|ing)|Ran) \d+ "
    r"|[E>] {3}|(?:rootdir|plugins|configfile|platform)\b|test\w* \([\w.]+\) \.\.\. |\s*[\w.,-]{1,60}: (?:OK|FAIL)\b"
    r"|Test Suites?:|--- (?:PASS|FAIL):|(?:ok|FAIL)\s+\S+\s+[\d.]+s|\s*[$❯%] .{0,100}(?:test|tox)"
)
_RED = re.compile(r"FAILED|evaluation failed|no tests ran")
_COUNT = re.compile(r"(\d{1,7}) (?:tests? |specs? )?(pass|fail|error)|(?:failures|errors)=(\d{1,7})")
_ERROR_LINE = re.compile(
    r"\s*(?:E {3,})?(?:[A-Za-z_]\w*\.){0,8}[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Group|Warning)(?:: |$)"
    r"|\s*\[?(?:ERROR|FATAL|CRITICAL|Error|error|fatal)\]?(?:\[\w+\])?(?:: ?|\s+-\s)\S"
    r"|\S{1,200}:\d+: (?:fatal )?error\b|(?:FAILED|ERROR) \S+(?:::|\.py)|(?:FAIL|ERROR): test|--- FAIL"
    r"|npm ERR!|Segmentation fault|.{0,200}\b(?:exit(?:ed)? with(?: status| code)? [1-9]\d{0,2}$|command not found)"
)

# --- what is in a response

# Of a longer response the end is read: it has the result.
_LONGEST, _LONGEST_LINE, _MOST_SENTENCES = 200_000, 2_000, 500
# Characters of words around nothing but test output.
_LEAD_IN = 200


class Response(Record, frozen=True, kw_only=True):
    """What is in a response.

    :ivar sentences: the agent's own words in lower case, without what it quotes or shows.
    :ivar lines: its lines without code blocks and quotations.
    :ivar tests: the lines that a test runner printed, in code blocks too.
    """

    sentences: tuple[str, ...]
    lines: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def result(self) -> str:
        """The line by which the last test run ended that it shows; empty without one."""
        return next((line for line in reversed(self.tests) if _RESULT.match(line)), "")

    @property
    def edits(self) -> tuple[str, ...]:
        """The sentences that say that something was changed."""
        return tuple(sentence for sentence in self.sentences if _EDIT.search(sentence))

    @property
    def is_test_only(self) -> bool:
        """Whether it holds test output, and next to no words."""
        return bool(self.tests) and not self.edits and sum(map(len, self.sentences)) <= _LEAD_IN


def read_response(text: str) -> Response:
    """The parts of a response, in linear time."""
    whole = "\n".join(line[:_LONGEST_LINE] for line in sanitize(text[-_LONGEST:]).split("\n"))
    lines = [line for line in _FENCE.sub("", whole).split("\n") if not line.lstrip().startswith(">")]
    own = [line for line in lines if not _TEST_LINE.match(line) and not line.startswith(("    ", "\t"))]
    prose = re.sub(r"(?<=[^\n.!?:])\n(?=[a-z0-9(`])", " ", "\n".join(own))
    for pattern, shown in _HIDDEN:
        prose = pattern.sub(shown, prose)
    sentences = [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n", prose.replace("’", "'").lower())]
    return Response(
        sentences=tuple(filter(None, sentences))[-_MOST_SENTENCES:],
        lines=tuple(lines),
        tests=tuple(line for line in whole.split("\n") if _TEST_LINE.match(line)),
    )


def _counts(result: str) -> tuple[int, int]:
    """How many tests passed and failed by the line that ends a run."""
    found = _COUNT.findall(result)
    passed = sum(int(number) for number, word, _ in found if word == "pass")
    return passed, sum(int(number or other) for number, word, other in found if word != "pass")


def _is_green(result: str) -> bool:
    """Whether no test failed by that line; also without one."""
    return not _counts(result)[1] and not _RED.search(result)


# --- does it report completion


def _signal_of(response: Response, task: str) -> CompletionSignal:
    is_of_work = bool(response.edits or response.tests)
    points = dict(
        claim for each in response.sentences for claim in _claims(each, task, is_of_work=is_of_work)
    )
    markers, denied = _markers(response.lines)
    points |= markers
    qualifiers = [*denied, *(sentence[:_SHOWN] for sentence in response.sentences if _is_open(sentence))]
    is_doubted = any(_DOUBT.search(each) and not _OVER.search(each) for each in response.sentences)
    is_denied = is_doubted or bool(qualifiers) or not _is_green(response.result)
    passes = bool(response.result) or any(_PASSING.search(sentence) for sentence in response.sentences)
    strength = sum(points.values()) + (passes and "all tests passing" not in points) if points else 0
    return CompletionSignal(
        keywords=tuple(points),
        test_only=response.is_test_only,
        confidence=0.0 if is_denied else min(100.0, strength * A_SIGNAL),
        qualifiers=tuple(dict.fromkeys(qualifiers))[:_MAX_QUALIFIERS],
    )


_SHOWN, _MAX_QUALIFIERS = 160, 5


def _claims(sentence: str, task: str, *, is_of_work: bool) -> list[tuple[str, int]]:
    """The keywords that a sentence claims, and for how many signals each counts."""
    if _NO_CLAIM.search(sentence) or _DOUBT.search(sentence):
        return []
    is_of_work = is_of_work or bool(_WORK.search(sentence))
    return [
        (name, count)
        for name, (count, pattern) in KEYWORDS.items()
        if count > 1 or is_of_work
        if (match := re.search(pattern, sentence)) and not _is_echo(sentence, match, task)
    ]


def _is_echo(sentence: str, match: re.Match[str], task: str) -> bool:
    """Whether the task has the keyword too, with the words before or after it."""
    before, after = sentence[: match.start()].split()[-2:], sentence[match.end() :].split()[:2]
    phrases = [[*before, match[0]]] * bool(before) + [[match[0], *after]] * bool(after)
    return any(" ".join(phrase) in task for phrase in phrases or [[match[0]]])


def _is_open(sentence: str) -> bool:
    is_part = any(int(part) < int(whole) for part, whole in _FRACTION.findall(sentence))
    return is_part or (bool(_OPEN.search(sentence)) and not _OVER.search(sentence))


def _markers(lines: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """What the last exit signal and the check boxes say: for how many signals each claim counts, and denials."""
    signals = [match[1].lower() in ("true", "yes") for match in map(_EXIT.match, lines) if match]
    boxes = [match[1] in ("x", "X") for match in map(BOX.match, lines) if match]
    rows = (
        ("exit signal", 1, signals[-1:], "its exit signal is false"),
        ("task_complete", 2, boxes[-1:], "its box TASK_COMPLETE is not checked"),
    )
    claims = {name: count for name, count, is_set, _ in rows if is_set == [True]}
    denied = [words for _, _, is_set, words in rows if is_set == [False]]
    return claims, denied + [one_line(line, _SHOWN) for line in lines if _UNCHECKED.match(line)]


# --- is it stuck

#: So often an error, or a response that holds nothing but test output, comes before it counts as repeated.
REPEATS = 3
#: Turns that are looked back on, for errors and for test output.
_TURNS, _TEST_TURNS = 10, 5
TEST_ONLY = "only test output, no change"
_A_TIME = 25.0


def errors_in(text: str) -> tuple[str, ...]:
    """The lines of a text that report an error, bounded."""
    lines = sanitize(text[-_LONGEST:]).split("\n")
    return tuple(one_line(line.strip(), 300) for line in lines if _ERROR_LINE.match(line[:_LONGEST_LINE]))[
        :100
    ]


def error_patterns(text: str) -> frozenset[str]:
    """What is the same whenever the errors of a text come again: its error lines, or its first line, values masked."""
    lines = errors_in(text) or text.strip().split("\n")[:1]
    return frozenset(
        filter(None, (one_line(mask(line.removeprefix("E ").strip()[:300]), 300) for line in lines))
    )


# --- how much it says, and what it says was done

#: So many different words make a full report.
_WORDS = 40
_PARTICULARS = (
    re.compile(rf"`…`|\b{_FILE}|\b\w+_\w+\b"),
    re.compile(r"\b\d+ (?:\w+ )?(?:tests?|files?|lines?|functions?|errors?|cases?|passed|passing)\b"),
    _EDIT,
)


def _quality(response: Response) -> float:
    """From 0 to 100: half for up to forty different words, a sixth each for a file or a name, a count, an edit."""
    text = "\n".join(response.sentences)
    length = min(len(set(re.findall(r"[\w']{2,40}", text))), _WORDS) / _WORDS
    return round(50.0 * length + 50.0 / 3 * sum(bool(pattern.search(text)) for pattern in _PARTICULARS), 2)


_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_NUMBER = rf"(\d{{1,6}}|{'|'.join(_NUMBERS)})"
_FAULT = r"(?:bugs?|errors?|issues?|failures?|problems?|\w+error)\b"
_FILES = re.compile(rf"\b{_NUMBER} (?:\w+ )?files?\b")
_NAMED_FILE = re.compile(rf"(?<![\w./-]){_FILE}")
_FIXED = re.compile(
    rf"\b(?:fixed|resolved|corrected) (?:the |all |an? )?(?:{_NUMBER} )?(?:\S{{1,40}} ){{0,2}}?{_FAULT}"
    rf"|\b{_NUMBER} {_FAULT} (?:were |are )?(?:fixed|resolved)\b"
)
_PASSED = re.compile(
    r"\b(\d{1,6})(?: ?/ ?\d{1,6})? (?:\w+ )?(?:tests? |specs? )?(?:are |now |all )*pass(?:ed|ing|es)?\b"
)


def _summary(response: Response) -> str:
    """Files changed, tests run, errors fixed, as far as the response reports them."""
    text, edits = "\n".join(response.sentences), "\n".join(response.edits)
    files = max(map(_number, _FILES.findall(edits)), default=0)
    lines = "\n".join(line for line in response.lines if _EDIT.search(line.lower()))
    said = [0, *map(int, _PASSED.findall(text))]
    passed, failed = _counts(response.result) if response.result else (said[-1], 0)
    fixed = sum(_number(one or other or "1") for one, other in _FIXED.findall(text))
    rows = (
        ("Modified {}", files or len({*_NAMED_FILE.findall(lines)}), "file"),
        ("{} passing", passed, "test"),
        ("{} failing", failed, "test"),
        ("{} fixed", fixed, "error"),
    )
    return ", ".join(
        words.format(f"{number} {what}{'s' * (number != 1)}") for words, number, what in rows if number
    )


def _number(text: str) -> int:
    return _NUMBERS.get(text, 0) or int(text)


class ResponseAnalyzer:
    """Nity's ResponseAnalyzer. It keeps nothing: the same input gives the same answer.

    Every method takes any string, however long, and raises nothing.
    """

    def analyze(self, response: str, context: AnalysisContext) -> AnalysisResult:
        """The result for a response, without the tests. Being stuck outranks a claim: a person should look."""
        read = read_response(response)
        signal = _signal_of(read, context.task_description.lower())
        stuck = self.detect_stuck_loop(context.error_history)
        before = context.previous_responses[1 - _TEST_TURNS :]
        test_turns = sum(read_response(text).is_test_only for text in before) + 1 if read.is_test_only else 0
        if test_turns >= REPEATS:
            signal = CompletionSignal(test_only=True, qualifiers=(f"{TEST_ONLY} in {test_turns} responses",))
            stuck = StuckSignal(
                repeated_patterns=(*stuck.repeated_patterns, TEST_ONLY),
                error_frequency={**stuck.error_frequency, TEST_ONLY: test_turns},
                confidence=max(stuck.confidence, min(100.0, _A_TIME * test_turns)),
            )
        says_pass = any(map(_PASSING.search, read.sentences))
        parts = {
            "keywords": min(100.0, signal.confidence / A_SIGNAL * 50),
            "tests": 100.0 * _is_green(read.result) if read.result else 50.0 * says_pass,
            "quality": _quality(read),
            "no_errors": 100.0 * (bool(response.strip()) and not errors_in("\n".join(read.lines))),
        }
        return AnalysisResult(
            confidence=round(sum(part * WEIGHTS[name] for name, part in parts.items()), 2),
            completion_signal=signal,
            stuck_signal=stuck,
            work_summary=_summary(read),
            tests=parts["tests"],
        )

    def detect_completion(self, response: str, task_description: str = "") -> CompletionSignal:
        """Whether the response reports completion.

        :param task_description: its own words are discounted where the response repeats them.
        """
        return _signal_of(read_response(response), task_description.lower())

    def detect_stuck_loop(self, error_history: Sequence[str]) -> StuckSignal:
        """Whether an error of the last turn, whatever its values, came three times.

        :param error_history: one text a turn, the oldest first; the last ten count, each error of a turn once.
        """
        turns = [error_patterns(text) for text in error_history[-_TURNS:]]
        frequency = Counter(pattern for turn in turns for pattern in turn)
        before, last = [frozenset(), frozenset(), *turns][-2:]
        # Where some of several errors are gone, and no other came, the agent gets somewhere.
        repeated = [] if last < before else [pattern for pattern in last if frequency[pattern] >= REPEATS]
        return StuckSignal(
            repeated_patterns=tuple(sorted(repeated, key=lambda pattern: (-frequency[pattern], pattern))),
            error_frequency=dict(sorted(frequency.items())),
            confidence=min(100.0, _A_TIME * max(frequency.values(), default=0)),
        )

    def extract_work_summary(self, response: str) -> str:
        """Like ``Modified 3 files, 12 tests passing, 2 errors fixed``; empty if the response reports none of it."""
        return _summary(read_response(response))

    def calculate_confidence(self, response: str, context: AnalysisContext) -> float:
        """From 0 to 100: keywords 35 %, tests passing 25 %, quality 20 %, no errors 20 %."""
        return self.analyze(response, context).confidence
