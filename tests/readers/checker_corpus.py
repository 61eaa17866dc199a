"""Real output of static checkers, with what a person says it tells: for the tests of their readers."""

import json
from pathlib import Path

from loop_close.text import sanitize

CORPUS = Path(__file__).parent.parent / "corpus"


def samples(reader):
    return sorted(path.stem for path in (CORPUS / reader).glob("*.txt"))


def sample(reader, name):
    """The text as a reader gets it, and what is said of it."""
    path = CORPUS / reader / name
    text = path.with_suffix(".txt").read_bytes().decode("utf-8")
    return sanitize(text), json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))


def told(failure, expected):
    """What a failure says of the fields that are expected of it."""
    fields = {name: getattr(failure, name) for name in ("phase", "file", "line", "tool", "code", "message")}
    fields["type"] = failure.raised.type
    if "message_starts" in expected:
        fields["message_starts"] = fields.pop("message")[: len(expected["message_starts"])]
    return {name: value for name, value in fields.items() if value}
