"""The text of an agent's response: lines, sentences, printed test runs, and the records of its analysis."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from loop_close.records import Record
from loop_close.text import fence_after, sanitize

#: The most characters beside test output in a response that has nothing else.
_LEAD_IN = 200
_DIFF = re.compile(r"(?:diff --git |[+-]{3} [ab]?/|@@ -\d|\*\*\* (?:Begin|Update|Add|Delete) )")


class Response(Record, frozen=True, kw_only=True):
    """What is in a response.

    :ivar tally: the result of the last test run that it shows; None without one.
    :ivar is_test_only: it shows test output and reports no change.
    :ivar tells_of_work: it says or shows that something was changed.
    """

    lines: tuple[Line, ...]
    sentences: tuple[Sentence, ...]
    tally: PrintedCounts | None
    is_test_only: bool
    tells_of_work: bool

    @property
    def is_green(self) -> bool:
        """Whether the last test run that it shows is green."""
        return self.tally is not None and self.tally.is_green


def read_response(text: str) -> Response:
    """A response of any length; what of it is read: :func:`loop_close.agent.response.lines_of`."""
    lines = lines_of(text)
    sentences = sentences_of(lines)
    tells_of_work = any(tells_of_an_edit(s.text) for s in sentences) or any(
        _DIFF.match(line.text) for line in lines
    )
    shown = list(printed_counts(line.text for line in lines if line.kind == "test"))
    return Response(
        lines=lines,
        sentences=sentences,
        tally=shown[-1] if shown else None,
        is_test_only=not tells_of_work and _is_output(lines, sentences),
        tells_of_work=tells_of_work,
    )


def _is_output(lines: tuple[Line, ...], sentences: tuple[Sentence, ...]) -> bool:
    kinds = {line.kind for line in lines}
    code = (line.text.lstrip() for line in lines if line.kind == "code")
    has_code = any(not text.startswith(("```", "~~~")) for text in code)
    return "test" in kinds and not has_code and sum(len(s.text) for s in sentences) <= _LEAD_IN


# Alternatives of one regular expression, a rule each.


def any_of(*patterns: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that is found where one of several is."""
    return re.compile("|".join(patterns), flags)


# --- whether a sentence reports work on a program, or is talk


def _words(*words: str) -> str:
    return rf"\b(?:{'|'.join(' '.join(words).split())})\b"


_SUFFIX = "py|pyi|js|jsx|ts|tsx|go|rs|java|kt|c|h|cc|cpp|cs|rb|php|sh|sql|md|rst|toml|ya?ml|json|html|css|cfg|ini|txt"
#: A file named in a text.
FILE = re.compile(rf"(?<![\w@:/.\\-])[\w./\\-]{{1,200}}\.(?:{_SUFFIX})\b")
_EDIT = re.compile(
    _words(
        "added adjusted bumped cached changed cleaned converted corrected covered created deleted documented dropped",
        "edited extracted fixed guarded handled implemented inlined introduced merged migrated modified moved patched",
        "ported refactored registered removed renamed repaired replaced resolved restored reverted rewritten rewrote",
        "simplified split switched tightened updated wired wrote",
    )
)
_TOPIC = re.compile(
    _words(
        "api branch bugs? build changes? class(?:es)? cleanup cli code criteria deployment docs? documentation",
        "endpoints? everything feature files? fix(?:es)? functions? handler implementation issues? migration modules?",
        "parser patch plan pr refactor(?:ing)? regression requirements? review rewrite schema setup specs? status",
        "steps? subtasks? suite tasks? tests? todos? update upgrade work",
    )
    + r"|`…`|\b\w+_\w+\b"
)
_POLITE = (
    r"^\W*(?:thanks|thank you|thx|hi|hey|hello|haha|lol|yay|phew|glad|cheers|welcome|congrat\w*|sorry|bye|well"
    r"|good (?:morning|evening|day)|sure thing|no problem)\b"
)
# "That's done!", with or without an interjection before it.
_EXCLAIMED = (
    r"^\W*(?:great|nice|cool|awesome|good|perfect|ok(?:ay)?|alright|sure|right|yes|yep|yeah|oh|ah|wow)?\W*"
    r"(?:and |so |now )?(?:that|this|it)(?:'s| is| was) (?:all |now |finally )?(?:done|complete|finished)\W*!"
)
_PRIVATE = _words(
    "breakfast chat coffee conversation day dinner homework joke lunch meeting shift talking vacation weekend"
)
_ASIDE = re.compile(f"{_POLITE}|{_EXCLAIMED}|{_PRIVATE}")


