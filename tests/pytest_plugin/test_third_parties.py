"""Detectors of conftests and of other plugins."""

import pytest

FAILING = "def test_a(): assert 1 == 2\n"
DETECTOR = """
from loop_close.detectors import Detector
from loop_close.model import Evidence

def find(observation):
    for failure in observation.failures:
        yield Evidence(kind="house-rule", snippet="rule broken by " + failure.nodeid, failure=failure)

def pytest_loop_close_detectors():
    return [Detector(id="house-rule", label="broken house rule", priority=5, description="d",
                     hint="Read the house rules.", detect=find)]
"""


def failing_detector(body):
    return f"""
    from loop_close.detectors import Detector
    from loop_close.model import Evidence
    def find(observation):
        {body}
    def pytest_loop_close_detectors():
        return [Detector(id="house-rule", label="rule", priority=5, description="d", hint="h", detect=find)]
    """


@pytest.mark.parametrize("folder", ["", "sub/"])
def test_detector_of_a_conftest_takes_part(run, folder):
    done = run({f"{folder}conftest.py": DETECTOR, f"{folder}test_a.py": FAILING})
    assert done.report["stall_reason"] == "1 broken house rule detected"
    assert done.says("1 broken house rule: Read the house rules.", "assert 1 == 2")
    assert done.causes[0]["kind"] == "house-rule"


def test_detector_of_a_plugin_takes_part(run):
    marked = "import pytest\n" + DETECTOR.replace(
        "def pytest_", "@pytest.hookimpl(optionalhook=True)\ndef pytest_"
    )
    done = run({"house_rules.py": marked, "test_a.py": FAILING}, "-p", "house_rules", own_process=True)
    assert done.says("1 broken house rule: ")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('broke')", "detector 'house-rule' raised ValueError: broke"),
        ("yield 'not evidence'", "not loop_close.Evidence"),
        ("raise SystemExit(9)", "detector 'house-rule' raised SystemExit"),
        ("yield Evidence(kind='x', snippet='y', file=5)", "raised ValidationError: Expected"),
        ("raise ValueError('# EVIL ``` <!--')", "EVIL"),
    ],
)
def test_detector_that_fails_is_named_and_the_run_goes_on(run, body, words):
    done = run({"conftest.py": failing_detector(body), "test_a.py": FAILING})
    assert done.ret == 1
    assert done.says("# 1 test fails: ", "- 1 failed extension: ", words, "assert 1 == 2")
    assert "detector-error" in {evidence["kind"] for evidence in done.report["evidence"]}


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ("def pytest_loop_close_detectors(): raise ValueError('hook broke')", "ValueError: hook broke"),
        ("def pytest_loop_close_detectors(): return ['no detector']", "gave str, not loop_close.Detector"),
        ("def pytest_loop_close_detectors(): raise SystemExit(9)", "SystemExit"),
        (DETECTOR.replace('id="house-rule"', 'id="crash"'), "the detector id 'crash' is taken"),
        (DETECTOR.replace("priority=5", "priority=None"), "TypeError"),
    ],
)
def test_hook_that_fails_is_named_by_its_file_and_the_run_goes_on(run, hook, words):
    done = run({"conftest.py": hook, "test_a.py": FAILING})
    assert done.ret == 1
    assert done.says("# 1 test fails: ", " of conftest.py: ", words, "assert 1 == 2")
    assert str(done.folder) not in done.prompt


def test_exit_status_is_that_of_pytest_whatever_extensions_do(run):
    done = run({"conftest.py": failing_detector("raise ValueError"), "test_a.py": "def test_a(): pass\n"})
    assert done.ret == 0
    assert done.says("# The tests pass: 1 passed", "failed extension")
