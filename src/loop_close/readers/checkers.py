"""Checkers of types and of style: a grammar for each tool, and the one function that reads by it.

A summary that counts findings of which no item is left is one failure for all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise

from loop_close.conventions import is_test_file
from loop_close.model import Failure, Frame, Raised, Site, SourceLines
from loop_close.readers import Read, Reading, line_end, merged, project_path
from loop_close.records import Record
from loop_close.text import cut, fields_of, objects_of, one_line, sanitize

_MAX_FAILURES = 20_000
_MAX_BROKEN = 5
_MAX_SOURCE = 1_000
_MAX_NUMBER = 999_999_999
_NEVER = re.compile(r"(?!)")


class Tool(Record, frozen=True, kw_only=True):
    """How one checker writes.

    :ivar like: what each line with an item or a summary contains; it is searched for in the whole text.
    :ivar items: the lines with a finding. Groups: ``file``, ``line``, ``cell``, ``code``, ``said``, and
        ``warning`` of one that fails no run. Without ``file``, the place is in the excerpt below.
    :ivar summary: a line that counts the findings. Group ``number``; it is missing when nothing was found.
    :ivar below: a line that goes on with the finding above; group ``note`` for what it adds. If it has ``at``, that is
        the place that the finding begins with.
    :ivar key: only JSON of the tool contains it.
    :ivar fields: where the groups are in a JSON object of one finding, with ``+1`` for numbers that count from 0;
        ``notes`` and ``help`` are notes.
    """

    name: str
    like: re.Pattern[str]
    items: tuple[re.Pattern[str], ...]
    summary: re.Pattern[str] = _NEVER
    below: re.Pattern[str] = _NEVER
    key: str = ""
    fields: Mapping[str, str] = {}


#: Offsets of a part of the text, and the findings in it.
_Part = tuple[int, int, Sequence[Failure]]


def read_checker(tool: Tool, text: str, root: str) -> Reading:
    """What a checker found."""
    documents = [*_documents(tool, text, root)] if tool.key and tool.key in text else []
    bounds = [0, *chain.from_iterable(part[:2] for part in documents), len(text)]
    parts = [
        text[a:b] if number % 2 == 0 else "\n" * (b - a) for number, (a, b) in enumerate(pairwise(bounds))
    ]
    # Pyright indents with no-break spaces
    items, summaries = _lines(tool, "".join(parts).replace("\xa0", " "), root)
    found = [*documents, *items]
    failures = [failure for part in found or [s for s in summaries if s[2]][:1] for failure in part[2]]
    return Reading(
        failures=tuple(failures[:_MAX_FAILURES]),
        spans=merged(part[:2] for part in (*found, *summaries)),
        is_certain=bool(documents or summaries or failures),
    )


# --- lines of text


def _lines(tool: Tool, text: str, root: str) -> tuple[list[_Part], list[_Part]]:
    """The items in a text; the summaries, each as one finding for all that it counts."""
    items: list[_Part] = []
    summaries: list[_Part] = []
    end = 0
    for like in tool.like.finditer(text):
        if like.start() < end:
            continue
        start = text.rfind("\n", 0, like.start()) + 1
        end = line_end(text, start)
        item = next((found for pattern in tool.items if (found := pattern.match(text, start))), None)
        if item is not None and (finding := _finding(tool, text, item, root)) is not None:
            end = finding[1]
            items.append((start, end, [] if item.groupdict().get("warning") else finding[:1]))
        elif summary := tool.summary.match(text, start):
            number = int(summary["number"] or 0)
            counted = _failure(tool.name, {"said": summary[0].strip()}, [], "", root, number)
            summaries.append((start, end, [counted] if number else []))
    return items, summaries


def _finding(tool: Tool, text: str, item: re.Match[str], root: str) -> tuple[Failure, int] | None:
    """The finding that begins with a line, and the end of all that is said below it; None without a place.

    Places that notes point to are named in parentheses; proposed fixes are passed over.
    """
    given = item.groupdict("")
    said, label, source, end = given.get("said", ""), "", "", item.end()
    notes: list[str] = []
    caret = _CARET.match(text, end + 1)
    if caret is not None and not (caret["wrapped"] and given.get("code")):
        said = " ".join([said, *map(str.strip, caret["wrapped"].splitlines())])
        source, end = caret["source"].strip(), caret.end()
    while end < len(text):
        at = end + 1
        if more := _LOCATION.match(text, at):
            if "file" not in given:
                given |= more.groupdict("")
            elif notes and not more["file"].startswith(("stdlib/", "vendored:")):
                notes[-1] += f" ({more['file']}:{more['line']})"
        elif more := _ROW.match(text, at):
            if not notes and more["line"] == given.get("line"):
                source = _MARGIN.sub("", more["text"] or "").strip()
            elif more["label"] and not (notes or label):
                label = more["label"].rstrip()
        elif more := tool.below.match(text, at):
            if more.groupdict().get("at") not in (None, item[0].partition(": error: ")[0]):
                break
            notes += [more["note"].rstrip()] if more["note"] is not None else []
        elif (more := _FIX.match(text, at)) is None:
            break
        end = more.end()
    if "file" not in given:
        return None
    given["said"] = said
    if label not in (said, given.get("code")):
        notes.insert(0, label)
    return _failure(tool.name, given, notes, source, root), end


#: A path at the start of a line: none of what begins quoted or commented text, and no spaces.
_PATH = (
    r"(?P<file>(?:[A-Za-z]:(?=[\\/]))?[^\s:\"'`#>*+|(\[-][^\s:\"'`<>|*?]{0,400}\.(?:pyi?|ipynb|toml)|<string>)"
    r"(?::cell (?P<cell>\d{1,6}))?"
)
#: A path that the text around it shows to be one.
_ANY_PATH = (
    r"(?P<file>(?:[A-Za-z]:(?=[\\/]))?[^:#\n]{1,400}\.(?:pyi?|ipynb|toml))(?:(?::cell |#)(?P<cell>\d{1,6}))?"
)
_AT = r":(?P<line>\d{1,9}):\d{1,9}"
# The rest of a message, the line of the file, and the marks below it.
_CARET = re.compile(
    r"(?P<wrapped>(?:(?!\S{1,500}:\d|Found )[^\n]{1,2000}\n){0,13}?)(?P<source>[^\n]{1,2000})\n"
    r"[ \t]{0,2000}\^~{0,1000}$",
    re.MULTILINE,
)
# Lines of a file in the style of rustc, as ty, Pyrefly and Ruff print them below a message.
_LOCATION = re.compile(rf" {{0,12}}--> {_ANY_PATH}{_AT}$", re.MULTILINE)
_ROW = re.compile(
    r"(?: {0,12}(?P<line>\d{1,9}) \|(?: (?P<text>.*))?| {1,13}\|(?: [^^\n]*+\^++ (?P<label>[^\s^-].*)| .*)?)$",
    re.MULTILINE,
)
_MARGIN = re.compile(r"\A[/|] ")  # of marks over several lines
# What only a proposed fix has: another cell, changed lines, a ruler between its parts.
_FIX = re.compile(r"(?: {0,12}(?:::: |\d{0,9} {1,12}[+-](?: |$)|\.\.\.$)|-{10,200}$).*", re.MULTILINE)
_ENDING = re.compile(r" {1,2}(?:\[(?P<code>[a-z][a-z0-9-]{0,60})\]|\((?P<rule>report[A-Z]\w{1,80})\))\Z")


# --- JSON

_OPENING = re.compile(r'^[ \t]{0,12}(?=(?:\[\s{0,20})?\{\s{0,20}")', re.MULTILINE)


def _documents(tool: Tool, text: str, root: str) -> Iterator[_Part]:
    """The findings in each JSON value that is the tool's; of an output that was cut, in each item that is whole."""
    decoder, end, broken = json.JSONDecoder(), 0, 0
    for opening in _OPENING.finditer(text):
        if opening.start() < end or broken >= _MAX_BROKEN:
            continue
        try:
            value, end = decoder.raw_decode(text, opening.end())
        except (ValueError, RecursionError):
            broken += 1
            continue
        lists = (each for each in (value, *fields_of(value).values()) if isinstance(each, list))
        paths = {"severity": "severity", **tool.fields}
        items = objects_of(next(lists, [value]))
        found = [{name: _at(item, path) for name, path in paths.items()} for item in items]
        findings = [each for each in found if each["file"] and each["line"] and each["said"]]
        if findings or not found:
            red = (each for each in findings if each["severity"] in ("", "error"))
            yield opening.start(), end, [_of_json(tool, given, root) for given in red]


