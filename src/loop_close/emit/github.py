"""GitHub Actions: a step summary in Markdown, and annotations as workflow commands.

Sources: "Workflow commands for GitHub Actions" in GitHub's documentation (1 MiB a summary, beyond which all of it is
dropped; ten errors a step), and ``command.ts`` of actions/toolkit (what is escaped).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from loop_close.emit.formats import CodeIssue, findings
from loop_close.emit.report import called, place, shortened, title, where, why_no_result
from loop_close.prompt.green import in_words
from loop_close.prompt.place import how_sure, percent
from loop_close.prompt.show import line_of, span
from loop_close.text.sanitize import fence

#: The bytes that a step summary may have, those included that others wrote; GitHub drops more than 1,048,576.
LIMIT = 900_000
_MOST_ANNOTATIONS = 10
# The characters of a message that are shown, and how many tests of a root cause: openly, and in all.
_MESSAGE = 4_000
_OPEN_TESTS, _MOST_TESTS = 10, 1_000
# Bytes: to say how many root causes are left out, and of a root cause in a line.
_RESERVE, _LINE = 200, 150


def summary(document: Mapping[str, Any], held: int = 0) -> str:
    """The step summary; a green report is one line.

    :param held: bytes that its file holds already.
    :returns: as much as there is room for: a root cause without room has one line, then those left out are counted.
        Empty if there is no room.
    """
    room = LIMIT - held
    start = "\n\n" if held else ""
    if document["verdict"] == "green":
        return _if_fits(f"{start}{_green(document)}\n", room)
    first = f"{start}# loop-close: {title(document)}\n"
    more = "".join(f"{line}\n" for line in _facts(document))
    parts = [f"{first}{more}" if _size(first) + _size(more) + _RESERVE <= room else first]
    room -= _size(parts[0]) + _RESERVE
    causes, half = document["root_causes"], room // 2
    for number, cause in enumerate(causes, 1):
        block = "".join(f"{line}\n" for line in _block(number, cause))
        brief = f"\n## {_heading(number, cause)}\n"
        # The first root causes leave room for a line of each after them.
        rest = min(half, (len(causes) - number) * _LINE)
        shown = block if _size(block) <= room - rest else brief
        if _size(shown) > room:
            left = len(causes) - number + 1
            parts.append(f"\n… and {left:,} more root cause{'s' * (left != 1)}\n")
            break
        parts.append(shown)
        room -= _size(shown)
    return _if_fits("".join(parts), LIMIT - held)


def _if_fits(text: str, room: int) -> str:
    return text if _size(text) <= room else ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _green(document: Mapping[str, Any]) -> str:
    counts = document["counts"]
    numbers = {name: counts[name] for name in ("passed", "skipped", "xfailed", "xpassed")}
    said = in_words(**numbers) if any(numbers.values()) else "No failure"
    return f"loop-close: {said[0].lower()}{said[1:]}"


def _facts(document: Mapping[str, Any]) -> Iterator[str]:
    """Why the run tells nothing or not all, and the results of several sources as a table."""
    if why := why_no_result(document):
        yield from ("", line_of(why, 500))
    if len(document["sources"]) > 1:
        yield from ("", "| source | verdict | failed | errors | passed | |", "|---|---|---|---|---|---|")
    for each in document["sources"][:_MOST_TESTS] if len(document["sources"]) > 1 else ():
        counts = each["counts"]
        failed = counts["failed"] + counts["failed_subtests"]
        why = f"incomplete: {each['incomplete']}" if each["incomplete"] else ""
        yield (
            f"| {_cell(each['source'])} | {_cell(each['verdict'])} | {failed:,} | {counts['errors']:,} |"
            f" {counts['passed']:,} | {_cell(why) if why else ''} |"
        )


def _cell(text: str) -> str:
    """A code span in a table, where a bar ends a cell even inside of code (GFM 0.29, section 4.10)."""
    return line_of(text, 200).replace("|", "\\|")


def _heading(number: int, cause: Mapping[str, Any]) -> str:
    at, score = place(cause)
    if score is None:
        name = span(cause["exception"] or cause["kind"])
        return f"{number}. {name} at {span(where(at))}" if at["file"] else f"{number}. {name}"
    name = f"{span(called(at))} in " if called(at) else ""
    return f"{number}. {how_sure(score).capitalize()} {name}{span(where(at))} ({percent(score)})"


def _block(number: int, cause: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", f"## {_heading(number, cause)}", "")
    tests = [test for test in cause["tests"] if test]
    said = f"{span(cause['exception'] or cause['kind'])} at {span(where(cause['location']))}"
    count = f"{len(tests):,} test{'s' * (len(tests) != 1)}" if tests else ""
    if line := ", ".join(filter(None, (said if place(cause)[1] is not None else "", count))):
        yield from (f"{line}:", "")
    yield from fence(shortened(cause["message"], _MESSAGE) or cause["kind"])
    first, *others = cause["suspects"] or [None]
    if first is not None and first["reasons"]:
        yield from ("", f"Why: {line_of('; '.join(first['reasons']), 600)}")
    if others:
        named = ", ".join(f"{span(called(s) or where(s))} ({percent(s['score'])})" for s in others[:4])
        yield from ("", f"Other suspects: {named}")
    if tests:
        is_open = len(tests) <= _OPEN_TESTS
        yield from ("",) if is_open else ("", f"<details><summary>{len(tests):,} tests</summary>", "")
        yield from (f"- {span(test, 300)}" for test in tests[:_MOST_TESTS])
        if len(tests) > _MOST_TESTS:
            yield f"- … and {len(tests) - _MOST_TESTS:,} more"
        yield from () if is_open else ("", "</details>")


def error_annotations(document: Mapping[str, Any]) -> list[str]:
    """Workflow commands that annotate files with errors, one a line: root causes first, then their other places.

    GitHub shows ten of a step; the tenth says how many are left out.
    """
    found = findings(document)
    left = len(found) - _MOST_ANNOTATIONS
    shown = found[:_MOST_ANNOTATIONS]
    return [
        _annotation(each, left if left > 0 and number == len(shown) else 0)
        for number, each in enumerate(shown, 1)
    ]


def _annotation(finding: CodeIssue, left: int) -> str:
    properties = {"title": f"loop-close: {shortened(finding.title, 200)}"}
    if finding.file:
        properties |= {"file": finding.file, "line": str(max(finding.line, 1))}
    more = f"\n… and {left:,} more" if left else ""
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {named}::{_data(f'{shortened(finding.message, 1_000)}{more}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
