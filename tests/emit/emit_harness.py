"""Reports for the formats, and the published schemas that they have to keep."""

import json
from functools import cache
from pathlib import Path

import jsonschema
from records import failure, observed, raised

from loop_close.emit import document_of
from loop_close.judge import report_of
from loop_close.model import Counts
from loop_close.prompt.report_json import report_document

SCHEMAS = Path(__file__).parent / "schemas"
#: Text that some format could take for its own.
FORGED = (
    *("::error file=x::y", "%0A::error::", "%25", ",line=1", "]]>", "</details>", "</failure>", "<![CDATA["),
    *("| a |", "](javascript:x)", "<img src=x>", "\u202e", "\u200b", "\x1b[31m", "\x00", "\ufffe", "\ud800"),
    *("# h\n", "```\n", "&amp;", "&#0;", '"', "'", "\r\n::warning::x", "##[error]x", "\\", "é", "漢字"),
)


def plain(*found, counts=None, exit_code=1, **fields):
    """The report of a run as JSON."""
    counts = counts or Counts(passed=34, failed=len(found))
    report = report_of(observed(*found, counts=counts, exit_code=exit_code, **fields))
    return json.loads(json.dumps(report_document(report, "# x\n")))


def document(*found, folder="", **fields):
    """The report of a run, as the formats take it."""
    return document_of(plain(*found, **fields), folder)


def many(number, places=1):
    """So many failing tests with a root cause each, that show in so many places."""
    return [
        failure(raised(f"Error{n:04}", message=f"m{n}"), f"tests/test_a.py::test_{n:04}_{at}")
        for n in range(number)
        for at in range(places)
    ]


def assert_valid(name, text):
    """The text is what its format wants, by the published schema where there is one."""
    match name:
        case "sarif" | "gitlab":
            validator(name).validate(json.loads(text, parse_constant=lambda constant: 1 / 0))
        case "github-annotations":
            for line in text.splitlines():
                kind, properties, _ = command_of(line)
                assert kind == "error", line
                assert properties.keys() <= {"title", "file", "line"}, line


@cache
def validator(name):
    files = {"sarif": "sarif-2.1.0-rtm.5.json", "gitlab": "gitlab-code-quality.json"}
    schema = json.loads((SCHEMAS / files[name]).read_text(encoding="utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


def command_of(line):
    """Name, properties and message of a workflow command, as the runner reads them (ActionCommand.cs)."""
    assert line.startswith("::")
    head, _, message = line[2:].partition("::")
    name, _, named = head.partition(" ")
    properties = dict(pair.split("=", 1) for pair in named.split(","))
    return name, {key: unescaped(value) for key, value in properties.items()}, unescaped(message)


def unescaped(text):
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text