def _at(item: object, path: str) -> str:
    """What is at a path of keys, as sanitized text; empty if it is neither a text nor a number of a line."""
    keys, _, more = path.partition("+")
    for key in keys.split("."):
        item = fields_of(item).get(key)
    if isinstance(item, int):
        return str(min(max(item + int(more or 0), 0), _MAX_NUMBER))
    return sanitize(item.replace("\xa0", " ")) if isinstance(item, str) else ""


def _of_json(tool: Tool, given: dict[str, str], root: str) -> Failure:
    given["said"], *notes = given["said"].split("\n")
    more = [line for line in given.get("notes", "").splitlines() if line != given["said"]]
    notes += [tool.below.sub(r"\g<note>", line) for line in more]
    notes += [f"help: {given['help']}"] if given.get("help") else []
    given |= {name: one_line(given[name], 1_000) for name in ("file", "code")}
    return _failure(tool.name, given, notes, "", root)


# --- findings as failures

#: The folder of another's file: it is particular to this machine.
_FOLDER = re.compile(r"\A.*/(?:site|dist)-packages/|\A(?!.*-packages/).*/")
#: Rules that a tool names otherwise, or used to.
_CODES = {
    **dict.fromkeys(("SyntaxError", "Failed to parse"), "invalid-syntax"),
    **dict.fromkeys(("unformatted", "Would reformat"), "format"),
}


