"""What a report says of what made the run."""

import base64

import pytest
from plugin_harness import SHARDS

from loop_close.parts import decode
from loop_close.provenance import digest_of

FILES = {
    "test_a.py": "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_a(n): assert n != 3\n",
    "conftest.py": SHARDS,
}
IDS = [f"test_a.py::test_a[{n}]" for n in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n2", "-p", "xdist"]])
def test_a_shard_tells_its_number_and_what_was_collected(run, workers):
    if workers:
        pytest.importorskip("xdist")
    report = run(FILES, "--splits=2", "--group=2", *workers, own_process=bool(workers)).report
    assert report["incomplete"] == "shard 1 of 2 is missing"
    made = decode(base64.b64decode(report["parts"][0])).observation.provenance
    assert (made.shard, made.collected, made.digest) == ((2, 2), 4, digest_of(IDS))


def test_a_run_of_ci_tells_the_run_and_the_commit(run, monkeypatch):
    for name, value in {"GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_SHA": "abc"}.items():
        monkeypatch.setenv(name, value)
    made = run(FILES).report["run"]
    assert (made["id"], made["commit"]) == ("7.1", "abc")
    assert made["collected"]["digest"] == digest_of(IDS)


def test_agents_that_take_turns_are_in_one_loop(run, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    run(FILES, remembers=True)
    monkeypatch.delenv("CLAUDECODE")
    monkeypatch.setenv("CODEX_THREAD_ID", "019a")
    second = run({}, remembers=True).report
    assert len(second["loop"]["steps"]) == 2