def is_about_work(sentence: str) -> bool:
    """Whether a sentence in lower case is about a program or a task."""
    return bool(_TOPIC.search(sentence) or _EDIT.search(sentence) or FILE.search(sentence))


def tells_of_an_edit(sentence: str) -> bool:
    """Whether it says, in the past tense, that something was changed."""
    return _EDIT.search(sentence) is not None


def is_aside(sentence: str) -> bool:
    """Whether it is the polite or chatty kind that surrounds work."""
    return _ASIDE.search(sentence) is not None


# --- the output of test runners inside an agent's response: pytest, unittest, tox, and those of the Jest kind

_LINE = re.compile(
    r"""(?:
    # pytest
      ={3,}\ .{1,200}\ ={3,}$
    | (?:=+\ )?(?:no\ tests\ ran|\d{1,7}\ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)\b
        .{0,200}?)\ in\ [\d.]{1,12}s\b
    | collect(?:ed|ing)\ \d{1,7}\ items?\b | (?:rootdir|configfile|plugins|cachedir|testpaths):\s
    | platform\ \w+\ --\ Python\ | _{3,}\ \S.{0,200}\ _{3,}$ | E\ {3}
    | \S{1,300}\.py::\S{1,300}\s+(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b
    | (?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\ \S{1,300}(?:::\S|\.py\b)
    | \S{1,300}\.py\ [.FEsxXR]{1,200}(?:\s+\[\ *\d{1,3}%\])?$
    | [.FEsxXR]{1,200}\s+\[\ *\d{1,3}%\]$ | [.FEsxXR]{5,200}$
    # unittest
    | Ran\ \d{1,7}\ tests?\ in\ [\d.]{1,12}s | OK(?:\ \([\w\ =,]{1,100}\))?$ | FAILED\ \([\w\ =,]{1,100}\)$
    | test\w{0,200}\ \([\w.]{1,300}\)\ \.\.\.\ (?:ok|FAIL|ERROR|skipped|expected\ failure|unexpected\ success)\b
    | (?:FAIL|ERROR):\ test | [-=]{70}$
    # tox
    | (?:\ {2})?[\w.,-]{1,60}:\ (?:OK|FAIL(?:\ code\ -?\d{1,10})?|SKIP)(?:\ [✔✖⚠].{0,60}|\ \(.{1,300}\))?$
    | \ {2}(?:congratulations\ :\)|evaluation\ failed\ :\() | [\w.,-]{1,60}:\ (?:commands\[\d|exit\ \d{1,10}\ \()
    # Jest, Mocha, go, cargo
    | \s{0,8}(?:PASS|FAIL|SKIP)\s+\S | Test\ Suites?: | Tests:\s+\d | Snapshots:\s
    | \s{0,8}\d{1,7}\ (?:passing|failing)\ \(
    | \d{1,7}\ (?:tests?|specs?)\ (?:passed|failed)$ | (?:ok|FAIL)\s+\S{1,200}\s+[\d.]{1,12}s | ---\ (?:PASS|FAIL):
    | test\ result:\ (?:ok|FAILED)
    # the command that made it
    | \s{0,4}[$❯%]\ .{0,100}(?:pytest|unittest|\btox\b|npm\ (?:run\ )?test|jest|go\ test|cargo\ test)
    )""",
    re.VERBOSE,
)
_START = re.compile(r"={3,} (?:test session starts|FAILURES|ERRORS) ={3,}$|={70}$|(?:FAIL|ERROR): test")
_END = re.compile(
    r"(?:={3,} )?(?:no tests ran|\d{1,7} \w+\b.{0,200}) in [\d.]{1,12}s\b|OK(?: \(|$)|FAILED \("
)
_RAN = re.compile(r"Ran (\d{1,7}) tests? in ")
_COUNT = re.compile(r"(\d{1,7}) (?:tests? |specs? )?(passed|passing|failed|failing|errors?|failures?)\b")
_UNITTEST_COUNT = re.compile(r"(?:failures|errors|unexpected successes)=(\d{1,7})")
_SUMMARY = re.compile(
    r"(?:=+ )?(?:no tests ran|\d{1,7} \w+\b.{0,200}?) in [\d.]{1,12}s\b|Tests:\s+\d|test result: "
    r"|\s{0,8}\d{1,7} (?:passing|failing) \(|\d{1,7} (?:tests?|specs?) (?:passed|failed)$"
)


