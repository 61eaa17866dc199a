"""The standard streams as one argument of ``main``."""

import io
import subprocess
import sys

import pytest
from cli_harness import CODE, environment

from loop_close.cli import FAULT, Streams, main


@pytest.fixture
def streams():
    return Streams(input=io.BytesIO(), output=io.StringIO(), errors=io.StringIO())


def test_main_reads_and_writes_what_it_is_given(streams, capfd):
    assert main(["detectors"], streams) == 0
    assert streams.output.getvalue().startswith(" 1  ")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ValueError("our own\x1b[2J"), FAULT, "internal error of loop-close: ValueError: our own\\x1b[2J"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_fault_of_ours_is_one_line_and_ctrl_c_is_none(streams, monkeypatch, error, code, said):
    from loop_close import judge

    def close(observation):
        raise error

    monkeypatch.setattr(judge, "report_of", close)
    assert main(["analyze", "-"], streams) == code
    assert streams.errors.getvalue() == (f"loop-close: {said}\n" if said else "")


def test_input_and_output_may_be_closed(tmp_path):
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        command = f"{sys.executable} -c '{CODE}' detectors {closed}"
        done = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=environment(), capture_output=True, check=False
        )
        assert (closed, done.returncode, done.stderr) == (closed, 0, b"")
