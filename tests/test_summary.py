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
    unread_log,
)
from loop_close.library import CauseSummary, Finding, Names, summary_document
from loop_close.prompt import safe

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
_findings = st.builds(
    Finding,
    log=_names,
    kind=st.sampled_from(["test-failure", "crash"]),
    exception=_shown,
    message=_shown,
    location=st.tuples(_shown, _few, _shown),
    suspect=st.none() | st.tuples(_shown, _few, _shown, st.sampled_from([0.25, 0.5])),
    test=_shown,
)


def _cause(first):
    return CauseSummary(1, 1, first, first.log, ((first.log, first.test),))


def _of_one_log(name, kind, causes):
    if kind == "red":
        return LogSummary(red=1, causes=causes)
    return LogSummary(green=1) if kind == "green" else LogSummary(**{kind: Names(1, ((name, "why"),))})


_summaries = st.builds(
    _of_one_log,
    _names,
    st.sampled_from(["red", "red", "green", "unknown", "unread", "not_logs"]),
    st.dictionaries(st.sampled_from(["0" * 8, "1" * 8, "2" * 8]), _findings.map(_cause), min_size=1),
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


def test_size_does_not_grow_with_the_number_of_logs():
    kinds = [summary_of_log("log", text) for text in (CRASH, GREEN, "", RED_XML.format("utf-8"))]
    kinds.append(unread_log("log", "why"))

    def size(number):
        """Of the sum of so many logs; each has a name of its own."""
        renamed = (
            replace(
                kind,
                unknown=replace(kind.unknown, first=tuple((f"{n:09}", w) for _, w in kind.unknown.first)),
                causes={
                    name: replace(
                        cause,
                        first=replace(cause.first, log=f"{n:09}"),
                        last=f"{n:09}",
                        examples=((f"{n:09}", cause.first.test),),
                    )
                    for name, cause in kind.causes.items()
                },
            )
            for n in range(number)
            for kind in [kinds[n % len(kinds)]]
        )
        summed = total(renamed)
        assert summed.logs == number
        return len(pickle.dumps(summed))

    few, many = size(200), size(5_000)
    assert many - few < 50  # the counts have more digits


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
    assert token not in str([cause.first.message for cause in summary.causes.values()])


def test_text_shows_the_most_frequent_and_counts_the_rest():
    logs = (summary_of_log(f"run-{n}", CRASH.replace("tea", "t").replace("line 3", "line 4").replace(
        "KeyError", f"Error{chr(65 + n)}"
    )) for n in range(25))  # fmt: skip
    shown = summary_text(total(logs))
    assert shown.startswith("# 25 logs: 25 red; 25 failures by 25 root causes\n\n1. ")
    assert "\n20. " in shown
    assert "\n21. " not in shown
    assert "\n5 more root causes: see `--json`.\n" in shown
