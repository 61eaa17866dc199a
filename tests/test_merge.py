"""Parts joined to one report: in any order, each once, never green while something is missing."""

import pytest
from called import called, calls
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from records import failure, frame, in_test, raised

from loop_close.detectors import DEFAULT_DETECTORS, Detector
from loop_close.facts import sides
from loop_close.judge import judged
from loop_close.merge import join
from loop_close.model import Counts, Evidence, Observation, Provenance
from loop_close.parts import Part, decode, encode
from loop_close.prompt.compose import compose
from loop_close.prompt.sections import DEFAULT_SECTIONS

TESTS = [f"tests/test_cart.py::test_{n}" for n in range(6)]
BROKEN = raised("ValueError", "bad", [in_test("test_0"), frame()])


def part(
    shard=(0, 0), tests=TESTS, failing=(), name="", interpreter="cpython-3.11", platform="linux", **fields
):
    """A run of these tests, of which some fail."""
    made = Provenance(
        interpreter=interpreter,
        platform=platform,
        shard=shard,
        collected=len(TESTS),
        digest=fields.pop("digest", "d"),
        **{key: fields.pop(key) for key in ("run_id", "commit", "environment") if key in fields},
    )
    found = Observation(
        exit_code=1 if failing else 0,
        **{"source": f"pytest@{interpreter}", **fields},
        provenance=made,
        failures=tuple(failure(BROKEN, nodeid=test) for test in failing),
        counts=Counts(passed=max(1, len(tests) - len(failing)), failed=len(failing), collected=len(TESTS)),
        outcomes={test: "failed" if test in failing else "passed" for test in tests},
    )
    return Part(observation=found, name=name)


def shards(of=3, **fields):
    return [part((n + 1, of), TESTS[n::of], **fields) for n in range(of)]


def text(merged):
    return compose(merged, DEFAULT_SECTIONS, budget=2000)


def test_shards_are_one_run():
    report = join(shards())
    assert report.verdict == "green"
    assert (report.observation.counts.passed, report.observation.counts.collected) == (6, 6)
    assert report.sources == ()


@pytest.mark.parametrize("collected", [6, 0])
def test_shard_without_tests_is_green_where_the_others_ran_all(collected):
    empty = part((3, 3), ()).observation
    empty = replace(empty, exit_code=5, counts=Counts())
    empty = Part(observation=replace(empty, provenance=replace(empty.provenance, collected=collected)))
    parts = [part((1, 3), TESTS[:3]), part((2, 3), TESTS[3:]), empty]
    assert (join(parts).verdict == "green") == bool(collected)
    assert join([empty]).verdict != "green"


def test_calls_of_shards_add_up():
    ran = calls(called(passed=2), passed=2)._replace(failed={TESTS[0]: ((0, 10),)})
    one = part((1, 2), TESTS[:3], failing=TESTS[:1], calls=ran)
    other = part((2, 2), TESTS[3:], calls=calls(called(passed=3), passed=3))
    counted = join([one, other]).observation.calls
    assert (counted.passed, counted.functions[0].passed) == (5, 5)
    assert [*counted.failed] == TESTS[:1]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (shards()[1:], "shard 1 of 3 is missing"),
        (shards()[:1], "shards 2, 3 of 3 are missing"),
        ([*shards()[:2], part((3, 3), TESTS[2::3], digest="x")], "the shards did not collect the same tests"),
        ([*shards()[:2], part((3, 3), TESTS[1::3])], "2 tests ran in two shards: "),
        ([*shards()[:2], part((3, 3), TESTS[2:3])], "1 of 6 tests ran in no shard"),
        ([*shards(), part((3, 3), TESTS[2::3], incomplete="odd")], "2 tests ran in two shards: "),
        ([*shards()[:2], part((3, 4), TESTS[2::3])], "shards 1, 2, 4 of 4 are missing"),
        ([*shards()[:2], part((3, 3), TESTS[2::3], incomplete="it was killed")], "it was killed"),
    ],
)
@pytest.mark.parametrize("others", [[], [part(interpreter="cpython-3.13")]])
def test_what_is_missing_is_named_and_never_green(parts, said, others):
    merged = join([*parts, *others])
    assert merged.verdict == "error"
    assert said in merged.observation.incomplete
    assert said in text(merged)