class PrintedCounts(Record, frozen=True, kw_only=True):
    """The result of a test run.

    :ivar passed: 0 if unknown; ``failed`` includes the errors.
    """

    is_green: bool
    passed: int = 0
    failed: int = 0


def is_test_line(line: str) -> bool:
    """Whether a line is one that a test runner prints."""
    return _LINE.match(line) is not None


def printed(lines: Sequence[str]) -> set[int]:
    """The numbers of the lines that are test output: what a runner prints, and the lines between."""
    found = {number for number, line in enumerate(lines) if is_test_line(line)}
    if not any(_RAN.match(lines[number]) for number in found):
        found = {number for number in found if lines[number] != "OK"}  # a word of the agent
    start = None
    for number in sorted(found):
        if start is None and _START.match(lines[number]):
            start = number
        elif start is not None and _END.match(lines[number]):
            found.update(range(start, number))
            start = None
    return found


def printed_counts(lines: Iterable[str]) -> Iterator[PrintedCounts]:
    """The results of the runs whose output is in the lines, in their order."""
    ran = 0
    for line in lines:
        count = _RAN.match(line)
        ran = int(count[1]) if count else ran
        tally = _unittest(line, ran) or _tox(line) or _counted(line)
        if tally is not None:
            yield tally


def _unittest(line: str, ran: int) -> PrintedCounts | None:
    if line.startswith("FAILED ("):
        failed = sum(map(int, _UNITTEST_COUNT.findall(line)))
        return PrintedCounts(is_green=False, passed=max(0, ran - failed), failed=failed)
    is_ok = line == "OK" or (line.startswith("OK (") and line.endswith(")"))
    return PrintedCounts(is_green=ran > 0, passed=ran) if is_ok else None


def _tox(line: str) -> PrintedCounts | None:
    if line.startswith("  congratulations :)"):
        return PrintedCounts(is_green=True)
    if line.startswith("  evaluation failed :("):
        return PrintedCounts(is_green=False)
    return None


def _counted(line: str) -> PrintedCounts | None:
    if not _SUMMARY.match(line):
        return None
    counts = [(int(number), word) for number, word in _COUNT.findall(line)]
    passed = sum(number for number, word in counts if word.startswith("pass"))
    failed = sum(number for number, word in counts if not word.startswith("pass"))
    return PrintedCounts(is_green=passed > 0 and not failed, passed=passed, failed=failed)


# --- what the lines of a response are: prose, code, quotations, the output of tests

Kind = Literal["prose", "item", "todo", "heading", "code", "quote", "test", "blank"]

# Of longer responses the end is read: it has the result.
MAX_CHARACTERS = 1_000_000
MAX_LINES = 20_000
MAX_LINE = 10_000

_FENCE = re.compile(r"\s{0,8}(?:(?:[-*+]|\d{1,3}[.)])\s{1,4})?(`{3,}|~{3,})(.*)$")
_ITEM = re.compile(r"\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+")
_TODO = re.compile(r"\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+\[ ?\]\s")
_HEADING = re.compile(r" {0,3}#{1,6}\s")
# Who spoke before, in transcripts and in answers that begin with the question.
_SPEAKER = re.compile(
    r"\W{0,4}(?:user|human|you|prompt|(?:the |your |original |user )*(?:request|instructions?)"
    r"|you (?:said|asked|wrote)(?: me)?(?: to)?)\W{0,3}:(?!:)",
    re.IGNORECASE,
)


