"""One log to a summary, and summaries to their sum, which is the same in any order."""

import json
import pickle
from functools import reduce
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from records import any_text, hostile

import loop_close
from loop_close import (
    LogSummary,
    close_loop,
    combine_summaries,
    summary_json,
    summary_of_log,
    summary_text,
)
from loop_close.library import CauseSummary, summary_document, unread_log
from loop_close.prompt import safe
from loop_close.readers.logs import XML

CORPUS = Path(__file__).parent / "corpus"
SAMPLES = sorted(path for path in CORPUS.glob("*/*") if path.suffix in (".txt", ".xml"))
SCHEMA = resources.files(loop_close) / "schema" / "summary-1.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))

GREEN = "Success: no issues found in 3 source files\n"
CRASH = (
    "Traceback (most recent call last):\n"
    '  File "/srv/shop/shop.py", line 3, in <module>\n'
    "    price()\n"
    "KeyError: 'tea'\n"
)
RED_XML = (
    '<?xml version="1.0" encoding="{}"?>\n<testsuite name="pytest" tests="2" failures="1">'
    '<testcase classname="test_a" name="test_é"><failure message="assert 1 == 2">test_a.py:2: AssertionError'
    '</failure></testcase><testcase classname="test_a" name="test_two"/></testsuite>'
)

_names = st.sampled_from(["a", "b", "run-9", "run-10", "run-010", "ü"]) | any_text
_few = st.integers(0, 3)
_shown = any_text.map(safe)
_causes = st.builds(
    CauseSummary,
    last_log=st.just(""),
    logs=st.just(1),
    failures=st.just(1),
    kind=st.sampled_from(["test-failure", "crash"]),
    exception=_shown,
    message=_shown,
    location=st.tuples(_shown, _few, _shown),
    suspect=st.none() | st.tuples(_shown, _few, _shown, st.sampled_from([0.25, 0.5])),
    examples=_shown.map(lambda test: (("", test),)),
)


def _of_one_log(name, kind, causes):
    log = safe(name)
    if kind == "red":
        named = {
            id: replace(each, last_log=log, examples=((log, each.examples[0][1]),))
            for id, each in causes.items()
        }
        return LogSummary(red=1, causes=named)
    return LogSummary(green=1) if kind == "green" else unread_log(name, "why", kind)


_summaries = st.builds(
    _of_one_log,
    _names,
    st.sampled_from(["red", "red", "green", "unknown", "unread", "not a log"]),
    st.dictionaries(st.sampled_from(["0" * 8, "1" * 8, "2" * 8]), _causes, min_size=1),
)


def total(summaries):
    return reduce(combine_summaries, summaries, LogSummary())


def ids(summary):
    return sorted(summary.causes)


@pytest.mark.slow
@given(st.lists(_summaries, max_size=8), st.randoms(use_true_random=False))
def test_order_and_grouping_change_nothing(summaries, chance):
    whole = total(summaries)
    shuffled = summaries.copy()
    chance.shuffle(shuffled)
    cut = chance.randint(0, len(shuffled))
    parts = combine_summaries(total(shuffled[:cut]), total(shuffled[cut:]))
    assert parts == whole == reduce(lambda a, b: combine_summaries(b, a), summaries, LogSummary())
    assert summary_json(parts) == summary_json(whole)
    assert summary_text(parts) == summary_text(whole)


@given(_summaries, _summaries)
def test_sum_of_two_leaves_both_as_they_were(one, other):
    before = pickle.dumps((one, other))
    both = combine_summaries(one, other)
    assert pickle.dumps((one, other)) == before
    assert both.logs == one.logs + other.logs
    assert both.failures == one.failures + other.failures


@pytest.mark.parametrize("path", SAMPLES[::7], ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_log_is_red_or_green_as_analyze_says(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".xml":
        return
    summary, report = summary_of_log("a", text), close_loop(text)
    assert (summary.green == 1) == (report.verdict == "green")
    if report.verdict == "red":
        assert summary.red == 1
    assert summary.logs == 1


@pytest.mark.parametrize(
    ("text", "green", "red"),
    [(GREEN, 1, 0), (CRASH, 0, 1), ("", 0, 0), ("hello", 0, 0), (RED_XML.format("utf-8"), 0, 1)],
)
@pytest.mark.parametrize("kind", [str, bytes])
def test_text_is_a_string_or_bytes(text, green, red, kind):
    summary = summary_of_log("a", text if kind is str else text.encode())
    assert (summary.green, summary.red, summary.unknown) == (green, red, 1 - green - red)
    assert summary.is_green == bool(green)


def test_junit_xml_is_read_as_bytes_and_as_text():
    text = RED_XML.format("utf-8")
    as_bytes, as_text = summary_of_log("a", text.encode()), summary_of_log("a", text)
    assert as_bytes == as_text
    (cause,) = as_bytes.causes.values()
    assert cause.examples[0][1].endswith("test_é")


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        ("<testsuite>", True),
        ("\ufeff\n<?xml version='1.0'?>\n<!-- a -->\n<!-- <b> -->\n<testsuites name='x'>", True),
        ("<testsuitefoo>", False),
        ("log of <testsuite>", False),
        ("<!---->" * 1_000, False),
        ("<!--" * 2_000, False),
        ("<?xml" * 1_000, False),
    ],
)
def test_beginning_of_junit_xml(begin, expected):
    assert (XML.match(begin) is not None) == expected


