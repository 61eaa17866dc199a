"""What one run reports as a file: whole or rejected, without credentials, as a file, in a report, and as JUnit XML."""

import json
import zlib

import msgspec
import pytest
from called import called
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from records import failure, raised

from loop_close.calls import Calls
from loop_close.merge import join
from loop_close.model import Counts, Observation
from loop_close.parts import (
    Part,
    PytestContext,
    RejectedError,
    decode,
    encode,
    in_report,
    of_report,
    read_folder,
    read_paths,
    write,
)

NODE = "tests/test_cart.py::test_total"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
SEEN = Observation(
    exit_code=1,
    failures=(failure(raised("ValueError", "bad", cause=raised("KeyError", "x")), nodeid=NODE),),
    counts=Counts(failed=1, collected=1),
    calls=Calls(
        passed=2,
        functions=(called(passed=2, lines={0: 2}),),
        failed={NODE: ((0, 10),)},
        modules=frozenset({"src/shop/cart.py"}),
    ),
    outcomes={NODE: "failed"},
)
PART = Part(
    observation=SEEN,
    context=PytestContext(executable="/usr/bin/python", args=("-q",)),
)
WHOLE = encode(PART)


def report(parts, **keys):
    return json.dumps({"schema": "loop-close.report/1", "verdict": "green", **in_report(parts), **keys})


def test_nothing_is_lost():
    assert decode(WHOLE) == PART
    assert decode(WHOLE, "a.part").name == "a.part"


@given(st.integers(0, len(WHOLE) - 1))
def test_a_piece_of_a_part_is_rejected(end):
    with pytest.raises(RejectedError):
        decode(WHOLE[:end])


def packed(plain):
    return b"loop-close.part/1\n" + zlib.compress(plain)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (packed(b"\0" * 300_000_000), "too large"),
        (packed(msgspec.msgpack.encode({"observation": {"source": 1}})), r"Expected `str`, got `int` - at"),
        (packed(b"\x91" * 100_000), "it cannot be read"),
        (b"{}", "it is not a part that this version of loop-close wrote"),
    ],
)
def test_other_bytes_are_rejected_in_bounded_memory(data, said):
    with pytest.raises(RejectedError, match=said):
        decode(data)


def test_no_credential_is_written_and_no_control_character():
    test = f"{NODE}[{SECRET}]"
    broken = failure(raised("ValueError", f"\x1b[31mtoken={SECRET}\x1b[0m \ud800"), nodeid=test)
    made = replace(
        SEEN,
        failures=(broken,),
        outcomes={test: "failed"},
        calls=SEEN.calls._replace(failed={test: ((0, 10),)}, guards={test: 1}),
    )
    found = decode(encode(Part(observation=made)))
    assert SECRET not in repr(found)
    assert "\x1b" not in repr(found)
    (name,) = found.observation.outcomes
    assert [*found.observation.calls.failed] == [name] == [found.observation.failures[0].nodeid]


def test_of_two_tests_that_have_one_name_without_their_credentials_the_failing_one_stays():
    other = SECRET[:-1] + "9"
    outcomes = {f"{NODE}[{SECRET}]": "failed", f"{NODE}[{other}]": "passed"}
    assert [
        *decode(encode(Part(observation=replace(SEEN, outcomes=outcomes)))).observation.outcomes.values()
    ] == ["failed"]


def test_a_folder_of_parts_has_all_of_them_and_names_what_cannot_be_read(tmp_path):
    (tmp_path / "py311").mkdir()
    write(tmp_path / "7-1", PART)
    write(tmp_path / "py311/7-1", PART)
    (tmp_path / "x.part").write_bytes(WHOLE[:50])
    found, rejected = read_folder(tmp_path)
    assert found == [PART, PART]
    assert [name for name, _ in rejected] == ["x.part"]


def test_a_json_report_carries_its_parts():
    found = of_report("a.json", report([PART]))
    assert found == [msgspec.structs.replace(PART, name="a.json")]
    assert of_report("merged.json", report(found)) == found


def test_a_report_that_is_red_for_what_its_part_does_not_tell_is_not_green():
    green = Part(observation=Observation(exit_code=0, counts=Counts(passed=1)))
    (found,) = of_report("a.json", report([green], verdict="first-failure", stall_reason="2 rules broken"))
    assert found.observation.incomplete == "2 rules broken"
    assert of_report("a.json", report([green]))[0].observation.incomplete == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "it is not JSON, or cut off"),
        ("[]", "it is not a report of loop-close"),
        ('{"schema": "loop-close.report/2"}', "its schema is loop-close.report/2, this version reads"),
        ('{"schema": "loop-close.report/1"}', "it has no parts; write it again with --loop-close-json"),
        ('{"schema": "loop-close.report/1", "parts": ["é"]}', "Invalid base64"),
        ('{"schema": "loop-close.report/1", "parts": ["eJw="]}', "it is not a part"),
    ],
)
def test_what_is_no_report_is_rejected_by_what_would_be_right(content, said):
    with pytest.raises(RejectedError, match=said):
        of_report("a.json", content)


JUNIT = """<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="2" failures="1" errors="0" skipped="0">
<testcase classname="test_cart" name="test_a"/><testcase classname="test_cart" name="test_b">
<failure message="assert 1 == 2">test_cart.py:3: AssertionError</failure></testcase></testsuite></testsuites>"""


def test_a_folder_is_searched_for_results_and_what_holds_none_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    begin = '{\n"schema": "loop-close.report/1", '
    (tmp_path / "in/a.json").write_text(begin + report([PART])[1:])
    (tmp_path / "in/cut.json").write_text(begin)
    (tmp_path / "in/unit.xml").write_text(JUNIT)
    (tmp_path / "in/b.part").write_bytes(WHOLE)
    (tmp_path / "in/coverage.xml").write_text('<?xml version="1.0" ?>\n<coverage version="7"/>')
    (tmp_path / "in/package.json").write_text("{}")
    found = read_paths(["in", "gone.json"], [str(tmp_path / "in/b.part")])
    seen = {each.name: each.observation for each in found}
    assert seen["in/a.json"].source == "pytest"
    assert sorted(seen["in/unit.xml"].outcomes.values()) == ["failed", "passed"]
    unread = [name for name, each in seen.items() if each.incomplete.startswith("it was not read: ")]
    assert (unread, len(seen)) == (["in/cut.json", "gone.json"], 4)
    assert join(found).verdict == "red"
    with pytest.raises(RejectedError, match=r"there is no report and no JUnit XML in gone\.json"):
        read_paths(["gone.json"])
