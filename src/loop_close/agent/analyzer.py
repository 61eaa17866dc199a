"""Examines what an agent says at the end of a turn: is it done, is it stuck, and how sure is that."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from loop_close.agent.completion import CompletionClaims, completion_claims, completion_signal
from loop_close.agent.response import (
    ENOUGH,
    FILE,
    AnalysisContext,
    AnalysisResult,
    CompletionSignal,
    ConfidenceParts,
    Line,
    Response,
    StuckSignal,
    any_of,
    confidence,
    lines_of,
    printed_counts,
    read_response,
    tells_of_an_edit,
)
from loop_close.text import one_line
from loop_close.text.normalize import mask

_CLAIMED = 50.0


class ResponseAnalyzer:
    """The ResponseAnalyzer of Nity's loop. It keeps nothing: the same input gives the same answer.

    Every method takes any string, however long, and raises nothing. Long texts are read from their end: see
    :func:`loop_close.agent.response.lines_of`.
    """

    def analyze(self, response: str, context: AnalysisContext) -> AnalysisResult:
        """The result for a response, without the tests."""
        parsed = read_response(response)
        said = completion_claims(parsed, context.task_description)
        signal, stuck = completion_signal(said, parsed), self.detect_stuck_loop(context.error_history)
        tests = _test_only_turns(parsed, context.previous_responses)
        if tests >= REPEATS:
            signal = CompletionSignal(test_only=True, qualifiers=(f"{TEST_ONLY} in {tests} responses",))
            said, stuck = CompletionClaims(doubts=signal.qualifiers), with_test_only(stuck, tests)
        parts = _parts(parsed, said)
        reason = _exit_reason(signal, stuck)
        return AnalysisResult(
            should_exit=reason is not None,
            exit_reason=reason,
            confidence=confidence(parts),
            completion_signal=signal,
            stuck_signal=stuck,
            work_summary=summary_of(parsed),
            parts=parts,
        )

    def detect_completion(self, response: str, task_description: str = "") -> CompletionSignal:
        """Whether the response reports completion.

        :param task_description: its own words are discounted where the response repeats them.
        """
        parsed = read_response(response)
        return completion_signal(completion_claims(parsed, task_description), parsed)

    def detect_stuck_loop(self, error_history: Sequence[str]) -> StuckSignal:
        """Whether one error, whatever its values, came three times.

        :param error_history: one text a turn, the oldest first; the last ten count.
        """
        return stuck_in(error_history)

    def extract_work_summary(self, response: str) -> str:
        """Like ``Modified 3 files, 12 tests passing, 2 errors fixed``; empty if the response reports none of it."""
        return summary_of(read_response(response))

    def calculate_confidence(self, response: str, context: AnalysisContext) -> float:
        """From 0 to 100: keywords 35 %, tests passing 25 %, quality 20 %, no errors 20 %."""
        return self.analyze(response, context).confidence


def _parts(response: Response, said: CompletionClaims) -> ConfidenceParts:
    levels = [level for _, level in said.claims]
    words = 100.0 if "very high" in levels or levels.count("high") > 1 else 50.0 * ("high" in levels)
    is_said = "tests" in levels or any(name == "all tests passing" for name, _ in said.claims)
    shown = response.tally
    return ConfidenceParts(
        keywords=0.0 if said.doubts else words,
        tests=100.0 * shown.is_green if shown is not None else _CLAIMED * is_said,
        quality=quality(response),
        no_errors=100.0
        if any(line.text for line in response.lines) and not errors_in(response.lines)
        else 0.0,
    )


def _test_only_turns(response: Response, previous: Sequence[str]) -> int:
    """How many of the last responses hold nothing but test output, if this one does."""
    if not response.is_test_only:
        return 0
    return 1 + sum(read_response(text).is_test_only for text in previous[-TEST_WINDOW + 1 :])


def _exit_reason(signal: CompletionSignal, stuck: StuckSignal) -> str | None:
    """Being stuck outranks a claim: a person looks, and nothing is called done that is not."""
    if stuck.detected:
        return (
            f"stuck: {stuck.repeated_patterns[0]} ({stuck.error_frequency[stuck.repeated_patterns[0]]} times)"
        )
    if signal.detected and signal.confidence >= ENOUGH:
        return f"completion: {', '.join(signal.keywords)}"
    return None


# --- how much a response says, and how specific it is

#: So many different words make a full report.
_WORDS = 40
_LOOKED_AT = 20_000
_WORD = re.compile(r"[\w']{2,40}")
_CODE = re.compile(r"`[^`\n]{1,200}`|\b\w{1,60}_\w{1,60}\b|\b\w{1,60}\(\)")
_COUNT = re.compile(
    r"\b\d{1,7} (?:\w{1,20} )?(?:tests?|files?|lines?|functions?|errors?|cases?|passed|passing)\b"
)


def quality(response: Response) -> float:
    """From 0 to 100: half for up to forty different words of its own, an eighth for each kind of particular.

    Particulars are a file, a name in code, a number of tests or files, and an edit that was made.
    """
    text = "\n".join(line.text for line in response.lines if line.kind in ("prose", "item", "heading"))[
        -_LOOKED_AT:
    ]
    length = min(len(set(_WORD.findall(text.lower()))), _WORDS) / _WORDS
    particulars = (
        FILE.search(text) is not None,
        _CODE.search(text) is not None,
        _COUNT.search(text) is not None or response.tally is not None,
        response.tells_of_work,
    )
    return 50.0 * length + 12.5 * sum(particulars)


# --- whether an agent's errors repeat, as Nity's ResponseAnalyzer asks

#: So often an error comes before it counts as repeated (Nity's ResponseAnalyzer).
REPEATS = 3
#: Turns that are looked back on.
WINDOW = 10
#: Responses among which so many that hold nothing but test output are too many.
TEST_WINDOW = 5
#: The pattern of responses that hold nothing but test output.
TEST_ONLY = "only test output, no change"
_A_TIME = 25.0


def stuck_in(error_history: Sequence[str]) -> StuckSignal:
    """Whether one error came three times in the last ten turns.

    :param error_history: one text a turn, the oldest first; each error of a turn counts once. Values do not matter, as
        :func:`loop_close.text.normalize.mask` replaces them.
    """
    patterns = Counter(pattern for text in error_history[-WINDOW:] for pattern in error_patterns(text))
    repeated = [(pattern, count) for pattern, count in patterns.items() if count >= REPEATS]
    repeated.sort(key=lambda item: (-item[1], item[0]))
    return StuckSignal(
        detected=bool(repeated),
        repeated_patterns=tuple(pattern for pattern, _ in repeated),
        error_frequency=dict(sorted(patterns.items())),
        confidence=_confidence(max(patterns.values(), default=0)),
    )


def with_test_only(signal: StuckSignal, number: int) -> StuckSignal:
    """The signal, with so many responses in a row that held nothing but test output."""
    return StuckSignal(
        detected=True,
        repeated_patterns=(*signal.repeated_patterns, TEST_ONLY),
        error_frequency={**signal.error_frequency, TEST_ONLY: number},
        confidence=max(signal.confidence, _confidence(number)),
    )


def _confidence(number: int) -> float:
    return min(100.0, number * _A_TIME)


# --- the errors that a response or an error text reports, and when two are the same

_LONGEST = 300
_EXCEPTION = re.compile(
    r"\s{0,12}(?:E {3,12})?(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,80}"
    r"(?:Error|Exception|Failure|Interrupt|Exit|Iteration|Group|Warning)(?:: |$)"
)
# At the start of a line, whatever wrote it.
_ERROR = any_of(
    r"\s{0,12}(?:Traceback \(most recent call last\):|E {3,12}\S|npm ERR!|panicked at|Segmentation fault)",
    r"\s{0,12}\[?(?:ERROR|FATAL|CRITICAL|Error|error|fatal)\]?(?:\[\w+\])?(?:: ?|\s+-\s)\S",
    r"(?:FAILED|ERROR) \S+(?:::|\.py)|(?:FAIL|ERROR): test|--- FAIL|FAILED \(",
    r"\S{1,200}:\d{1,7}:(?:\d{1,5}:)? (?:fatal )?error\b|Command failed",
    r".{0,200}\bexit(?:ed)?(?: with)?(?: status| code|code)?[:=]? ?[1-9]\d{0,2}\b",
    r".{0,200}\b(?:thread '.{1,60}' panicked|an (?:unexpected )?error (?:has )?occurred|command not found)",
)
_IS_FRAME = re.compile(r"\s*Traceback \(most recent call last\):")
_NOTHING = r"null\b|false\b|none\b|\"\"|\"none\"|\[\s*\]|\{\s*\}|0\b"
_JSON = any_of(
    r"\"is_?error\"\s{0,4}:\s{0,4}true\b",
    rf"\"(?:errors?|exception|failures)\"\s{{0,4}}:\s{{0,4}}(?!{_NOTHING})[\"\[{{\dt]",
    flags=re.IGNORECASE,
)
_NAMED = re.compile(r"\"(?:is_?error|errors?)\"\s{0,4}:", re.IGNORECASE)
_COUNTED = re.compile(r"\b[1-9]\d{0,6} (?:failed|errors?|failures?|failing)\b", re.IGNORECASE)
# "2 errors fixed", "down from 3 failures"
_SPOKEN = re.compile(
    r"\b(?:fix|resolv|correct|address|handl|clear|was|were|repair|reduc|down from|had)", re.IGNORECASE
)
_GOOD = any_of(
    r"\b(?:0|no|zero|without(?: any)?) (?:\w+ )?(?:errors?|failures?|failed|exceptions?|issues)\b|\berror-free\b",
    r"\bPASSED\b|\bexit(?:ed)?(?: with)?(?: status| code)?[:=]? ?0\b|\.\.\. ok$",
    flags=re.IGNORECASE,
)
_MAY_BE_GREEN = re.compile(r"\bpass|^OK\b|congratulations")


def errors_in(lines: Sequence[Line]) -> tuple[str, ...]:
    """The lines that report an error, after the last test run that is shown to be green, bounded.

    Words about errors ("handled the KeyError", "0 errors", ``test_exception PASSED``) do not report one.
    """
    texts = [line.text for line in lines if line.kind != "quote"]
    return tuple(_reports(_after_green(texts)))[:100]


def error_pattern(text: str) -> str:
    """What is the same whenever an error comes again: its last exception, else its first error line, values masked.

    :returns: empty if the text reports no error; its first line if it has no known form of one.
    """
    texts = [line.text for line in lines_of(text) if line.text.strip()]
    exceptions = [line for line in texts if _EXCEPTION.match(line) and not _GOOD.search(line)]
    found = exceptions[-1:] or list(_reports(texts))[:1] or [line for line in texts if not _is_good(line)][:1]
    return one_line(mask(found[0].strip().removeprefix("E ").strip()[:_LONGEST]), _LONGEST) if found else ""


def error_patterns(text: str) -> frozenset[str]:
    """The same for every error in a text: each line with an exception or a report of an error."""
    texts = [line.text for line in lines_of(text) if line.text.strip()]
    found = {error_pattern(line) for line in texts if _is_report(line) and not _IS_FRAME.match(line)}
    return frozenset(filter(None, (*found, error_pattern(text))))


def _after_green(texts: list[str]) -> list[str]:
    for number in reversed(range(len(texts))):
        if _MAY_BE_GREEN.search(texts[number]) and any(
            t.is_green for t in printed_counts(texts[max(0, number - 3) : number + 1])
        ):
            return texts[number + 1 :]
    return texts


def _reports(texts: Iterable[str]) -> Iterator[str]:
    return (text for text in texts if _is_report(text))


def _is_report(text: str) -> bool:
    if _JSON.search(text):
        return True
    if _COUNTED.search(text) and not _SPOKEN.search(text):
        return True
    return bool(_EXCEPTION.match(text) or _ERROR.match(text)) and not _GOOD.search(text)


def _is_good(text: str) -> bool:
    return _GOOD.search(text) is not None or _NAMED.search(text) is not None


# --- what a response says was done, in one line

_MAX_FILES = 999
_NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_NUMBERS = {word: number for number, word in enumerate(_NUMBER_WORDS, 1)}
_NUMBER = rf"(\d{{1,6}}|{'|'.join(_NUMBERS)})"
_FAULT = (
    r"(?:bugs?|errors?|issues?|failures?|exceptions?|regressions?|problems?|faults?|typos?|failing tests?"
    r"|\w{1,60}(?:error|exception))\b"
)
_FILES = (
    re.compile(
        rf"\b(?:modified|changed|updated|edited|touched|created|added|across|in) {_NUMBER} (?:\w+ )?files?\b"
    ),
    re.compile(rf"\b{_NUMBER} (?:\w+ )?files? (?:were |was )?(?:changed|modified|updated|edited|touched)\b"),
)
_DIFF_FILE = re.compile(r"(?:\+\+\+ b/|\*\*\* (?:Update|Add|Delete) File: )(\S{1,300})")
_FIXED = (
    re.compile(
        rf"\b(?:fixe[ds]|resolved|corrected|repaired|solved) (?:(?:the|all|both|an?|this|that|those|of|these) ){{0,3}}"
        rf"(?:{_NUMBER} )?(?:(?!and\b)[\w`…'-]{{1,40}} ){{0,3}}?{_FAULT}"
    ),
    re.compile(rf"\b{_NUMBER} {_FAULT} (?:were |are |have been )?(?:fixed|resolved)\b"),
)
_PASSING = re.compile(
    r"\b(\d{1,6})(?: ?/ ?\d{1,6})? (?:\w+ )?(?:tests? |specs? )?(?:are |now |all |have )*pass(?:ed|ing|es)?\b"
)


def summary_of(response: Response) -> str:
    """Files changed, tests run, errors fixed, as far as the response reports them.

    :returns: like ``Modified 3 files, 12 tests passing, 2 errors fixed``; empty if it reports nothing.
    """
    files, fixed = _files(response), sum(_numbers(_FIXED, response))
    parts = [f"Modified {_counted(files, 'file')}"] if files else []
    parts += _tests(response)
    parts += [f"{_counted(fixed, 'error')} fixed"] if fixed else []
    return ", ".join(parts)


def _files(response: Response) -> int:
    counts = _numbers(_FILES, response)
    if counts:
        return max(counts)
    named = {match[1] for line in response.lines if (match := _DIFF_FILE.match(line.text))}
    named.update(_named_files(line.text for line in response.lines if line.kind in ("prose", "item")))
    return min(len(named), _MAX_FILES)


def _named_files(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        if tells_of_an_edit(line.lower()):
            yield from (match[0].removeprefix("./") for match in FILE.finditer(line))


def _tests(response: Response) -> list[str]:
    tally = response.tally
    if tally is None:
        counts = [int(match[1]) for s in response.sentences for match in _PASSING.finditer(s.text)]
        return [f"{_counted(counts[-1], 'test')} passing"] if counts else []
    passing = [f"{_counted(tally.passed, 'test')} passing"] if tally.passed else []
    return passing + ([f"{_counted(tally.failed, 'test')} failing"] if tally.failed else [])


def _numbers(patterns: tuple[re.Pattern[str], ...], response: Response) -> list[int]:
    """The number in each match, in the sentences; 1 if it names none."""
    texts = [sentence.text for sentence in response.sentences]
    return [_value(m[1] or "1") for pattern in patterns for text in texts for m in pattern.finditer(text)]


def _value(number: str) -> int:
    return _NUMBERS.get(number, 0) or int(number)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