def _failure(
    tool: str, given: Mapping[str, str], notes: Sequence[str], source: str, root: str, number: int = 1
) -> Failure:
    """A finding as a failure.

    :param given: what its line or object says, by the names of the groups; numbers as digits.
    :param notes: what is said below the message; ``source`` is the line of the file.
    :param number: how many findings it represents.
    """
    code, path, cell = (given.get(name, "") for name in ("code", "file", "cell"))
    line = int(given.get("line") or 0)
    texts = [each for each in (given["said"], *notes) if each] or [code]
    for at in (0, -1):
        if not code and (ending := _ENDING.search(texts[at])):
            code, texts[at] = ending["code"] or ending["rule"], texts[at][: ending.start()].rstrip()
    file = project_path(path, root)
    texts += [f"in cell {cell}, line {line}"] if cell else []
    if path and not file:
        foreign = _FOLDER.sub("", path.replace("\\", "/"))
        texts.append(f"in {foreign}, line {line}")
    message = cut("\n".join(texts).strip())
    message = message.replace(f"{root.rstrip('/')}/", "") if root else message
    line = line if file and not cell else 0
    lines = SourceLines(start=line, lines=(source[:_MAX_SOURCE],)) if source and line else SourceLines()
    frame = Frame(file=file, line=line, function="", is_test=is_test_file(file), source=lines)
    statement = " ".join(source[:_MAX_SOURCE].split())
    raised = Raised(
        type=tool,
        message=message,
        frames=(frame,) if file else (),
        site=Site(frame=frame, statement=statement) if file else None,
    )
    return Failure(
        nodeid="",
        phase="check",
        tool=tool,
        code=_CODES.get(code, code),
        file=file,
        line=line,
        message=message,
        raised=raised,
        number=number,
    )


# --- the tools


def _pattern(pattern: str) -> re.Pattern[str]:
    """A pattern of a whole line."""
    return re.compile(rf"^(?:{pattern})$", re.MULTILINE)


_MYPY = Tool(
    name="mypy",
    like=re.compile(r": error: |mypy: |please use --show|source file|errors prevented"),
    items=(
        _pattern(
            rf"{_PATH}:(?P<line>\d{{1,9}})(?::\d{{1,9}}(?::\d{{1,9}}:\d{{1,9}})?)?"
            r": (?:: )?error: (?P<said>.*)"
        ),
        # argparse says the same of what has no line
        _pattern(rf"{_PATH}: error: (?P<said>(?:Duplicate|Cannot|Source|INTERNAL) .*)"),
        _pattern(rf"{_PATH}(?::\d{{1,9}})?: note: (?P<said>please use --show-traceback .*)"),
        _pattern(r"mypy: (?P<file>)(?:error: |(?=can't ))(?P<said>.+)"),
    ),
    summary=_pattern(
        r"Found (?P<number>\d{1,9}) errors? in \d{1,9} files?"
        r" \((?:checked \d{1,9} source files?|errors prevented further checking)\)"
        r"|Success: no issues found in \d{1,9} source files?"
    ),
    below=_pattern(
        r"(?:(?P<at>[^\s:][^\n]{0,500}?): (?:: )?note: |(?=version: ))"
        r"(?:please use --show-traceback.*|(?P<note>.*))"
        r"|(?:https://mypy\.readthedocs\.io/|If this issue continues |Please report a bug ).*"
    ),
    key='"hint": ',
    fields={"file": "file", "line": "line", "said": "message", "code": "code", "notes": "hint"},
)

