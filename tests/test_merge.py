"""Parts of a run put together: in any order, each once, never green while something is missing."""

import base64
import json
import zlib
from dataclasses import replace
from itertools import permutations

import pytest
from called import called, calls
from hypothesis import given
from hypothesis import strategies as st
from records import failure, frame, in_test, raised

from loop_close.calls import Calls, ImportEffect, Swallowed
from loop_close.facts import file_of
from loop_close.judge import report_of
from loop_close.merge import _union, completed, joined
from loop_close.model import (
    Counts,
    Evidence,
    Failure,
    KnownFailure,
    Observation,
    Provenance,
    Report,
    RootCause,
    Suspect,
)
from loop_close.parts import Part, RejectedError, merged_document, packed, part_of, parts_of, unpacked
from loop_close.prompt.compose import compose
from loop_close.prompt.sections import DEFAULT_SECTIONS
from loop_close.readers.streams import observe

TESTS = [f"tests/test_cart.py::test_{n}" for n in range(6)]
#: Small, and 9 MB when it is unpacked.
BOMB = base64.b85encode(zlib.compress(b'{"tests":[' + b"[]," * 3_000_000 + b"[]]}")).decode()
BROKEN = raised("ValueError", "bad", [in_test("test_0"), frame()])


def part(shard=(0, 0), tests=TESTS, failing=(), name="", **fields):
    """A run of these tests, of which some fail."""
    made = Provenance(
        interpreter=fields.pop("interpreter", "cpython-3.11"),
        platform="linux",
        packages=fields.pop("packages", ()),
        shard=shard,
        run_id=fields.pop("run_id", ""),
        commit=fields.pop("commit", ""),
        collected=len(TESTS),
        digest=fields.pop("digest", "d"),
    )
    found = Observation(
        exit_code=1 if failing else 0,
        provenance=made,
        failures=tuple(failure(BROKEN, nodeid=test) for test in failing),
        counts=Counts(passed=max(1, len(tests) - len(failing)), failed=len(failing), collected=len(TESTS)),
        tests=tuple(tests),
        **fields,
    )
    text = packed(found)
    return part_of(
        name or f"{shard[0]}.json", json.dumps({"schema": "loop-close.report/1", "observation": text})
    )


def shards(of=3, **fields):
    return [part((n + 1, of), TESTS[n::of], **fields) for n in range(of)]


def text(merged):
    return compose(merged.report, DEFAULT_SECTIONS, budget=2000)


def test_shards_are_one_run():
    report = joined(shards()).report
    assert report.verdict == "green"
    assert (report.observation.counts.passed, report.observation.counts.collected) == (6, 6)
    assert report.sources == ()


@pytest.mark.parametrize("collected", [6, 0])
def test_shard_without_tests_is_green_where_the_others_ran_all(collected):
    empty = part((3, 3), ())
    seen = replace(empty.observation, exit_code=5, counts=Counts())
    seen = replace(seen, provenance=replace(seen.provenance, collected=collected))
    parts = [part((1, 3), TESTS[:3]), part((2, 3), TESTS[3:]), empty._replace(observation=seen)]
    assert (joined(parts).report.verdict == "green") == bool(collected)
    assert joined([parts[2]]).report.verdict != "green"


def test_calls_of_shards_add_up():
    parts = [
        part(
            (1, 2),
            TESTS[:3],
            failing=TESTS[:1],
            calls=replace_failed(calls(called(passed=2), passed=2), TESTS[0]),
        ),
        part((2, 2), TESTS[3:], calls=calls(called(passed=3), passed=3)),
    ]
    counted = joined(parts).report.observation.calls
    assert (counted.passed, counted.functions[0].passed) == (5, 5)
    assert [*counted.failed] == TESTS[:1]


