"""The standard streams as one argument of ``main``."""

import io
import subprocess
import sys

import pytest
from cli_harness import CODE, environment

from loop_close.cli import FAULT, USAGE, Streams, main


@pytest.fixture
def streams():
    return Streams(input=io.BytesIO(), output=io.StringIO(), errors=io.StringIO())


def test_main_reads_and_writes_what_it_is_given(streams, capfd):
    assert main(["detectors"], streams) == 0
    assert streams.output.getvalue().startswith(" 1  ")
    assert capfd.readouterr() == ("", "")


def test_usage_error_goes_to_the_errors(streams, capfd):
    assert main(["analyze", "--exit-code", "x"], streams) == USAGE == 64
    assert streams.errors.getvalue().startswith("loop-close: argument --exit-code: ")
    assert (streams.output.getvalue(), capfd.readouterr()) == ("", ("", ""))


def test_fault_of_ours_is_one_line(streams, monkeypatch):
    from loop_close import judge

    def close(observation):
        raise ValueError("our own\x1b[2J")

    monkeypatch.setattr(judge, "report_of", close)
    assert main(["analyze", "-"], streams) == FAULT == 70
    assert (
        streams.errors.getvalue() == "loop-close: internal error of loop-close: ValueError: our own\\x1b[2J\n"
    )


def test_ctrl_c_is_130_without_a_word(streams, monkeypatch):
    from loop_close import judge

    def close(observation):
        raise KeyboardInterrupt

    monkeypatch.setattr(judge, "report_of", close)
    assert main(["analyze", "-"], streams) == 130
    assert streams.errors.getvalue() == ""


def test_input_and_output_may_be_closed(tmp_path):
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        command = f"{sys.executable} -c '{CODE}' detectors {closed}"
        done = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=environment(), capture_output=True, check=False
        )
        assert (closed, done.returncode, done.stderr) == (closed, 0, b"")