_PYRIGHT = Tool(
    name="pyright",
    like=re.compile(r" - error: |File or directory |errors?, \d"),
    items=(
        _pattern(rf" {{0,2}}{_ANY_PATH}{_AT} - error: (?P<said>.*)"),
        _pattern(r"(?P<said>File or directory \"(?:file://)?(?P<file>[^\"\n]{1,1000})\" does not exist)\.?"),
    ),
    summary=_pattern(
        r"(?:0|(?P<number>\d{1,9})) errors?, \d{1,9} warnings?, \d{1,9} (?:informations?|notes?) ?"
    ),
    below=_pattern(r"(?! {0,2}\S[^\n]* - (?:error|warning|information): )  (?P<note>  .*)"),
    key='"generalDiagnostics"',
    fields={"file": "file", "line": "range.start.line+1", "said": "message", "code": "rule"},
)

_CODE_AT_END = r" \[(?P<code>[a-z][a-z0-9-]{0,80})\]"
_PYREFLY = Tool(
    name="pyrefly",
    like=re.compile(r"\[[a-z][a-z0-9-]{0,80}\]$|INFO \d{1,9} (?:error|diagnostic)", re.MULTILINE),
    items=(
        _pattern(
            rf" {{0,2}}ERROR {_ANY_PATH}{_AT}(?:-\d{{1,9}}(?::\d{{1,9}})?)?: (?P<said>.*){_CODE_AT_END}"
        ),
        _pattern(rf" {{0,2}}ERROR (?P<said>.*){_CODE_AT_END}"),
    ),
    # what the log of the program says goes to the other stream: it may follow a JSON document on the same line
    summary=_pattern(
        r"[\]}]? {0,2}INFO (?:0|(?P<number>\d{1,9})) (?:errors?|diagnostics?)(?: \([^\n]{1,200}\))?"
    ),
    below=_pattern(
        r"  (?:Looked in these locations.*|[A-Z][^:\n]{0,120}: [\"\[].*|(?!WARN |INFO |ERROR )(?P<note>.*))"
    ),
    key='"concise_description"',
    fields={
        "file": "path",
        "line": "line",
        "cell": "cell",
        "said": "concise_description",
        "code": "name",
        "notes": "description",
    },
)

_RULE = r"(?:error|fatal|(?P<warning>warning|info))\[(?P<code>[a-z][a-z0-9:-]{0,80})\]"
# without what is said of every finding alike, and the folders that imports were searched in
_NOTE = _pattern(
    r"(?: {1,12}= )?(?:(?:info|note): |(?=help: ))(?:(?:help: )?(?:Searched in the following paths|  \d+\. "
    r"|rule `[^`\n]{1,100}` (?:is|was) (?:enabled|selected)\b|make sure your Python environment is properly"
    r"|This is an unsafe fix\b).*|(?P<note>.*))"
)
_TY = Tool(
    name="ty",
    like=re.compile(r"(?:error|fatal|warning|info)\[|Found \d"),
    items=(
        _pattern(rf"{_PATH}{_AT}: {_RULE}(?: (?P<said>.*))?"),
        _pattern(r"error\[(?P<code>io)\](?P<file>): (?P<said>.*)"),
        # rustc's own codes are capitals and digits: E0308
        _pattern(rf"{_RULE}(?:: (?P<said>.*))?"),
    ),
    summary=_pattern(r"Found (?P<number>\d{1,9}) diagnostics?"),
    below=_NOTE,
)