def replace_failed(found, test):
    return found._replace(failed={test: ((0, 10),)})


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (shards()[1:], "shard 1 of 3 is missing"),
        (shards()[:1], "shards 2, 3 of 3 are missing"),
        (
            [*shards()[:2], part((3, 3), TESTS[2::3], digest="other")],
            "the shards did not collect the same tests",
        ),
        ([*shards()[:2], part((3, 3), TESTS[1::3])], "2 tests ran in two shards, such as"),
        ([*shards()[:2], part((3, 3), TESTS[2:3])], "1 of 6 tests ran in no shard"),
        (
            [*shards(), part((3, 3), TESTS[2::3], exit_reason="odd")],
            "shard 3 is there twice, with other results: name",
        ),
        ([*shards()[:2], part((3, 4), TESTS[2::3])], "the parts are not of one number of shards"),
    ],
)
def test_what_is_missing_is_never_green(parts, said):
    merged = joined(parts)
    assert merged.report.verdict == "error"
    assert said in merged.report.observation.incomplete
    assert said in text(merged)


@given(st.permutations(range(6)), st.lists(st.integers(0, 5), max_size=3))
def test_neither_order_nor_repeated_inputs_change_a_byte(order, again):
    parts = [*shards(failing=TESTS[:1]), *shards(interpreter="cpython-3.13")]
    first = joined(parts)
    other = joined([parts[n] for n in (*order, *again)])
    assert other == first
    assert text(other) == text(first)


def test_each_cause_once_with_the_sources_in_which_it_fails():
    merged = joined([part(failing=TESTS[:2], name="a"), part(interpreter="cpython-3.13", name="b")])
    assert len(merged.report.causes) == 1
    assert [(each.source, each.verdict) for each in merged.report.sources] == [
        ("pytest:cpython-3.11-linux", "first-failure"),
        ("pytest:cpython-3.13-linux", "green"),
    ]
    assert merged.report.observation.counts.failed == 2
    said = text(merged)
    assert "Fails on `pytest:cpython-3.11-linux`; passes on `pytest:cpython-3.13-linux`." in said
    assert "- Green: `pytest:cpython-3.13-linux`" in said


def test_equal_findings_of_a_checker_in_several_files_count_each():
    said = "".join(f"src/{name}.py:1:8: F401 [*] `os` imported but unused\n" for name in "abcd")
    checked = observe(f"{said}Found 4 errors.\n", "", 1, source="ruff")
    merged = joined([part(failing=TESTS[:1], name="a"), Part("ruff", "ruff", checked)])
    assert text(merged).startswith("# 1 test fails, 4 ruff errors")
    again = joined([Part("merged", "merged", merged.report.observation)])
    findings = [each for cause in again.report.causes for each in cause.evidence if each.file.endswith(".py")]
    assert len({each.file for each in findings if each.failure.tool == "ruff"}) == 4


def test_the_same_failure_of_a_test_is_in_one_cause():
    """One source joins by its calls what another, without calls, cannot."""
    other = raised("LookupError", "gone", [in_test("test_1"), frame(function="find", line=30)])
    fails = {"a": (BROKEN, other), "b": (BROKEN, BROKEN)}
    parts = []
    for name, (first, second) in fails.items():
        found = part(name=name, interpreter=f"cpython-{name}").observation
        failures = failure(first, nodeid=TESTS[0]), failure(second, nodeid=TESTS[1])
        parts.append(Part(name, name, replace(found, exit_code=1, failures=failures)))
    known = {each.name: len(report_of(each.observation).causes) for each in parts}
    assert known == {"a": 2, "b": 1}
    report = joined(parts).report
    tests = [sorted({e.failure.nodeid for e in cause.evidence}) for cause in report.causes]
    assert tests == [TESTS[:2], [TESTS[1]]]  # the same test, and another exception
    assert [each.causes for each in report.sources] == [
        (report.causes[0].id, report.causes[1].id),
        (report.causes[0].id,),
    ]


