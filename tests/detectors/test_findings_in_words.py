"""What each finding is called, and the advice that is true of it."""

import pytest
from msgspec.structs import replace
from records import failure, frame, observed, origin, raised, verdict
from samples import COLLECT, NEGATIVE, POSITIVE, SESSION, USAGE, failing

from loop_close.detectors import DEFAULT_DETECTORS, run_detectors
from loop_close.judge import report_of
from loop_close.model import Evidence

ALL = {d.id: d for d in DEFAULT_DETECTORS}
ERROR = ("Exception", "BaseException")
NO_MODULE = raised("ModuleNotFoundError", "No module named 'x'", bases=("ImportError", *ERROR))
NO_NAME = raised("ImportError", "cannot import name 'a' from 'b' (src/b.py)", bases=ERROR)
CYCLE = raised(
    "ImportError",
    "cannot import name 'A' from partially initialized module 'a' (most likely due to a circular import)",
    [frame("src/a.py", "<module>"), frame("src/b.py", "<module>")],
    bases=ERROR,
    details={"name": "A", "owner": "a"},
)
CYCLE_BY_ATTRIBUTE = raised("AttributeError", "partially initialized module 'a' has no attribute 'b'")
SUBMODULE = raised(
    "AttributeError", "cannot access submodule 'b' of module 'a' (most likely due to a circular import)"
)
BROKEN = raised("ImportError", "libssl.so: cannot open shared object file", bases=ERROR)


@pytest.mark.parametrize(
    ("raises", "expected"),
    [
        ([NO_MODULE], "1 missing module"),
        ([NO_MODULE] * 2, "2 missing modules"),
        ([NO_NAME], "1 missing name"),
        ([CYCLE], "1 circular import"),
        ([CYCLE_BY_ATTRIBUTE], "1 circular import"),
        ([SUBMODULE], "1 circular import"),
        ([BROKEN], "1 failed import"),
        ([NO_NAME, NO_MODULE, NO_NAME], "1 missing module, 2 missing names"),
        ([NO_NAME, CYCLE, BROKEN], "1 circular import, 1 failed import, 1 missing name"),
    ],
)
def test_imports_that_fail(raises, expected):
    found = [failure(exc, f"tests/test_{n}.py", "collect") for n, exc in enumerate(raises)]
    report = report_of(observed(*found))
    assert report.stall_reason == f"{expected} detected"
    assert {evidence.kind for evidence in report.evidence if evidence.failure} == {"missing-module"}


def hints(observation):
    return [
        ALL[e.kind].hint_for(e) for e in run_detectors(observation) if e.failure is not None or e.kind in ALL
    ]


@pytest.mark.parametrize(
    "observation",
    [
        failing(BROKEN),
        failing(raised()),
        failing(verdict()),  # a comparison of values that no function of the project made
        failing(raised("Failed", "DID NOT RAISE ValueError")),
        failing(USAGE, **SESSION),
    ],
)
def test_no_advice(observation):
    assert hints(observation)[0] == ""


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        (failing(NO_MODULE), "import path"),
        (failing(NO_NAME), "does not define the name"),
        (failing(CYCLE), "import each other"),
        (failing(verdict(origin("total"))), "function that made it"),
        (failing(raised("FixtureLookupError", details={"fixture": "db"}), phase="setup"), "conftest.py"),
        (
            failing(None, message="Different tests were collected between gw0 and gw1", **COLLECT),
            "every worker",
        ),
    ],
)
def test_advice(observation, words):
    assert words in hints(observation)[0]


def test_every_finding_has_words():
    for detector in DEFAULT_DETECTORS:
        for sample in [*NEGATIVE[detector.id], *(s for s, _ in POSITIVE[detector.id])]:
            for evidence in detector.detect(sample):
                hint = detector.hint_for(evidence)
                assert hint == "" or ((hint[0].isupper() or hint[0] == "`") and hint.endswith("."))
                assert detector.count_of([evidence]).startswith("1 ")


def exits(evidence):
    raise SystemExit(evidence)


@pytest.mark.parametrize("function", [exits, lambda evidence: None, lambda evidence: 1 / 0])
def test_words_of_a_third_party_that_fail_cost_only_themselves(function):
    detector = replace(ALL["test-failure"], label_for=function, advise=function)
    evidence = Evidence(kind="test-failure", snippet="")
    assert detector.count_of([evidence, evidence]) == "2 test failures"
    assert detector.hint_for(evidence) == detector.hint
