"""What unittest's own runner prints, and Django's, which prints the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from loop_close.model import Counts, Failure, Frame, Phase, Raised
from loop_close.readers.contract import CUT, Reader, Reading, is_at_end, is_quoted_until
from loop_close.readers.printed import printed_tracebacks, raised_in_line
from loop_close.text import cut

_RULER = "=" * 70
_LINE = "-" * 70
_MAX_FAILURES = 20_000
_HEAD = re.compile(
    rf"^{_RULER}\n(?P<kind>ERROR|FAIL|UNEXPECTED SUCCESS): (?P<what>[^\n]{{1,2000}})\n"
    rf"(?P<more>(?:(?!{_LINE})[^\n]{{1,1000}}\n){{0,20}})(?P<line>{_LINE}\n)?",
    re.MULTILINE,
)
_SUCCESS = re.compile(r"^UNEXPECTED SUCCESS: (?P<what>[^\n]{1,2000})$", re.MULTILINE)
_SUMMARY = re.compile(
    rf"^{_LINE}\nRan (?P<ran>\d{{1,9}}) tests? in [\d.]{{1,12}}s\n"
    r"(?:\n(?P<verdict>OK|FAILED|NO TESTS RAN)(?: \((?P<numbers>[^()\n]{1,200})\))?$)?",
    re.MULTILINE,
)
_TEST = re.compile(r"(?P<name>[^\s()]{1,500}) \((?P<owner>[^\s()]{1,1000})\)(?: (?P<sub>[\[(].{0,1000}))?\Z")
_CAPTURED = re.compile(r"^(?:Stdout|Stderr):$", re.MULTILINE)
_FAILED_IMPORT = re.compile(r"\AImportError: Failed to import test module: [^\n]{1,500}\n")
_FIXTURES: dict[str, Phase] = {
    **dict.fromkeys(("setUpClass", "setUpModule", "setUp", "asyncSetUp"), "setup"),
    **dict.fromkeys(("tearDownClass", "tearDownModule", "tearDown", "asyncTearDown"), "teardown"),
}
_OUTCOME = re.compile(
    r"^[.FEsxu]{1,100000}$"
    r"| \.\.\. (?:ok|FAIL|ERROR|skipped [^\n]{0,1000}|expected failure|unexpected success)$",
    re.MULTILINE,
)
_DOTS = re.compile(r"^[.FEsxu]{1,100000}$", re.MULTILINE)
_NUMBER = re.compile(r"(?P<what>[a-z ]{1,30})=(?P<number>\d{1,9})")


def read(text: str, root: str) -> Reading:
    """A failure for each ``FAIL`` and ``ERROR`` and each unexpected success; counts from the summaries."""
    if f"{_LINE}\nRan " not in text and f"{_RULER}\n" not in text:
        return Reading()
    blocks = list(_blocks(text))
    summaries = list(_SUMMARY.finditer(text))
    failures = tuple(failure for _, _, found in blocks for failure in _failures(found, root))
    heads = [what for _, _, found in blocks for what in _descriptions(found)]
    is_open = bool(summaries) and not any(m["verdict"] for m in summaries)
    is_open = is_open and is_at_end(
        text, summaries[-1].end()
    )  # the verdict is the line below the number of tests
    spans = sorted([(start, end) for start, end, _ in blocks] + [m.span() for m in summaries])
    return Reading(
        failures=failures[:_MAX_FAILURES],
        counts=_counts(text, summaries, heads) if summaries else None,
        spans=tuple(spans),
        is_certain=any(m["verdict"] for m in summaries)
        or is_open
        or (not summaries and _is_cut(text, blocks)),
        incomplete=CUT if is_open else "",
    )


def _is_cut(text: str, blocks: Sequence[tuple[int, int, Block]]) -> bool:
    """Whether a text ends within the failures, below the outcomes of the tests: its end was cut off."""
    is_own = (
        blocks and _TEST.match(blocks[0][2][0]["what"]) and _OUTCOME.search(text, 0, blocks[0][0]) is not None
    )
    return bool(is_own) and not is_quoted_until(text[blocks[-1][0] :])


Block = tuple[re.Match[str], str]


def _blocks(text: str) -> Iterator[tuple[int, int, Block]]:
    """Each block's offsets, head and body; it goes to the next head or the summary."""
    marks = sorted([*_HEAD.finditer(text), *_SUMMARY.finditer(text)], key=lambda m: m.start())
    for n, mark in enumerate(marks):
        if "kind" in mark.re.groupindex:
            end = marks[n + 1].start() if n + 1 < len(marks) else len(text)
            yield mark.start(), end, (mark, text[mark.end() : end])


def _descriptions(block: Block) -> list[str]:
    """What the block is about, in unittest's words; unexpected successes share a block."""
    head, body = block
    others = _SUCCESS.finditer(head["more"] + body) if head["kind"] == "UNEXPECTED SUCCESS" else ()
    return [head["what"], *(m["what"] for m in others)]


def _failures(block: Block, root: str) -> Iterator[Failure]:
    head, body = block
    if head["kind"] == "UNEXPECTED SUCCESS":
        for what in _descriptions(block):
            nodeid, subtest, _ = _names(what)
            yield Failure(nodeid=nodeid, subtest=subtest, phase="call", message="unexpected success")
    elif head["line"] or not (head["more"] + body).strip("-\n "):
        yield _failure(head["what"], body, root)