def test_a_vague_cause_of_one_source_is_split_over_the_sure_ones_of_another():
    """As JUnit XML has it: the exceptions of two faults are one there."""

    def cause(id, score, *tests):
        found = tuple(
            Evidence(kind="test-failure", snippet="", failure=failure(BROKEN, nodeid=test)) for test in tests
        )
        suspects = (Suspect(file="m.py", line=1, function=id, score=score),) if score else ()
        return RootCause(id=id, kind="test-failure", evidence=found, suspects=suspects)

    def report(*causes):
        failures = tuple(e.failure for each in causes for e in each.evidence)
        return Report(
            observation=Observation(exit_code=1, failures=failures),
            verdict="first-failure",
            stall_reason="",
            causes=causes,
        )

    sure = report(cause("f1", 0.95, TESTS[0]), cause("f2", 0.95, TESTS[1], TESTS[2]))
    vague = report(cause("junit", 0, *TESTS[:4]))
    for reports in ({"a": sure, "b": vague}, {"b": vague, "a": sure}):
        made = _union(reports, ())
        tests = {each.id: sorted(e.failure.nodeid for e in each.evidence) for each in made.causes}
        assert tests == {"f1": [TESTS[0]], "f2": TESTS[1:4]}
        assert {each.source: {*each.causes} for each in made.sources} == {
            "a": {"f1", "f2"},
            "b": {"f1", "f2"},
        }
        assert [each.suspects[0].function for each in made.causes] == [each.id for each in made.causes]


def test_tests_come_before_checkers_and_these_before_linters():
    found = part(failing=TESTS[:1], name="z", source="pytest:z")
    check = replace(found.observation, source="a", failures=())
    parts = [found]
    for source, tool in (("a", "ruff"), ("b", "mypy")):
        finding = Failure(
            nodeid="", phase="check", file="a.py", line=1, tool=tool, code="x", message=f"{tool} says"
        )
        parts.append(
            Part(source, source, replace(check, source=source, failures=(finding,), expects_tests=False))
        )
    assert [cause.evidence[0].failure.tool for cause in joined(parts).report.causes] == ["", "mypy", "ruff"]


def test_a_run_of_some_tests_completes_the_run_before():
    before = part(failing=TESTS[:3]).observation
    own = part(tests=TESTS[1:3], failing=TESTS[2:3], spared=tuple(TESTS[1:2])).observation
    found = completed(own, before)
    assert [each.nodeid for each in found.failures] == [TESTS[0], TESTS[2]]
    assert (found.counts.passed, found.counts.failed, found.counts.collected) == (3, 2, 6)
    assert {*found.tests} == {*TESTS}
    assert found.spared == (TESTS[1],)
    assert completed(replace(own, tests=()), before) == replace(own, tests=())
    green = completed(part(tests=TESTS[:3]).observation, before)
    assert (green.failures, green.counts.passed, green.exit_code) == ((), 6, 0)


def test_a_file_that_can_be_collected_now_is_no_failure_of_the_run_before():
    broken = failure(BROKEN, nodeid="", phase="collect", file=file_of(TESTS[0]))
    before = replace(part().observation, failures=(broken,))
    assert completed(part(tests=TESTS[:1]).observation, before).failures == ()


def test_where_its_tests_did_not_run_it_does_not_pass():
    parts = [part(failing=TESTS[:1], name="a"), part(tests=TESTS[1:], interpreter="cpython-3.13", name="b")]
    assert "passes on" not in text(joined(parts))


@pytest.mark.parametrize(("field", "what"), [("commit", "commit"), ("run_id", "CI run")])
def test_parts_of_another_run_are_rejected_by_name(field, what):
    own = shards(**{field: "aaaa"})
    stranger = part((3, 3), TESTS[2::3], name="stranger.json", **{field: "bbbb"})
    merged = joined([*own[:2], stranger])
    assert merged.rejected == (("stranger.json", f"it is of {what} bbbb, the others are of aaaa"),)
    assert merged.report.verdict == "error"
    assert "- `stranger.json` was not read: " in text(merged)