def test_root_counts_only_for_logs_that_name_it():
    at = [c.location[0] for c in summary_of_log("a", CRASH, "/srv/shop").causes.values()]
    assert at == ["shop.py"]
    assert summary_of_log("a", CRASH, "/elsewhere") == summary_of_log("a", CRASH)
    for path in SAMPLES:
        if path.suffix == ".xml":
            data = path.read_bytes()
            assert summary_of_log("a", data, "/elsewhere") == summary_of_log("a", data)


def test_cause_is_counted_over_logs():
    logs = [
        ("run-10", CRASH),
        ("run-9", CRASH),
        ("run-2", CRASH.replace("KeyError: 'tea'", "ValueError: no")),
    ]
    summary = total(summary_of_log(*log) for log in [*logs, ("ok", GREEN), ("odd", "")])
    document = summary_document(summary)
    assert document["logs"] == {"number": 5, "green": 1, "red": 3, "unknown": 1, "unread": 0}
    first, second = document["root_causes"]
    assert (first["exception"], first["logs"], first["failures"]) == ("KeyError", 2, 2)
    assert (first["first_log"], first["last_log"]) == ("run-9", "run-10")
    assert [each["log"] for each in first["examples"]] == ["run-9", "run-10"]
    assert (second["exception"], second["logs"]) == ("ValueError", 1)
    assert document["files"] == [{"file": "odd", "status": "unknown", "reason": "empty"}]


def test_id_of_a_cause_is_that_of_the_report():
    summary = summary_of_log("a", CRASH)
    assert summary == summary_of_log("a", CRASH)
    assert ids(summary) == [c.id for c in loop_close.judge.report_of(loop_close.observe(CRASH)).causes]


def test_a_log_that_is_given_twice_counts_twice():
    one = summary_of_log("a", CRASH)
    both = combine_summaries(one, one)
    assert (both.red, both.failures, ids(both)) == (2, 2, ids(one))


def test_size_does_not_grow_with_the_number_of_logs():
    texts = (CRASH, GREEN, "", RED_XML.format("utf-8"))

    def size(number):
        return len(
            pickle.dumps(total(summary_of_log(f"{n:09}", text) for n in range(number) for text in texts))
        )

    assert size(300) - size(30) < 50  # the counts have more digits


@pytest.mark.slow
@given(st.lists(_summaries, max_size=4))
def test_document_is_of_the_schema_whatever_the_text(summaries):
    text = summary_json(total(summaries))
    VALIDATOR.validate(json.loads(text))
    text.encode()  # no half of a character


@settings(max_examples=50)
@given(hostile, hostile)
def test_names_and_messages_are_made_safe(name, message):
    text = CRASH.replace("'tea'", message)
    summary = combine_summaries(summary_of_log(name, text), unread_log(name, message))
    for shown in (
        summary_text(summary),
        "".join(json.loads(summary_json(summary))["root_causes"][0]["message"]),
    ):
        assert not any(ord(c) < 32 and c not in "\n\t" for c in shown)
    for line in summary_text(summary).splitlines():
        assert not line.startswith(("::", "##"))


def test_credentials_are_not_kept():
    token = "ghp_" + "a1B2" * 9
    summary = summary_of_log(f"{token}.log", CRASH.replace("tea", token))
    assert token not in summary_json(summary) + summary_text(summary)
    assert token not in str([cause.message for cause in summary.causes.values()])


def test_text_shows_the_most_frequent_and_counts_the_rest():
    logs = (summary_of_log(f"run-{n}", CRASH.replace("tea", "t").replace("line 3", "line 4").replace(
        "KeyError", f"Error{chr(65 + n)}"
    )) for n in range(25))  # fmt: skip
    shown = summary_text(total(logs))
    assert shown.startswith("# 25 logs: 25 red; 25 failures by 25 root causes\n\n1. ")
    assert "\n20. " in shown
    assert "\n21. " not in shown
    assert "\n5 more root causes: see `--json`.\n" in shown


def test_text_of_no_log():
    assert summary_text(LogSummary()) == "# 0 logs\n"
    assert not LogSummary().is_green


def test_log_of_which_only_the_end_was_read_is_not_said_to_show_no_result():
    green = "collected 1 item\n\n" + " 1 passed in 0.12s ".center(80, "=") + "\n"
    found = summary_of_log("a.log", "x" * 79 + "\n" + ("noise " * 10 + "\n") * 17_000 + green)
    assert found.files == (("a.log", "unknown", "only its last 1,000,000 characters were read"),)