_CODE = r"(?P<code>[A-Z]{1,6}\d{3,5}(?!:)|(?:invalid-syntax|SyntaxError)(?=:)):?"
_LINES = (
    _pattern(rf"{_PATH}{_AT}: {_CODE}(?: \[\*\])? (?P<said>\S.*)"),
    _pattern(rf"{_PATH}:(?P<line>\d{{1,9}}): \[(?P<code>[A-Z]{{1,6}}\d{{3,5}})\] (?P<said>\S.*)"),
)
_PLACED = r"\.(?:pyi?|ipynb(?::cell \d{1,6})?|toml):\d"
_FLAKE8 = Tool(name="flake8", like=re.compile(_PLACED), items=_LINES)
#: What only Ruff writes: then the lines that flake8 writes alike are Ruff's.
_RUFFS = re.compile(
    r"Found \d{1,9} errors?(?: \(\d{1,9} fixed, \d{1,9} remaining\))?\.$|\[\*\] |\n {1,13}\|$|\"noqa_row\"|/ruff/rules/"
    r"|: (?:invalid-syntax|SyntaxError): |:error title=[Rr]uff |logissue type=error;sourcepath=",
    re.MULTILINE,
)
_FORMAT_LIKE = r"Would reformat: |unformatted: |Failed to parse |would be reformatted"
_RUFF_FORMAT = Tool(
    name="ruff",
    like=re.compile(_FORMAT_LIKE),
    items=(
        _pattern(r"(?P<code>Would reformat): (?P<file>\S[^\n]{0,400})"),
        _pattern(r"(?P<code>unformatted): (?P<said>.*)"),
        _pattern(rf"error: (?P<code>Failed to parse) {_ANY_PATH}{_AT}: (?P<said>.*)"),
    ),
    summary=_pattern(
        r"(?P<number>\d{1,9}) files? would be reformatted(?:, \d{1,9} files? already formatted)?"
    ),
)
_RUFF = Tool(
    name="ruff",
    like=re.compile(
        rf"{_FORMAT_LIKE}|{_PLACED}|^(?:[A-Z]{{1,6}}\d{{3,5}}|invalid-syntax:|SyntaxError:) |Found \d"
        r"|\[\*\] \d|/ruff/rules/|:error title=|logissue ",
        re.MULTILINE,
    ),
    items=(
        *_LINES,
        _pattern(rf"{_CODE}(?: \[\*\])? (?P<said>\S.*)"),
        *_RUFF_FORMAT.items,
        _pattern(
            r": ?:error title=[Rr]uff \((?P<code>[^)\n]{1,80})\),file=(?P<file>[^,\n]{1,1000})"
            r",line=(?P<line>\d{1,9})[^:\n]{0,200}::(?:\S{1,1000}: )?(?:[A-Z]{1,6}\d{3,5} )?"
            r"(?P<said>(?:(?!%0A).)*).*"
        ),
        _pattern(
            r"# ?#vso\[task\.logissue type=error;sourcepath=(?P<file>[^;\n]{1,1000});linenumber=(?P<line>\d{1,9});"
            r"columnnumber=\d{1,9};code=(?P<code>[^;\n]{0,80});\](?P<said>.*)"
        ),
        # the end of a finding in JSON of which the beginning was cut
        _pattern(r'\s{0,12}"url": "https://docs\.astral\.sh/ruff/rules/(?P<file>)(?P<said>[\w-]{1,100})".*'),
    ),
    summary=_pattern(
        r"(?:Found (?:\d{1,9} errors? \(\d{1,9} fixed, )?|\[\*\] )?(?P<number>\d{1,9})(?: errors?\.| remaining\)\."
        r"| fixable with [^\n]{1,200}| files? would be reformatted(?:, \d{1,9} files? already formatted)?)"
    ),
    below=_NOTE,
    key='"noqa_row"',
    fields={
        "file": "filename",
        "line": "location.row",
        "cell": "cell",
        "said": "message",
        "code": "code",
        "help": "fix.message",
    },
)


def _reader(tool: Tool) -> Read:
    return lambda text, root: read_checker(tool, text, root)


def read_ruff(text: str, root: str) -> Reading:
    """Every finding of Ruff, a file that it would reformat and one that it cannot parse among them."""
    return read_checker(_RUFF if _RUFFS.search(text) else _RUFF_FORMAT, text, root)


def read_flake8(text: str, root: str) -> Reading:
    """Every finding of flake8, which prints no summary."""
    return Reading() if _RUFFS.search(text) else read_checker(_FLAKE8, text, root)


READERS: dict[str, Read] = {
    **{tool.name: _reader(tool) for tool in (_MYPY, _PYRIGHT, _PYREFLY, _TY)},
    "ruff": read_ruff,
    "flake8": read_flake8,
}