def test_of_a_shard_that_ran_again_the_last_attempt_counts():
    first, second = (
        part((2, 2), TESTS[1::2], run_id="7.1", failing=TESTS[1:2]),
        part((2, 2), TESTS[1::2], run_id="7.2"),
    )
    merged = joined([part((1, 2), TESTS[::2], run_id="7.1"), first, second])
    assert merged.rejected == ()
    assert merged.report.verdict == "green"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "it is not JSON, or cut off"),
        ('{"schema": "loop-close.rep', "it is not JSON, or cut off"),
        ("[" * 100_000, "it is not JSON, or cut off"),
        ("[]", "it is not a report of loop-close"),
        ('{"schema": 1}', "it is not a report of loop-close"),
        ('{"schema": "loop-close.report/2"}', "its schema is loop-close.report/2, this version reads"),
        ('{"schema": "loop-close.report/1"}', "it has no observation"),
        ('{"schema": "loop-close.report/1", "observation": "eJw="}', "its observation is cut off"),
        ('{"schema": "loop-close.report/1", "observation": "é"}', "its observation cannot be read"),
        (
            json.dumps({"schema": "loop-close.report/1", "observation": BOMB}),
            "its observation is cut off or too large",
        ),
    ],
)
def test_what_cannot_take_part_is_named(content, said):
    with pytest.raises(RejectedError, match=said):
        part_of("a.json", content)


@pytest.mark.parametrize("shard", [(1, 10**12), (4, 3), (-1, 3), (10**30, 10**30)])
def test_a_shard_that_cannot_be_is_rejected(shard):
    with pytest.raises(RejectedError, match=f"there is no shard {shard[0]} of {shard[1]}"):
        part(shard)


def test_an_attempt_is_a_number_of_a_few_digits():
    assert joined([part((1, 1), run_id=f"7.{'9' * 5_000}")]).report.verdict == "green"


@given(st.integers(0, 400))
def test_a_piece_of_an_observation_is_rejected(end):
    whole = packed(shards(failing=TESTS[:1])[0].observation)
    if end < len(whole):
        with pytest.raises(RejectedError):
            unpacked(whole[:end])


def test_how_many_pass_is_not_told_where_it_is_not_known_which():
    one, other = (
        part(tests=[], failing=[test], name=name, source=name)
        for test, name in zip(TESTS, ("a", "b"), strict=False)
    )
    counts = joined([one, other]).report.observation.counts
    assert (counts.failed, counts.passed) == (2, 0)


def test_nothing_at_all_is_not_green():
    merged = joined([], [("a.json", "it is not a report")])
    assert merged.report.verdict == "error"
    assert "- `a.json` was not read: `it is not a report`" in text(merged)


def test_what_is_packed_holds_no_credential():
    secret = "ghp_" + "a1B2" * 9
    test = f"test_a.py::test_login[{secret}]"
    swallowed = Swallowed(
        file="a.py", line=1, function="f", type="E", message=secret, failed=frozenset({test})
    )
    found = Observation(
        failures=(failure(raised("ValueError", f"token {secret}"), message=f"token {secret}", nodeid=test),),
        incomplete=secret,
        exit_reason=secret,
        selection=f"-k {secret}",
        tests=(test,),
        spared=(test,),
        calls=Calls(failed={test: ()}, uses={test: frozenset()}, swallowed=(swallowed,)),
        known=(KnownFailure(test=f"a.py::test_a[{secret}]", issue=secret, message=secret),),
    )
    assert secret not in str(unpacked(packed(found)))


def test_tests_with_one_name_without_their_credentials_are_neither_twice_nor_missing():
    tests = [f"test_a.py::test_login[ghp_{letter * 36}]" for letter in "abcd"]
    parts = [part((n + 1, 2), tests[n::2]) for n in range(2)]
    whole = [
        each._replace(observation=replace(each.observation, provenance=collected(each, 4))) for each in parts
    ]
    assert joined(whole).report.verdict == "green"


def collected(each, number):
    return replace(each.observation.provenance, collected=number)