@given(st.permutations(range(7)), st.lists(st.integers(0, 6), max_size=3))
def test_neither_order_nor_repeated_inputs_change_a_byte(order, again):
    parts = [*shards(failing=TESTS[:1]), *shards(interpreter="cpython-3.13"), part(source="mypy")]
    first = join(parts)
    other = join([*[parts[n] for n in order], *[decode(encode(parts[n]), "again") for n in again]])
    assert encode(Part(observation=other.observation)) == encode(Part(observation=first.observation))
    assert text(other) == text(first)


def test_each_cause_once_with_the_sources_in_which_it_fails_and_passes():
    """The words of a message may differ; a test that did not run passes nowhere."""
    one = part(failing=TESTS[:2])
    other = part(failing=TESTS[:1], interpreter="cpython-3.12").observation
    worded = replace(other.failures[0], message="bad!", raised=replace(BROKEN, message="bad!"))
    parts = [
        one,
        Part(observation=replace(other, failures=(worded,))),
        part(interpreter="cpython-3.13"),
        part(interpreter="cpython-3.14", tests=TESTS[3:]),
    ]
    report = join(parts)
    (cause,) = report.causes
    failing, passing = sides(cause, report)
    assert [each.source for each in failing] == ["pytest@cpython-3.11", "pytest@cpython-3.12"]
    assert [each.source for each in passing] == ["pytest@cpython-3.13"]
    assert (report.observation.counts.failed, report.observation.counts.passed) == (2, 4)
    said = text(join(parts))
    assert "Fails on `pytest@cpython-3.11`, `pytest@cpython-3.12`; passes on `pytest@cpython-3.13`." in said


def test_shards_of_several_machines_are_a_run_for_each_machine():
    parts = [each for name in ("darwin", "linux") for each in shards(platform=name, source="unit")]
    report = join(parts)
    assert report.verdict == "green"
    names = [each.source for each in report.sources]
    assert names == ["unit (cpython-3.11-darwin)", "unit (cpython-3.11-linux)"]


def test_a_source_that_is_red_without_a_failure_is_not_green():
    nothing = Observation(exit_code=0, source="web", counts=Counts())
    report = join([part(), Part(observation=nothing)])
    assert (report.verdict, report.stall_reason) == ("error", "the run is incomplete")
    assert report.observation.incomplete == "web: no test ran"
    odd = Part(observation=replace(nothing, exit_code=3, expects_tests=False))
    assert join([part(), odd]).verdict == "error"


@pytest.mark.parametrize(("field", "what"), [("commit", "commits"), ("run_id", "CI runs")])
def test_parts_of_several_commits_or_runs_are_not_green(field, what):
    merged = join([*shards(**{field: "aaaa"})[:2], part((3, 3), TESTS[2::3], **{field: "bbbb"})])
    assert merged.verdict == "error"
    assert f"the reports are of 2 {what}: aaaa, bbbb" in text(merged)


def test_of_a_shard_that_ran_again_the_last_attempt_counts():
    first = part((2, 2), TESTS[1::2], run_id="7.1", failing=TESTS[1:2])
    second = part((2, 2), TESTS[1::2], run_id="7.2")
    merged = join([part((1, 2), TESTS[::2], run_id="7.1"), first, second])
    assert merged.verdict == "green"
    tenth = part((2, 2), TESTS[1::2], run_id="7.10", failing=TESTS[1:2])
    assert join([part((1, 2), TESTS[::2], run_id="7.1"), tenth, second]).verdict == "red"


def test_without_a_source_that_is_expected_it_is_not_green():
    parts = [part(environment="py311"), part(interpreter="cpython-3.13")]
    assert join(parts, expected=["py311", "*-3.13"]).verdict == "green"
    report = join(parts, expected=["*-3.12", "lint"])
    assert (report.verdict, report.observation.incomplete) == ("error", "no report is of *-3.12, lint")


def test_an_alone_part_is_judged_as_its_run():
    alone = part(failing=TESTS[:1])
    assert join([alone]) == judged(alone.observation)


def test_detectors_of_others_look_at_shards_too():
    own = Detector(
        id="own",
        label="own",
        priority=55,
        description="own",
        hint="",
        detect=lambda seen: [Evidence(kind="own", snippet="x")],
    )
    found = join(shards(), detectors=(*DEFAULT_DETECTORS, own), faults=["a hook broke"])
    assert {each.kind for each in found.evidence} >= {"own", "detector-error"}