class Line(Record, frozen=True, kw_only=True):
    """One line of a response.

    :ivar kind: ``todo`` is an item of a list with an empty check box; ``code`` is in a fence or indented.
    """

    kind: Kind
    text: str


def lines_of(response: str) -> tuple[Line, ...]:
    """The lines of a response with what they are.

    :param response: any string; of a long one the last million characters and 20,000 lines are read, of a line the
        first 10,000 characters.
    """
    texts = [
        line[:MAX_LINE].rstrip() for line in sanitize(response[-MAX_CHARACTERS:]).split("\n")[-MAX_LINES:]
    ]
    output = printed(texts)
    sorter = _Sorter()
    lines = [
        Line(kind=sorter.kind_of(text, number in output), text=text) for number, text in enumerate(texts)
    ]
    return tuple(_with_whole_fences(lines))


class _Sorter:
    """Goes over the lines in order, for what a line is depends on those before it."""

    def __init__(self) -> None:
        self._fence = ""
        self._before: Kind = "blank"

    def kind_of(self, text: str, is_output: bool) -> Kind:
        was_fenced = bool(self._fence)
        is_mark = self._passes_fence(text)
        if was_fenced or is_mark:
            return "test" if is_output and not is_mark else "code"
        self._before = "test" if is_output else self._unfenced(text)
        return self._before

    def _passes_fence(self, text: str) -> bool:
        """Whether the line opens a fence or closes the open one."""
        found = _FENCE.match(text)
        if found is None:
            return False
        before, self._fence = self._fence, fence_after(self._fence, found[1], found[2])
        return before != self._fence

    def _unfenced(self, text: str) -> Kind:
        if not text.strip():
            return "blank"
        if text.lstrip().startswith(">") or _SPEAKER.match(text):
            return "quote"
        if self._before == "quote":  # it goes on until an empty line
            return "quote"
        if text.startswith(("    ", "\t")) and self._before in ("blank", "code") and not _ITEM.match(text):
            return "code"
        return _marked(text)


def _marked(text: str) -> Kind:
    if _HEADING.match(text):
        return "heading"
    if _TODO.match(text):
        return "todo"
    return "item" if _ITEM.match(text) else "prose"


def _with_whole_fences(lines: list[Line]) -> list[Line]:
    """Code around the output of tests is that output, too: tracebacks and the source in them."""
    kinds = [line.kind for line in lines]
    start = None
    for number, kind in enumerate([*kinds, "blank"]):
        if kind in ("code", "test"):
            start = number if start is None else start
        elif start is not None:
            if "test" in kinds[start:number]:
                kinds[start:number] = ["test"] * (number - start)
            start = None
    return [Line(kind=kind, text=line.text) for kind, line in zip(kinds, lines, strict=True)]


# --- the sentences of a response that are its author's own words

#: Of more sentences the last ones count; a longer one is cut into pieces.
MAX_SENTENCES = 500
MAX_SENTENCE = 500
_HARD_WRAPPED = 50

_ENDS = re.compile(r"(?<=[.!?])[\"')\]]{0,3}\s+|\n")
_MARK = re.compile(r"\s*(?:#{1,6}\s+|(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]?\]\s+)?)?")
# What is quoted, named or struck out is not said.
_HIDDEN = (
    (re.compile(r"~~[^~\n]{1,400}~~"), " "),
    (re.compile(r"(`{1,2})[^`\n]{1,400}\1"), "`…`"),
    (re.compile(r'"[^"\n]{1,400}"|“[^“”\n]{1,400}”|«[^«»\n]{1,400}»|‘[^‘’\n]{1,400}’(?!\w)'), "“…”"),
    (re.compile(r"(?<![\w'])'[^'\n]{1,400}'(?!\w)"), "“…”"),
    (re.compile(r"https?://\S{1,400}"), "`…`"),
    (re.compile(r"\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=[\w.!?:])_{1,2}(?!\w)"), ""),
)
# What is listed under it is wished for, not reported.
_WISHES = any_of(
    r"\b(?:criteria|goals?|plan|requirements?|expect\w*|to-?do|steps|checklist|definition of done|task|needed)"
    r"\b[^.!?]{0,40}:$",
    r"\binstructions\b[^.!?]{0,40}:$",
)
_WISHES_HEADING = re.compile(
    r"^\W*(?:the |my |acceptance |next |success )*(?:criteria|goals?|plan|requirements?|steps|checklist)\W*$"
)
_SEPARATOR = re.compile(
    r"[,;()|]|\s[—–-]{1,2}\s|[—–→]|\b(?:but|however|though|although|whereas|while|and|so|because|since)\b"
)