def test_what_was_not_green_is_not_green_when_it_is_merged():
    """Such as a run without the tests that failed before."""
    document = {"schema": "loop-close.report/1", "observation": packed(part().observation)}
    known = {"verdict": "no-progress", "stall_reason": "2 known failures not run again"}
    merged = joined([part_of("a.json", json.dumps({**document, **known}))])
    assert merged.report.verdict == "error"
    assert "2 known failures not run again" in text(merged)
    shard = [
        {"schema": "loop-close.report/1", "observation": packed(each.observation), **known}
        for each in shards()
    ]
    assert (
        joined([part_of(str(n), json.dumps(each)) for n, each in enumerate(shard)]).report.verdict == "green"
    )
    assert part_of("a.json", json.dumps(shard[0]), is_alone=True).observation.incomplete
    green = {"source": "pytest", "verdict": "green"}
    others = {
        **known,
        "verdict": "first-failure",
        "sources": [green, {"source": "mypy", "verdict": "first-failure"}],
    }
    assert joined([part_of("a.json", json.dumps({**document, **others}))]).report.verdict == "green"


def test_there_and_back():
    found = shards(failing=TESTS[:1])[0].observation
    assert unpacked(packed(found)) == found
    assert isinstance(shards()[0], Part)
    assert replace(found, tests=()) != found


def test_whole_runs_of_several_checkouts_are_told_apart_by_their_inputs():
    parts = [part(failing=TESTS[:1], name="a/report.json"), part(failing=TESTS[:2], name="b/report.json")]
    report = joined(parts).report
    assert [each.source for each in report.sources] == ["pytest (a/report.json)", "pytest (b/report.json)"]
    assert not report.observation.incomplete
    assert joined(reversed(parts)).report == report


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_whole_runs_whose_inputs_have_one_name_count_each(order):
    # As two merged reports have them, which keep the names that their inputs had.
    made = [part(name="report.json", digest=d, failing=TESTS[:n]) for n, d in enumerate("abc")]
    report = joined(made[n] for n in order).report
    assert report == joined(made).report
    assert report.verdict == "first-failure"
    names = [each.source for each in report.sources]
    assert names == [f"pytest (report.json){more}" for more in ("", " 2", " 3")]
    named = part(name="x", source="pytest (report.json)", failing=TESTS[:1])
    assert {s.source: s.verdict for s in joined([*made, named]).report.sources}[
        named.observation.source
    ] == "first-failure"
    assert len(joined([*made, named]).report.sources) == 4


def test_known_failures_of_shards_are_known_in_all():
    known = KnownFailure(test=TESTS[0], phases=("call",), issue="#12")
    parts = [replace_known(part((1, 2), TESTS[:3], run_id="7"), known), part((2, 2), TESTS[3:], run_id="7")]
    report = joined(parts).report
    assert (report.verdict, report.observation.known, report.observation.exit_code) == ("green", (known,), 1)
    assert compose(report, DEFAULT_SECTIONS, budget=2000).startswith(
        "# The tests pass but for 1 known failure: "
    )
    parts[1] = part((2, 2), TESTS[3:], failing=TESTS[3:4], run_id="7")
    assert joined(parts).report.verdict == "first-failure"


def test_a_known_failure_of_several_sources_counts_once_and_does_not_pass():
    known = KnownFailure(test=TESTS[0], phases=("call",), issue="#12", cause="1", message="one")
    other = replace(known, cause="2", message="two")
    parts = [replace_known(part(), known), replace_known(part(interpreter="cpython-3.13"), other)]
    made = joined(parts).report.observation
    assert made.known == (known,)
    assert made.counts.passed == 5


def test_a_run_of_some_tests_completes_what_was_known():
    known = [KnownFailure(test=test, phases=("call",)) for test in TESTS[:2]]
    before = replace_known(part(), *known).observation
    own = part(tests=TESTS[1:3]).observation
    found = completed(own, before)
    assert (found.known, found.counts.passed, found.spared) == ((known[0],), 5, ())