def _failure(what: str, body: str, root: str) -> Failure:
    nodeid, subtest, phase = _names(what)
    body, sections = _parted(body)
    raised = _raised(body.strip("\n"), root)
    if raised is None:
        return Failure(
            nodeid=nodeid, subtest=subtest, phase=phase, message=cut(body.strip()), sections=sections
        )
    frame = _test_frame(raised, nodeid)
    if phase == "call" and raised.frames:
        phase = _FIXTURES.get(raised.frames[0].function, "call")
    return Failure(
        nodeid=nodeid,
        phase=phase,
        message=raised.message,
        file=frame.file if frame else raised.details.get("path", ""),
        line=frame.line if frame else int(raised.details.get("line", 0)),
        subtest=subtest,
        raised=raised,
        sections=sections,
    )


def _names(what: str) -> tuple[str, str, Phase]:
    """The test's id as ``python -m unittest`` takes it, the subtest, and the phase as far as the name shows it."""
    found = _TEST.match(what)
    if found is None:
        return what, "", "call"
    name, owner = found["name"], found["owner"]
    if owner.startswith("unittest.loader._FailedTest"):
        return name, "", "collect"
    if name in _FIXTURES:
        return owner, "", _FIXTURES[name]
    # Python 3.10 and before leave the method out of the parentheses
    is_whole = owner == name or owner.endswith(f".{name}")
    return owner if is_whole else f"{owner}.{name}", found["sub"] or "", "call"


def _parted(body: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The traceback, and the output that ``--buffer`` puts below it."""
    marks = list(_CAPTURED.finditer(body))
    ends = [m.start() for m in marks[1:]] + [len(body)]
    sections = tuple(
        (m.group().rstrip(":"), body[m.end() : end].strip("\n")) for m, end in zip(marks, ends, strict=False)
    )
    return body[: marks[0].start()] if marks else body, sections


def _raised(body: str, root: str) -> Raised | None:
    """The exception; all that follows it in its block belongs to its message."""
    body = _FAILED_IMPORT.sub("", body)
    found = list(printed_tracebacks(body, root))
    if not found:
        return raised_in_line(body, root)
    raised, _, end = found[-1]
    rest = body[end:].rstrip()
    return replace(raised, message=cut(raised.message + rest)) if rest and not raised.members else raised


def _test_frame(raised: Raised, nodeid: str) -> Frame | None:
    """The frame of the test's own method, else the outermost of the project."""
    name = nodeid.rpartition(".")[2]
    return next((f for f in raised.frames if f.function == name), next(iter(raised.frames), None))


def _seen_to_pass(text: str) -> int:
    """Tests that passed by the dots or words printed as they ran."""
    return sum(m.group().count(".") for m in _DOTS.finditer(text)) + text.count(" ... ok\n")


def _are_apart(text: str, summaries: list[re.Match[str]]) -> bool:
    """Whether the outcomes of its tests are above each summary. Tests print summaries, too."""
    at = 0
    for summary in summaries:
        found = (m.group() for m in _OUTCOME.finditer(text, at, summary.start()))
        number = sum(1 if outcome.startswith(" ") else len(outcome) for outcome in found)
        if number < int(summary["ran"]):
            return False
        at = summary.end()
    return True


def _said_last(summaries: list[re.Match[str]], heads: list[str]) -> re.Match[str]:
    """The last summary, unless it alone says that nothing failed."""
    failing = [m for m in summaries if m["verdict"] == "FAILED"]
    return failing[-1] if failing and not heads else summaries[-1]


def _counts(text: str, summaries: list[re.Match[str]], heads: list[str]) -> Counts:
    """The numbers of the summaries; of the last one where they may be of one run.

    A test with failing subtests is one, a failing ``setUpClass`` is none. An unexpected success without a
    block counts as a failed test.
    """
    is_whole = len(summaries) == 1 or _are_apart(text, summaries)
    kept = summaries if is_whole else [_said_last(summaries, heads)]
    # Python 3.12.1 leaves skipped tests out of those it ran
    seen = _seen_to_pass(text) if is_whole else 0
    ran = sum(int(m["ran"]) for m in kept)
    numbers: dict[str, int] = {}
    for summary in kept:
        for number in _NUMBER.finditer(summary["numbers"] or ""):
            name = number["what"].strip()
            numbers[name] = numbers.get(name, 0) + int(number["number"])
    unexpected = numbers.get("unexpected successes", 0)
    failing = numbers.get("failures", 0) + numbers.get("errors", 0) + unexpected
    unseen = max(0, failing - len(heads))
    broken = len({_names(what)[0] for what in heads if what.partition(" ")[0] not in _FIXTURES}) + unseen
    broken = broken if is_whole else min(broken, failing)
    skipped, xfailed = numbers.get("skipped", 0), numbers.get("expected failures", 0)
    return Counts(
        passed=max(0, ran - broken - skipped - xfailed, min(seen, ran - broken - xfailed)),
        failed=numbers.get("failures", 0) + min(unseen, unexpected),
        errors=numbers.get("errors", 0),
        skipped=skipped,
        xfailed=xfailed,
        xpassed=unexpected - min(unseen, unexpected),
        collected=ran,
    )


READER = Reader(id="unittest", description="the output of unittest's runner, and of Django's", read=read)
READERS = {READER.id: READER}
