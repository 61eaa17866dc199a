"""Single cases: node ids, phases, outcomes, captured output, foreign stacks."""

from xml.sax.saxutils import escape, quoteattr

import pytest

from loop_close.model import Counts
from loop_close.readers.junit_xml import read_junit

LONG = "def test_x():\n>       f()\nE       ValueError: bad\n\n{}:3: ValueError"


def read(inside, suite="pytest", root="", **attributes):
    spelled = " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())
    text = f'<testsuite name="{suite}"><testcase {spelled}>{inside}</testcase></testsuite>'
    return read_junit("r.xml", [text.encode()], root)


def only(inside, **attributes):
    (failure,) = read(inside, **attributes).failures
    return failure


def failed(text="", message="m", tag="failure", **attributes):
    spelled = " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())
    return f"<{tag} message={quoteattr(message)} {spelled}>{escape(text)}</{tag}>"


@pytest.mark.parametrize(
    ("classname", "name", "file", "nodeid"),
    [
        ("tests.test_a", "test_x", "tests/test_a.py", "tests/test_a.py::test_x"),
        ("tests.test_a.TestX", "test_y[1]", "tests/test_a.py", "tests/test_a.py::TestX::test_y[1]"),
        ("tests.test_a.lower", "test_z", "tests/test_a.py", "tests/test_a.py::lower::test_z"),
        ("py311.tests.test_a.TestX", "test_x", "tests/test_a.py", "tests/test_a.py::TestX::test_x"),
        ("tests.test_a.TestX", "test_x", "src/other.py", "tests/test_a.py::TestX::test_x"),
        ("tests.units.TestX", "test_x", "src/other.py", "tests/units.py::TestX::test_x"),
        ("docs.guide.txt", "guide.txt", "src/other.py", "docs/guide.txt::guide.txt"),
        ("test_a", "test_x[a::b.c/d]", "test_a.py", "test_a.py::test_x[a::b.c/d]"),
    ],
)
def test_node_ids_of_pytest_are_made_again(classname, name, file, nodeid):
    failure = only(failed(LONG.format(file)), classname=classname, name=name)
    assert failure.nodeid == nodeid
    assert failure.raised.type == "ValueError"


def test_a_test_that_another_file_defines_keeps_its_own_node_id():
    failure = only(
        failed(LONG.format("tests/base.py")),
        classname="tests.test_a.TestX",
        name="t",
        file="tests/base.py",
        line="4",
    )
    assert failure.nodeid == "tests/test_a.py::TestX::t"
    assert (failure.file, failure.line) == ("tests/base.py", 5)


@pytest.mark.parametrize("text", ["", "[XPASS(strict)] fixed"])
def test_without_a_traceback_the_module_is_guessed(text):
    failure = only(failed(text, text), classname="tests.test_a.TestX", name="test_x")
    assert failure.nodeid == "tests/test_a.py::TestX::test_x"
    assert failure.raised is None


@pytest.mark.parametrize(
    ("message", "tag", "phase", "errors"),
    [
        ("ValueError: bad", "failure", "call", 0),
        ('failed on setup with "ValueError: bad"', "error", "setup", 1),
        ('failed on teardown with "ValueError: bad"', "error", "teardown", 1),
        ("collection failure", "error", "collect", 1),
        ("ValueError: bad", "error", "call", 0),
    ],
)
def test_phases_are_read_from_pytests_messages(message, tag, phase, errors):
    reading = read(failed(LONG.format("test_a.py"), message, tag), classname="test_a", name="test_x")
    assert [(f.phase, f.message) for f in reading.failures] == [(phase, "bad")]
    assert reading.counts.errors == errors
    assert reading.counts.passed == (1 if phase == "teardown" else 0)


@pytest.mark.parametrize(
    "message",
    [
        'failed on setup with "KeyError: a "b" c"',
        'failed on setup with "KeyError: a "b" c',
        'KeyError: a "b" c',
    ],
)
def test_words_that_pytest_quotes_are_read_where_the_text_has_none(message):
    failure = only(failed("", message, "error"), classname="test_a", name="test_x")
    assert (failure.raised.type, failure.message.rstrip('"')) == ("KeyError", 'a "b" c')


def test_a_message_that_pytest_has_cut_is_read_from_the_text():
    lines = "\n".join(f"E       row {n}" for n in range(30))
    text = f"def test_x():\n>       f()\nE       ValueError: rows\n{lines}\n\ntest_a.py:3: ValueError"
    cut = "ValueError: rows\nrow 0\n[+29 more lines; full report in element text]"
    failure = only(failed(text, cut), classname="test_a", name="test_x")
    assert failure.message == "rows\n" + "\n".join(f"row {n}" for n in range(30))