def test_an_entry_is_needed_while_one_of_its_tests_fails_anywhere():
    known = KnownFailure(test=TESTS[0], phases=("call",))
    others = [KnownFailure(test=test, state="not-needed") for test in ("*", TESTS[0], TESTS[1])]
    parts = [
        replace_known(part((1, 2), TESTS[:3], run_id="7"), known),
        replace_known(part((2, 2), TESTS[3:], run_id="7"), *others),
    ]
    assert joined(parts).report.observation.known == (known, others[2])


def replace_known(made, *known):
    return made._replace(observation=replace(made.observation, exit_code=1, known=known))


WITH_EFFECTS = calls(called(passed=2), passed=2)._replace(
    import_effects=(ImportEffect("src/shop/cart.py", 1, ran=frozenset({0})),),
    uses={TESTS[0]: frozenset({0})},
    returned_none={TESTS[0]: frozenset({0})},
)


def repacked(plain):
    return base64.b85encode(zlib.compress(json.dumps(plain).encode())).decode()


def plainly(text):
    return json.loads(zlib.decompress(base64.b64decode(text)))


def test_report_with_the_older_names_of_calls_is_read():
    found = Observation(exit_code=0, calls=WITH_EFFECTS)
    plain = plainly(packed(found))
    of_calls = plain["calls"]
    of_calls["gave_none"] = of_calls.pop("returned_none")
    of_calls["makings"] = of_calls.pop("import_effects")
    assert unpacked(repacked(plain)) == found


@pytest.mark.parametrize(
    "wrong",
    [
        {"uses": {TESTS[0]: frozenset({1})}},
        {"returned_none": {TESTS[0]: frozenset({7})}},
        {"failed": {TESTS[0]: ((-1, 3),)}},
        {"import_effects": ()},
        {"like_tests": {TESTS[0]: ((9, 1.0),)}},
    ],
)
def test_calls_of_functions_that_are_not_there_are_rejected(wrong):
    with pytest.raises(RejectedError, match="functions that it does not have"):
        unpacked(packed(Observation(exit_code=0, calls=WITH_EFFECTS._replace(**wrong))))


@pytest.mark.parametrize(
    "wrong",
    [
        {"calls": WITH_EFFECTS._replace(passed=-1)},
        {"calls": WITH_EFFECTS._replace(cut=-1)},
        {"calls": WITH_EFFECTS._replace(functions=[called("f", passed=-2)])},
        {"calls": WITH_EFFECTS._replace(functions=[called("f", lines={1: -2})])},
        {"calls": WITH_EFFECTS._replace(swallowed=(Swallowed("a.py", 1, "f", "E", passed=-1),))},
        {"counts": Counts(passed=-1)},
    ],
)
def test_numbers_below_zero_are_rejected(wrong):
    wrong = {"calls": WITH_EFFECTS, **wrong}
    with pytest.raises(RejectedError, match="less than nothing"):
        unpacked(packed(Observation(exit_code=0, **wrong)))


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -1.0, 1.7e308, 10**99])
def test_relevances_that_are_no_positive_numbers_are_rejected(score):
    calls = WITH_EFFECTS._replace(like_tests={TESTS[0]: ((0, score),)})
    with pytest.raises(RejectedError, match=r"not positive numbers|cannot be read"):
        unpacked(packed(Observation(exit_code=0, calls=calls)))


def commands(merged):
    return [line for line in text(merged).splitlines() if " -m pytest" in line]


IN_CI = ("pytest", "--loop-close", "--loop-close-history=off", "--splits", "2", "--group=1", "-p", "x")


@pytest.mark.parametrize(("more", "is_named"), [((), True), (("-p", "x"), False)])
def test_commands_name_the_tests_where_only_the_options_of_a_shard_kept_them_from_it(more, is_named):
    rerun = (*IN_CI[:6], *more)
    parts = [
        part((1, 1), TESTS, failing=TESTS[minor - 11 :][:1], interpreter=f"cpython-3.{minor}", rerun=rerun)
        for minor in (11, 12)
    ]
    parts = [each._replace(observation=replace(each.observation, takes_ids=False)) for each in parts]
    merged = joined(parts, here=Provenance(interpreter="cpython-3.12"))
    words = [each.observation.takes_ids for each in merged.report.sources]
    assert words == [is_named, is_named]


