"""Files that are broken, foreign or made to harm: what can be read is read, and the rest is said."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.model import Counts
from loop_close.readers import junit_xml
from loop_close.readers.junit_xml import JunitReading, read_junit

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<testsuites><testsuite name="pytest">\n'
TAIL = "</testsuite></testsuites>"
PASSED = '<testcase classname="tests.test_a" name="test_fine" />\n'
FAILED = '<testcase classname="tests.test_a" name="test_x"><failure message="assert 1 == 2">{}</failure></testcase>\n'
NO_ROOT = "it does not begin with <testsuites> or <testsuite>"


def read(text, encoding="utf-8"):
    return read_junit("r.xml", [text.encode(encoding) if isinstance(text, str) else text])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "r.xml: empty"),
        ("\ufeff", "r.xml: empty"),
        ("=== 1 failed in 0.1s ===", f"r.xml: {NO_ROOT}"),
        ("\x1f\x8b\x08binary\x00", f"r.xml: {NO_ROOT}"),
        ("<html><body/></html>", f"r.xml: {NO_ROOT}"),
        ("<testsuites", "r.xml:1:1: unclosed token; the cases before it were read"),
    ],
)
def test_invalid_junit_xml_gives_a_problem_and_nothing_else(text, problem):
    assert read(text) == JunitReading(problems=(problem,))


@pytest.mark.parametrize(
    "text",
    [HEAD + TAIL, "<testsuite/>", "\n <?xml version='1.0'?><testsuite/>", '<x:testsuites xmlns:x="urn:x"/>'],
)
def test_an_empty_report_is_valid(text):
    assert read(text) == JunitReading()


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ("", "r.xml:5:1: no element found; the cases before it were read"),
        ("<testcase", "r.xml:5:1: unclosed token; the cases before it were read"),
        ("</b>", "r.xml:5:3: mismatched tag; the cases before it were read"),
        (
            "<a b=c/>",
            "r.xml:5:6: not well-formed (invalid token); the cases before it were read",
        ),
        ("&boom;", "r.xml:5:1: undefined entity; the cases before it were read"),
    ],
)
def test_cases_before_the_fault_are_given(broken, problem):
    reading = read(HEAD + PASSED + FAILED.format("text") + broken)
    assert reading.problems == (problem,)
    assert reading.incomplete == problem
    assert [f.nodeid for f in reading.failures] == ["tests/test_a.py::test_x"]
    assert reading.counts == Counts(passed=1, failed=1, collected=2)


def test_a_case_cut_off_in_the_middle_is_not_given():
    reading = read((HEAD + PASSED + FAILED.format("text"))[:-20])
    assert reading.failures == ()
    assert reading.counts.passed == 1


@pytest.mark.parametrize(
    "declaration",
    [
        "<!DOCTYPE testsuites>",
        '<!DOCTYPE testsuites SYSTEM "http://127.0.0.1:9/a.dtd">',
        '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE t [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE t [<!ENTITY % x SYSTEM "file:///etc/hostname"> %x;]>',
    ],
)
def test_declarations_are_refused(declaration):
    reading = read(f"{declaration}<testsuite>{FAILED.format('&x;&b;')}</testsuite>")
    assert reading.failures == ()
    assert reading.problems[0].startswith("r.xml: ")
    assert reading.incomplete.endswith(
        "a document type or entity declaration, which no test results need; refused"
    )


@pytest.mark.parametrize("inside", ["", '<testcase name="a">'])
def test_deep_nesting_is_refused(inside):
    reading = read("<testsuite>" + inside + "<failure>" * 100_000)
    assert "elements nested more than 200 deep" in reading.incomplete


def test_deep_suites_are_refused():
    reading = read("<testsuite>" * 100_000)
    assert "elements nested more than 200 deep" in reading.incomplete


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("declared", ["utf-8", "utf-16", "zip", "klingon"])
def test_encodings_of_unicode_are_detected_by_the_first_bytes(encoding, declared):
    text = HEAD.replace("utf-8", declared) + FAILED.format("E   ValueError: café 漢") + TAIL
    reading = read(text, encoding)
    assert reading.problems == ()
    assert reading.failures[0].message == "café 漢"


def test_bytes_of_another_encoding_do_not_cost_the_file():
    reading = read(HEAD + FAILED.format("E   ValueError: café") + PASSED + TAIL, "latin-1")
    assert reading.failures[0].message == "caf\ufffd"
    assert reading.counts == Counts(passed=1, failed=1, collected=2)
    assert reading.problems == ()


@pytest.mark.parametrize("control", ["\x1b[31m", "#x1B[31m", "&#27;[31m", "&#x1b;[31m", "&#x001B;[31m"])
def test_escape_sequences_in_any_spelling_are_taken_out(control):
    reading = read(HEAD + FAILED.format(f"E   ValueError: a{control}b") + TAIL)
    assert (reading.failures[0].message, reading.problems) == ("ab", ())


@pytest.mark.parametrize("control", ["\x00", "\x08", "\uffff", "&#0;", "&#8;", "&#xFFFF;", "&#55296;"])
def test_characters_that_xml_forbids_do_not_end_the_reading(control):
    text = HEAD + FAILED.format(f"E   ValueError: a{control}b") + PASSED + TAIL
    reading = read(text)
    assert reading.incomplete == ""
    assert reading.counts == Counts(passed=1, failed=1, collected=2)


@pytest.mark.large
@pytest.mark.timeout(60)  # quadratic time takes minutes
def test_a_long_attribute_is_cut():
    text = f'<testsuite><testcase name="a"><failure type="E" message="{"x" * 2_000_000}"/></testcase></testsuite>'
    reading = read(text)
    assert len(reading.failures[0].message) < 16_100


def test_a_large_file_is_refused(monkeypatch):
    monkeypatch.setattr(junit_xml, "MAX_XML", 1_000)
    reading = read_junit("r.xml", iter([(HEAD + FAILED.format("x" * 2_000)).encode(), b""]))
    assert (reading.failures, "is not read" in reading.incomplete) == ((), True)


def test_thousands_of_results_in_one_case_are_one_failure():
    results = "".join(f'<failure message="m{i}"/>' for i in range(5_000))
    reading = read(f'<testsuite><testcase name="a">{results}</testcase></testsuite>')
    assert len(reading.failures) == 1
    assert reading.counts.failed == 1


@pytest.mark.parametrize("tag", ["system-out", "x", "rerunFailure"])
def test_a_failure_behind_many_other_elements_is_found(tag):
    for before in (f"<{tag}/>" * 5_000, f"<properties>{f'<{tag}/>' * 5_000}</properties>"):
        found = read(f'<testsuite><testcase name="a">{before}<failure message="m"/></testcase></testsuite>')
        assert [failure.message for failure in found.failures] == ["m"]


TOKENS = re.split(
    "¦",
    '<testsuites>¦</testsuites>¦<testsuite name="pytest" failures="2">¦</testsuite>¦'
    '<testcase classname="a.b" name="c">¦</testcase>¦<testcase/>¦<failure message="m">¦</failure>¦'
    "<error>¦</error>¦<skipped/>¦<system-out>¦</system-out>¦<![CDATA[¦]]>¦<!--¦-->¦text¦&amp;¦&#27;¦"
    "E   ValueError: x\n¦a.py:3: ValueError\n¦    at f (a.js:1:2)\n¦Traceback (most recent call last):\n",
)


@given(st.lists(st.sampled_from(TOKENS) | st.text(max_size=5), max_size=40).map("".join), st.integers(1, 50))
def test_never_raises(text, size):
    data = text.encode("utf-8", "surrogatepass")
    reading = read_junit("r.xml", [data[i : i + size] for i in range(0, len(data), size)])
    assert reading.failures or reading.problems or reading.counts.failed == 0
    assert reading == read_junit("r.xml", [data])


@given(st.binary(max_size=300))
def test_never_raises_on_bytes(data):
    assert isinstance(read_junit("r.xml", [data]), JunitReading)
    assert isinstance(read_junit("r.xml", [b"<testsuite><testcase>", data]), JunitReading)
