"""What the readers of programs' output are checked with: their corpus, hostile text, and time."""

import json
from pathlib import Path

from loop_close.readers import DEFAULT_READERS, Reading
from loop_close.text import sanitize

READERS = {each.id: each.load() for each in DEFAULT_READERS}
CORPUS = Path(__file__).parent.parent / "corpus"
PIECES = ["x", "(", "a.", "\n", " ", "/9j+", ": ", "-", "=" * 70 + "\n", "  File ", "Error: ", "| "]


def samples(reader):
    return sorted(path.stem for path in (CORPUS / reader).glob("*.json"))


def sample(reader, name):
    """The text of a sample with what a person says that it tells."""
    told = json.loads((CORPUS / reader / f"{name}.json").read_text(encoding="utf-8"))
    return sanitize((CORPUS / reader / f"{name}.txt").read_bytes().decode()), told


def told_by(failure, expected):
    """The fields of a failure that are expected, or that are not empty."""
    fields = ("nodeid", "subtest", "phase", "file", "line", "tool", "code")
    found = {name: getattr(failure, name) for name in fields if getattr(failure, name)}
    found |= {"type": failure.raised.type} if failure.raised else {}
    if "message_starts" in expected:
        start = failure.message[: len(expected["message_starts"])]
        return found | {"message_starts": start}
    return found | ({"message": failure.message} if failure.message else {})


def check(reader, name):
    text, told = sample(reader, name)
    reading = READERS[reader](text, told["root"])
    expected = told["expected"]
    assert len(reading.failures) == len(expected)
    assert [told_by(f, e) for f, e in zip(reading.failures, expected, strict=True)] == expected
    warned = [
        {k: getattr(w, k) for k in e} for w, e in zip(reading.warnings, told.get("warnings", []), strict=True)
    ]
    assert warned == told.get("warnings", [])
    counts = reading.counts and {k: v for k in told["counts"] or {} if (v := getattr(reading.counts, k))}
    assert counts == told["counts"]
    check_spans(reading, text)


def check_spans(reading, text):
    ends = [0, *(offset for span in reading.spans for offset in span), len(text)]
    assert ends == sorted(ends)


def check_total(reader, text):
    """Whatever the text, something well formed comes back."""
    reading = READERS[reader](text, "/home/dev/prog")
    assert isinstance(reading, Reading)
    check_spans(reading, text)