def test_a_missing_fixture_is_named():
    text = (
        "file /home/dev/shop/tests/test_a.py, line 3\n  def test_x(nothing):\n"
        "E       fixture 'nothing' not found\n>       available fixtures: cache\n\n/home/dev/shop/tests/test_a.py:3"
    )
    quoted = f'failed on setup with "{text}"'
    failure = only(
        failed(text, quoted, "error"), classname="tests.test_a", name="test_x", root="/home/dev/shop"
    )
    assert failure.nodeid == "tests/test_a.py::test_x"
    assert (failure.phase, failure.raised.details) == ("setup", {"fixture": "nothing"})


@pytest.mark.parametrize(
    ("inside", "outcome"),
    [
        ("<system-out>text</system-out>", "passed"),
        ("<skipped/>", "skipped"),
        ('<skipped type="pytest.xfail" message="known"/>', "xfailed"),
        ('<skipped type="XFAIL" message="known"/>', "xfailed"),
        ('<skipped message="expected test failure"/>', "xfailed"),
        ('<skipped message="xfail-marked test passes unexpectedly"/>', "xpassed"),
    ],
)
def test_outcomes_that_are_not_failures(inside, outcome):
    reading = read(inside, classname="test_a", name="test_x")
    assert (reading.failures, reading.problems) == ((), ())
    assert reading.counts == Counts(**{outcome: 1}, collected=1)


def test_a_skipped_module_is_not_a_test():
    reading = read('<skipped message="collection skipped">(…)</skipped>', classname="", name="test_a")
    assert reading.counts == Counts(skipped=1)


def test_exception_of_another_language_is_that_of_the_attributes():
    text = "java.lang.IllegalStateException: no till\n\tat till.Till.add(Till.java:7)\n"
    failure = only(
        failed(text, "no till", "error", type="java.lang.IllegalStateException"),
        suite="t",
        classname="t.T",
        name="a",
    )
    assert (failure.nodeid, failure.phase, failure.message) == ("t.T::a", "call", "no till")
    assert (failure.raised.type, failure.raised.module) == ("IllegalStateException", "java.lang")


def test_an_element_that_only_says_failed():
    failure = only("<failure/>", suite="t", classname="t", name="t")
    assert (failure.nodeid, failure.message, failure.raised) == ("t", "failed without a message", None)


def test_secrets_are_redacted():
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    failure = only(failed("", f"ValueError: {key[:40]}"), classname="test_a", name="test_x")
    assert key[:40] not in failure.message


@pytest.mark.slow
@pytest.mark.timeout(60)  # quadratic time takes minutes
@pytest.mark.parametrize(
    "piece", ["x", "(", "E   ", "a.b:1: ", "at ", "    at a (", "_ _ ", "\\", ".", "[1] ("]
)
def test_long_texts_take_little_time(piece):
    text = piece * (1_000_000 // len(piece))
    for classname, name, inside in [(text, "a", ""), ("a", text, ""), ("a", "a", text)]:
        read(failed(inside, inside), classname=classname, name=name)
        read(failed(inside, inside, type="E"), suite="t", classname=classname, name=name)
    assert len(read(failed(text, text)).failures) == 1


@pytest.mark.parametrize("name", ["", ' name=""', ' name="" classname=""'])
@pytest.mark.parametrize("is_first", [True, False])
def test_cases_without_a_name_are_tests_of_their_own(name, is_first):
    cases = [f"<testcase{name}>{failed()}</testcase>", f"<testcase{name}/>"]
    text = f'<testsuite name="x" tests="2" failures="1">{"".join(cases if is_first else cases[::-1])}</testsuite>'
    reading = read_junit("r.xml", [text.encode()])
    assert [failure.message for failure in reading.failures] == ["m"]
    assert (reading.counts.failed, reading.counts.passed) == (1, 1)


@pytest.mark.parametrize(
    ("status", "is_red"), [("FAILED", True), ("error", True), ("", False), ("run", False)]
)
def test_case_that_tells_its_status_alone(status, is_red):
    reading = read("", name="test_x", classname="m.T", suite="other", status=status)
    said = [f"its status is {status.lower()}, and nothing says why"] * is_red
    assert [failure.message for failure in reading.failures] == said
    assert reading.counts == Counts(failed=is_red, passed=not is_red, collected=1)
