"""``loop-close detectors``: the list that the library has."""

import json

from cli_harness import loop_close

from loop_close.detectors import DEFAULT_DETECTORS


def test_each_is_listed_in_order_with_its_description(tmp_path):
    done = loop_close("detectors", cwd=tmp_path)
    rows = [line.split(maxsplit=2) for line in done.stdout.decode().splitlines()]
    assert rows == [[str(n), d.id, d.description] for n, d in enumerate(DEFAULT_DETECTORS, 1)]
    assert (done.returncode, done.stderr) == (0, b"")


def test_list_as_json(tmp_path):
    listed = json.loads(loop_close("detectors", "--json", cwd=tmp_path).stdout)
    assert [d["id"] for d in listed] == [d.id for d in DEFAULT_DETECTORS]
    assert set(listed[0]) == {"id", "kind", "priority", "description", "hint"}
