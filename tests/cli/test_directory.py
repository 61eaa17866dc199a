"""``loop-close analyze DIRECTORY``: many logs, in real processes, to one summary."""

import json
import os
from pathlib import Path

import jsonschema
import pytest
from cli_harness import loop_close, loop_close_here, put

import loop_close as package
from loop_close import LogSummary, combine_summaries, summary_json, summary_of_log

CORPUS = Path(__file__).parent.parent / "corpus"
SAMPLES = sorted(path for path in CORPUS.glob("*/*") if path.suffix in (".txt", ".xml"))
SCHEMA = json.loads((Path(package.__file__).parent / "schema" / "summary-1.json").read_text("utf-8"))
GREEN = "Success: no issues found in 3 source files\n"
RED = 'shop.py:1: error: Name "x" is not defined  [name-defined]\nFound 1 error in 1 file (checked 1 source file)\n'


@pytest.mark.slow
def test_summary_is_that_of_the_library(tmp_path):
    """Of a few hundred logs of real tools, in folders, with files between them that are not logs."""
    logs = tmp_path / "logs"
    for number, sample in enumerate([*SAMPLES, *SAMPLES[::3]]):
        put(logs, f"part-{number % 7}/run-{number}{sample.suffix}", sample.read_bytes())
    put(logs, "empty.log", "")
    put(logs, "core", b"\x7fELF\0\0\0")
    (logs / "part-1" / "up").symlink_to(logs, target_is_directory=True)
    if hasattr(os, "mkfifo"):
        os.mkfifo(logs / "pipe")
    expected = LogSummary()
    for path in logs.rglob("run-*"):
        one = summary_of_log(path.relative_to(logs).as_posix(), path.read_bytes())
        expected = combine_summaries(expected, one)
    printed = loop_close("analyze", logs, "--json", cwd=tmp_path)
    assert (printed.stderr, printed.returncode) == (b"", 1)
    document = json.loads(printed.stdout)
    jsonschema.validate(document, SCHEMA)
    alone = json.loads(summary_json(expected))
    assert document["root_causes"] == alone["root_causes"]
    assert document["failures"] == alone["failures"]
    assert document["logs"]["red"] > 100
    assert document["logs"]["unknown"] == alone["logs"]["unknown"] + 1
    assert document["not_logs"] == 2 + hasattr(os, "mkfifo")
    assert document["files"][0] == {"file": "core", "status": "not a log", "reason": "not a text"}
    text = loop_close("analyze", logs, cwd=tmp_path).stdout.decode()
    assert text.startswith(f"# {document['logs']['number']:,} logs: {document['logs']['red']:,} red, ")


@pytest.mark.parametrize(
    ("files", "code", "title"),
    [
        ({"a": GREEN, "b/c": GREEN}, 0, "# 2 logs: 2 green"),
        ({"a": GREEN, "b": RED}, 1, "# 2 logs: 1 red, 1 green; 1 failure by 1 root cause"),
        ({"a": GREEN, "b": ""}, 1, "# 2 logs: 1 green, 1 unknown"),
        ({"image.png": b"\x89PNG\0"}, 1, "# 0 logs"),
    ],
)
def test_exit_code_is_0_if_all_logs_are_green(tmp_path, files, code, title):
    (tmp_path / "logs").mkdir()
    for name, content in files.items():
        put(tmp_path / "logs", name, content)
    done = loop_close("analyze", "logs", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (code, b"")
    assert done.stdout.decode().splitlines()[0] == title


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["logs", "--exit-code", "0"],
            "--exit-code is for logs of one run: in a directory each log is a run",
        ),
        (["logs", "--junit", "x.xml"], "--junit is for logs of one run"),
        (["logs", "--budget", "²"], "invalid number value: '²'"),
    ],
)
def test_wrong_usage(tmp_path, words, said):
    put(tmp_path, "a.log", RED)
    put(tmp_path, "logs/b.log", RED)
    done = loop_close_here("analyze", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (64, b"")
    assert said in done.stderr.decode()
