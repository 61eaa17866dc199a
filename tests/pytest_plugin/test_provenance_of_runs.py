"""What a report says of what made the run."""

import base64

import pytest
from plugin_harness import SHARDS

from loop_close.parts import decode
from loop_close.text import digest

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
    assert (made.shard, made.collected, made.digest) == ((2, 2), 4, digest("\n".join(sorted(IDS))))
