"""What holds of every reader of a static checker."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from output_corpus import check, sample, samples
from records import any_text, hostile

from loop_close.readers import Reading
from loop_close.readers.checkers import READERS
from loop_close.text import sanitize

SAMPLES = [(reader, name) for reader in READERS for name in samples(reader)]
every_reader = pytest.mark.parametrize("reader", READERS)
every_sample = pytest.mark.parametrize(("reader", "name"), SAMPLES)

PROSE = """\
The checker said error: it failed. See src/shop/prices.py:9: error: maybe.
# src/shop/prices.py:9: error: Incompatible types  [assignment]
    src/shop/prices.py:9:1: E501 line too long
> src/shop/prices.py:9:1: F401 [*] `os` imported but unused
3 errors, 2 failed. Found 3 errors. Found 2 problems. All checks passed!
ERROR could not reach the host [retry]
 --> example.com:1:1
error[E0308]: mismatched types
 --> src/main.rs:3:5
"""
COMPILERS = """\
src/main.c: In function 'main':
src/main.c:3:5: error: 'x' undeclared (first use in this function)
src/main.c:3:5: note: each undeclared identifier is reported only once
src/a.ts:3:5 - error TS2322: Type 'string' is not assignable to type 'number'.
main.go:7:2: undefined: fmt
manage.py: error: unrecognized arguments: --bogus
ld: error: undefined symbol: main
tests/test_a.py:12: AssertionError
tests/test_a.py:12: DeprecationWarning: E501 is gone
mypy: commands[0]> mypy src
mypy: OK (3.20 seconds)
src/shop/styles.py:1:0: C0114: Missing module docstring (missing-module-docstring)
"""
FRAGMENTS = re.split(
    "¦",
    "a.py¦x.ipynb:cell 1¦:3¦:1¦: error: ¦: note: ¦error[bad-x]¦: ¦\n¦  [¦]¦ --> ¦  |\n¦3 | x = 1\n¦"
    '  | ^^^ bad\n¦info: a\n¦ERROR ¦F401 [*] ¦E501 ¦    ^~~\n¦{"errors": [¦"noqa_row"¦'
    '"generalDiagnostics": [¦}¦Found 3 errors.\n¦ - error: ¦[1, {¦'
    "Found 2 errors in 1 file (checked 1 source file)\n¦Found 2 diagnostics\n¦ INFO 1 error\n¦\\u001b¦"
    "1 error, 0 warnings, 0 informations\n¦INTERNAL ERROR -- ¦Would reformat: ¦SyntaxError: ¦é",
)
texts = st.lists(st.sampled_from(FRAGMENTS) | hostile, max_size=30).map("".join) | any_text


@every_reader
@pytest.mark.parametrize("text", ["", "\n", PROSE, COMPILERS, PROSE + COMPILERS])
def test_words_of_others_are_nothing(reader, text):
    assert READERS[reader](text, "") == READERS[reader]("", "")


@every_sample
def test_sample(reader, name):
    check(reader, name)


@every_sample
def test_no_other_reader_takes_a_sample(reader, name):
    text, _ = sample(reader, name)
    others = [other for other in READERS if other != reader and READERS[other](text, "").failures]
    assert others == []


@every_sample
def test_spans_hold_every_finding(reader, name):
    text, said = sample(reader, name)
    reading = READERS[reader](text, said["root"])
    assert all(0 <= start < end <= len(text) for start, end in reading.spans)
    assert all(a[1] < b[0] for a, b in pairwise(reading.spans))
    rest = text
    for start, end in reversed(reading.spans):
        rest = rest[:start] + rest[end:]
    assert READERS[reader](rest, said["root"]).failures == ()


@every_sample
def test_frame_and_site_stand_where_the_failure_does(reader, name):
    text, said = sample(reader, name)
    for failure in READERS[reader](text, said["root"]).failures:
        raised = failure.raised
        assert raised.message == failure.message
        if failure.file:
            (frame,) = raised.frames
            assert (frame.file, frame.line, raised.site.frame) == (failure.file, failure.line, frame)
        if failure.file and frame.source.lines:
            shown = frame.source.lines[frame.line - frame.source.start]
            assert raised.site.statement == " ".join(shown.split())


@every_reader
@given(text=texts)
def test_never_raises(reader, text):
    reading = READERS[reader](sanitize(text), "/home/dev/shop")
    assert all(f.tool == reader and f.phase == "check" for f in reading.failures)


@given(text=texts)
def test_no_line_is_taken_twice(text):
    text = sanitize(text)
    taken = [span for reader in READERS for span in READERS[reader](text, "").spans]
    findings = sorted(span for span in taken if "Found" not in text[span[0] : span[1]])
    assert all(a[1] <= b[0] for a, b in pairwise(findings))


LONG = [
    *("x" * 1_000_000, "(" * 1_000_000, "a.py:1:1: F401 " * 60_000, "a.py:1: error: " * 60_000),
    *("--> a.py:1:1" * 80_000, "[" * 1_000_000, '{"errors": [' * 80_000, '[{"noqa_row":' * 70_000),
    *("a.py:1: error: x [" * 50_000, "\n" * 1_000_000, "ERROR a.py:1:1: x [" * 50_000, "^ " * 500_000),
    *("3 | x\n" * 150_000, "error[a]: x\n --> a.py:1:1\n  | ^\n" * 30_000, "Found 3 errors.\n" * 60_000),
    *("a.py:1: error: INTERNAL ERROR -- x\n" * 25_000, "error: Failed to parse a.py:1:1: x\n" * 25_000),
    *(
        "a.py:1:1: F401 x\nFound 9 errors.\n" * 30_000,
        'error[a] "noqa_row" "concise_description"\n[{"' * 20_000,
    ),
]


@pytest.mark.slow
@pytest.mark.timeout(60)  # quadratic time takes minutes
@every_reader
@pytest.mark.parametrize("text", LONG, ids=lambda text: repr(text[:20]))
def test_time_is_linear(reader, text):
    assert isinstance(READERS[reader](text, ""), Reading)


@pytest.mark.slow
@every_reader
def test_failures_and_messages_are_bounded(reader):
    name = {"mypy": "many_errors", "pyright": "many_errors", "ty": "concise", "pyrefly": "min_text"}
    text, said = sample(reader, name.get(reader, "concise" if reader == "ruff" else "default"))
    times = 25_000 // len(said["expected"]) + 1
    assert len(READERS[reader](text * times, "").failures) == 20_000
    long = READERS[reader](text.replace(said["expected"][0]["message"], "y" * 100_000, 1), "").failures
    assert all(len(f.message) <= 16_100 for f in long)