def test_commands_are_for_this_machine_with_the_interpreter_that_another_source_needs():
    parts = [
        part(
            shard, TESTS[shard[0] - 1 :: 2], failing=TESTS[:1], interpreter=f"cpython-3.{minor}", rerun=IN_CI
        )
        for minor in (11, 12)
        for shard in ((1, 2), (2, 2))
    ]
    merged = joined(parts, here=Provenance(interpreter="cpython-3.12"))
    words = [each.observation.rerun for each in merged.report.sources]
    assert words == [
        ("python3.11", "-m", "pytest", "--loop-close", "-p", "x"),
        ("pytest", "--loop-close", "-p", "x"),
    ]
    assert "--group" not in text(merged)
    one = joined(parts[:2], here=Provenance(interpreter="pypy-3.10")).report.observation
    assert one.rerun == words[0]


@pytest.mark.parametrize(
    ("words", "local"),
    [
        (
            ("/opt/python/bin/python", "-m", "pytest", "--loop-close"),
            ("python", "-m", "pytest", "--loop-close"),
        ),
        (("tox", "-e", "py311", "--", "--loop-close"), ("tox", "-e", "py311", "--", "--loop-close")),
        (("loop-close", "run", "--", "mypy"), ("loop-close", "run", "--", "mypy")),
        ((), ()),
    ],
)
def test_command_of_a_runner_stays(words, local):
    here = Provenance(interpreter="cpython-3.11")
    assert joined([part(rerun=words)], here=here).report.observation.rerun == local


@pytest.mark.parametrize(("there", "program"), [([".venv/bin/python"], ".venv/bin/python"), ([], "python")])
def test_program_in_a_folder_that_is_not_here(there, program):
    words = (".venv/bin/python", "-m", "pytest", "--loop-close")
    here = Provenance(interpreter="cpython-3.11")
    found = joined([part(rerun=words)], here=here, has=there.__contains__).report.observation.rerun
    assert found == (program, *words[1:])


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("py312", "python3.12"),
        ("tests-3.12", "python"),
        ("py-3.12.xml", "python3.12"),
        ("python3.12", "python3.12"),
        ("py311", "python"),
        ("happy312", "python"),
        ("win-py32bit", "python"),
        ("linux_py312_new", "python3.12"),
        ("linux-py312_new", "python3.12"),
    ],
)
def test_interpreter_of_a_junit_file_is_in_its_name(name, program):
    words = ("python", "-m", "pytest", "--loop-close")
    own = part(rerun=words, interpreter="", source=name)
    here = Provenance(interpreter="cpython-3.11")
    assert joined([own], here=here).report.observation.rerun[0] == program


def test_a_merged_report_stands_for_its_inputs():
    parts = [*shards(failing=TESTS[:1]), *shards(interpreter="cpython-3.13")]
    first = joined(parts, [("cut.json", "it is cut off")])
    document = {"schema": "loop-close.report/1", **merged_document(first.parts, first.unread)}
    again, unread = parts_of("merged.json", json.dumps(document))
    for more in ([], parts):
        second = joined([*again, *more], unread)
        assert (second.digest, text(second)) == (first.digest, text(first))
    assert unread == [("cut.json", "it is cut off")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"reports": 5, "unread": []},
        {"reports": [], "unread": []},
        {"reports": [], "unread": None},
        {"reports": [], "unread": ["a.json"]},
        {"reports": [{"name": "a.json"}], "unread": []},
        {"reports": [{"name": "a.json", "observation": "0"}], "unread": []},
    ],
)
def test_a_merged_report_that_is_damaged_loses_nothing_unsaid(wrong):
    with pytest.raises(RejectedError):
        parts_of("merged.json", json.dumps({"schema": "loop-close.report/1", **wrong}))


