"""``loop-close demo``: the example is run where nothing stays."""

import sys

import pytest
from cli_harness import environment, loop_close


@pytest.mark.slow
def test_example_is_run_in_a_folder_that_is_gone_afterwards(tmp_path):
    here, temporary = tmp_path / "here", tmp_path / "tmp"
    here.mkdir()
    temporary.mkdir()
    spoilt = environment(
        TMPDIR=str(temporary), PYTEST_ADDOPTS="--no-such-option", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"
    )
    done = loop_close("demo", cwd=here, env=spoilt)
    shown = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert (b"on Python 3.11 " in done.stderr) is (sys.version_info < (3, 12))
    assert shown.startswith("$ cd shop && pytest --loop-close -q --tb=no\n")
    assert shown.index("loop-close: next prompt: nextprompt.md") < shown.index("\n# 19 tests fail, ")
    assert ": 9 root causes, first " in shown
    assert list(here.iterdir()) == []
    assert [p.name for p in temporary.iterdir() if p.name.startswith("loop-close-demo-")] == []