class Sentence(Record, frozen=True, kw_only=True):
    """One sentence, in lower case, what it quotes or names in code left out (as ``“…”`` and ```…```).

    :ivar kind: of the line that it begins in.
    """

    kind: Kind
    text: str


def sentences_of(lines: Iterable[Line]) -> tuple[Sentence, ...]:
    """The sentences of prose, lists and headings, in order; lines that were wrapped by hand are joined."""
    found = [sentence for kind, text in _paragraphs(lines) for sentence in _split(kind, text)]
    return tuple(_reported(found[-MAX_SENTENCES:]))


def _reported(sentences: list[Sentence]) -> Iterator[Sentence]:
    is_wish = False
    for sentence in sentences:
        if sentence.kind not in ("item", "todo"):
            is_wish = bool(_WISHES.search(sentence.text))
            is_wish = is_wish or (sentence.kind == "heading" and bool(_WISHES_HEADING.match(sentence.text)))
            yield sentence
        elif not is_wish:
            yield sentence


def is_question(text: str) -> bool:
    """Whether a sentence ends as a question."""
    return text.rstrip(" \"')`*").endswith("?")


def clause_at(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the clause begins and ends that holds the characters from ``start`` to ``end``."""
    left, right = 0, len(text)
    for match in _SEPARATOR.finditer(text):
        if match.end() <= start:
            left = match.end()
        elif match.start() >= end:
            right = match.start()
            break
    return left, right


def clauses_of(text: str) -> list[str]:
    """A sentence cut at commas, dashes, brackets and conjunctions."""
    return [clause.strip() for clause in _SEPARATOR.split(text) if clause and clause.strip()]


def _paragraphs(lines: Iterable[Line]) -> Iterator[tuple[Kind, str]]:
    kind: Kind = "blank"
    parts: list[str] = []
    for line in lines:
        if line.kind == "prose" and kind in ("prose", "item", "todo"):
            parts.append(line.text)
            continue
        if parts:
            yield kind, _joined(parts)
        kind = line.kind
        parts = [line.text] if kind in ("prose", "item", "todo", "heading") else []
    if parts:
        yield kind, _joined(parts)


def _joined(parts: list[str]) -> str:
    text, before = parts[0], parts[0]
    pieces = [text]
    for part in parts[1:]:
        stripped = part.strip()
        is_wrapped = len(before) >= _HARD_WRAPPED or stripped[:1].islower()
        pieces.append((" " if is_wrapped else "\n") + stripped)
        before = part
    return "".join(pieces)


def _split(kind: Kind, text: str) -> Iterator[Sentence]:
    text = _MARK.sub("", text, count=1)
    for pattern, stand_in in _HIDDEN:
        text = pattern.sub(stand_in, text)
    text = text.replace("’", "'").lower()
    for piece in _ENDS.split(text):
        for start in range(0, len(piece), MAX_SENTENCE):
            part = piece[start : start + MAX_SENTENCE].strip()
            if part:
                yield Sentence(kind=kind, text=part)


# --- the records of an analysis


class AnalysisContext(Record, frozen=True, kw_only=True):
    """What is known when a response is looked at.

    :ivar iteration: the number of the turn, from 1; ``max_iterations`` the last one allowed, 0 for no limit.
    :ivar previous_responses: the oldest first.
    :ivar error_history: the errors of the turns so far, one text a turn, the oldest first.
    :ivar task_description: the agent's task.
    """

    iteration: int = 1
    max_iterations: int = 0
    previous_responses: tuple[str, ...] = ()
    error_history: tuple[str, ...] = ()
    task_description: str = ""


class CompletionSignal(Record, frozen=True, kw_only=True):
    """Whether the agent says that its work is done.

    :ivar detected: it reports completion by one very strong keyword or by two signals, without a qualifier.
    :ivar keywords: the keywords that count, in order of appearance, each once; in their dictionary form.
    :ivar test_only: there is test output and no word of a change.
    :ivar confidence: from 0 to 100.
    :ivar qualifiers: the agent's own words that contradict the completion, bounded.
    """

    detected: bool = False
    keywords: tuple[str, ...] = ()
    test_only: bool = False
    confidence: float = 0.0
    qualifiers: tuple[str, ...] = ()


class StuckSignal(Record, frozen=True, kw_only=True):
    """Whether the same error keeps coming.

    :ivar repeated_patterns: errors with their values masked that came often enough, the most frequent first.
    :ivar error_frequency: how often each pattern came.
    :ivar confidence: from 0 to 100.
    """

    detected: bool = False
    repeated_patterns: tuple[str, ...] = ()
    error_frequency: Mapping[str, int] = {}
    confidence: float = 0.0


class ConfidenceParts(Record, frozen=True, kw_only=True):
    """The parts of the confidence, each from 0 to 100.

    :ivar keywords: how strongly completion is claimed.
    :ivar tests: whether tests are said or shown to pass.
    :ivar quality: how long and how specific the response is.
    :ivar no_errors: 100 if it reports no error.
    """

    keywords: float = 0.0
    tests: float = 0.0
    quality: float = 0.0
    no_errors: float = 0.0


class AnalysisResult(Record, frozen=True, kw_only=True):
    """The analysis of one response by itself, without the tests.

    :ivar should_exit: the agent claims completion with confidence, or it is stuck.
    :ivar exit_reason: why, in a sentence; None if it should go on.
    :ivar confidence: from 0 to 100, computed from ``parts``.
    :ivar work_summary: like ``Modified 3 files, 12 tests passing, 2 errors fixed``; empty without any of it.
    """

    should_exit: bool = False
    exit_reason: str | None = None
    confidence: float = 0.0
    completion_signal: CompletionSignal = CompletionSignal()
    stuck_signal: StuckSignal = StuckSignal()
    work_summary: str = ""
    parts: ConfidenceParts = ConfidenceParts()


# --- how sure a completion is: the weighted sum of Nity's ResponseAnalyzer, and how signals add up to one claim

#: Seed 003: completion keywords, tests passing, quality of the output, no errors.
WEIGHTS = ConfidenceParts(keywords=0.35, tests=0.25, quality=0.20, no_errors=0.20)
#: How far one signal goes by itself, from 0 to 1; several add up as independent reasons do.
VERY_HIGH, HIGH, TESTS = 0.9, 0.55, 0.5
#: What a claim of completion takes (Nity's exit strategy ``auto``).
ENOUGH = 70.0


def confidence(parts: ConfidenceParts) -> float:
    """The weighted sum of the parts, from 0 to 100.

    :param parts: from 0 to 100 each; what is outside counts as the nearer end.
    """
    total = (
        _bounded(parts.keywords) * WEIGHTS.keywords
        + _bounded(parts.tests) * WEIGHTS.tests
        + _bounded(parts.quality) * WEIGHTS.quality
        + _bounded(parts.no_errors) * WEIGHTS.no_errors
    )
    return _bounded(round(total, 2))


def combined(*signals: float) -> float:
    """The probability, in percent, that one of several independent signals is right ("noisy or").

    :param signals: from 0 to 1 each.
    """
    doubt = 1.0
    for signal in signals:
        doubt *= 1.0 - min(max(signal, 0.0), 1.0)
    return round(100.0 * (1.0 - doubt), 2)


def _bounded(value: float) -> float:
    # written so that a "not a number" counts as 0
    return min(value, 100.0) if value > 0.0 else 0.0