def test_a_merged_report_of_an_older_version_is_rejected_by_what_is_right():
    union = part(failing=TESTS[:2])
    rows = [{"source": "pytest:cpython-3.11-linux", "verdict": "green", "failed": []}]
    for name in ("pytest:cpython-3.11-linux", "pytest"):
        document = {
            "schema": "loop-close.report/1",
            "observation": packed(union.observation),
            "sources": [{**rows[0], "source": name}],
        }
        with pytest.raises(RejectedError, match="give those instead"):
            parts_of("merged.json", json.dumps(document))


def two_commits(**written):
    old = part((1, 2), TESTS[::2], failing=TESTS[:2], name="old.json", commit="bbbb")
    new = part((2, 2), TESTS[1::2], name="new.json", commit="aaaa")
    return [old, new._replace(**written)]


@pytest.mark.parametrize(
    ("head", "written", "kept"), [("aaaa", 0, "aaaa"), ("bbbb", 5, "bbbb"), ("cccc", 5, "aaaa")]
)
def test_of_two_commits_that_of_the_checkout_counts_then_the_newest(head, written, kept):
    merged = joined(two_commits(written=written), here=Provenance(commit=head))
    assert merged.report.observation.provenance.commit == kept
    assert len(merged.rejected) == 1


def test_the_same_inputs_are_another_run_where_other_ones_take_part():
    parts = two_commits()
    runs = [joined(parts, here=Provenance(commit=head)) for head in ("aaaa", "bbbb")]
    runs.append(joined(parts, here=Provenance(commit="aaaa"), expected=["mypy"]))
    assert len({each.digest for each in runs}) == 3


def test_what_failed_in_a_report_of_another_commit_is_named():
    said = text(joined(two_commits(), here=Provenance(commit="aaaa")))
    assert (
        f"`old.json` was not read: `it is of commit bbbb, the others are of aaaa; {', '.join(TESTS[:2])} failed in it`"
        in said
    )


def test_rejected_inputs_are_named_in_full():
    found = [(f"{'folder/' * 8}{n}.json", f"{'why ' * 20}{n}") for n in range(9)]
    said = text(joined(shards(), found))
    assert all(f"{n}.json` was not read: `why why" in said and f"why {n}`" in said for n in range(8))
    assert "This run is incomplete (`9 inputs were not read`)" in said
    assert "- and 1 more was not read" in said


@pytest.mark.parametrize(
    ("failing", "said"), [((), "twice: name"), (TESTS[2:3], "twice, with other results: name")]
)
def test_a_shard_that_is_there_twice_has_a_remedy_and_its_tests_count_once(failing, said):
    again = part((3, 3), TESTS[2::3], failing=failing, packages=(("django", "5.0"),))
    report = joined([*shards(), again]).report
    assert (
        f"shard 3 is there {said} what differs between the jobs with --loop-close-source"
        in report.observation.incomplete
    )
    assert "two shards" not in report.observation.incomplete
    counts = report.observation.counts
    assert (counts.passed, counts.failed) == (6 - len(failing), len(failing))


def test_a_test_that_two_shards_ran_counts_once_and_makes_up_for_no_other():
    parts = [part((1, 2), TESTS[:3], failing=TESTS[:1]), part((2, 2), TESTS[2:5], failing=TESTS[2:3])]
    seen = joined(parts).report.observation
    assert "1 test ran in two shards tests/test_cart.py::test_2" in seen.incomplete
    assert "1 of 6 tests ran in no shard" in seen.incomplete
    assert (seen.counts.passed, seen.counts.failed) == (3, 2)


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (["pytest"], ""),
        (["*-3.11-*"], ""),
        (["pytest", "mypy", "*-3.12-*"], "no report is of the source mypy, *-3.12-*"),
    ],
)
def test_source_that_is_expected_and_absent_is_never_green(expected, said):
    report = joined(shards(), expected=expected).report
    assert (report.verdict == "green", report.observation.incomplete) == (not said, said)
