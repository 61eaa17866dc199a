"""The code in the docs runs as it stands there."""

import re
import shlex
import sys
from pathlib import Path

from loop_close import Standing
from loop_close.cli.parser import parse
from loop_close.cli.strategies import strategy_named
from loop_close.readers.registry import DEFAULT_READERS

EXTENDING = (Path(__file__).parent.parent / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n# conftest.py\n(.*?)```", EXTENDING, re.DOTALL)


def test_the_examples_of_the_docs_work(pytester):
    pytester.makeconftest("\n".join(BLOCKS))
    pytester.makepyfile(
        **{
            "src/billing/invoice": "def total():\n    raise OSError('server closed the connection')\n",
            "test_invoice": "from src.billing.invoice import total\n\ndef test_total():\n    total()\n",
        }
    )
    pytester.makeini("[pytest]\npythonpath = .")
    result = pytester.runpytest_subprocess("--loop-close", "-p", "no:asyncio")
    prompt = (pytester.path / "nextprompt.md").read_text(encoding="utf-8")
    assert len(BLOCKS) == 3
    assert result.ret == 1
    assert prompt.startswith("# 1 test fails: ")
    assert "1 lost database connection: " in prompt
    assert "The test database is started with `make db`." in prompt
    assert "## Owners\n\n- `src/billing/invoice.py` belongs to the billing team" in prompt


def test_the_exit_strategy_of_the_docs_works(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    tmp_path.joinpath("conftest.py").write_text("\n".join(BLOCKS), encoding="utf-8")
    decide = strategy_named("auto+not_many", tmp_path).decide
    assert decide(Standing(failing=51)).reason == "51 tests fail: a person should look"
    assert decide(Standing(failing=50)).action == "continue"


READING = (Path(__file__).parent.parent / "docs" / "reading-output.md").read_text(encoding="utf-8")

MANY_LOGS = (Path(__file__).parent.parent / "docs" / "many-logs.md").read_text(encoding="utf-8")


def test_the_python_of_reading_output_works():
    (block,) = re.findall(r"```python\n(.*?)```", READING, re.DOTALL)
    exec(compile(block, "reading-output.md", "exec"), {})


def test_the_python_of_many_logs_works(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", MANY_LOGS, re.DOTALL)
    exec(compile(block, "many-logs.md", "exec"), {})
    assert capsys.readouterr().out.startswith("# 2 logs: 1 green, 1 unknown\n")


def test_every_reader_is_told_of():
    for reader in DEFAULT_READERS:
        assert reader.id in READING


def test_every_command_of_the_docs_is_one():
    commands = re.findall(r"^loop-close (\w+)(.*)$", READING, re.MULTILINE)
    assert {name for name, _ in commands} == {"analyze", "run", "detectors", "demo"}
    for name, rest in commands:
        words = shlex.split(rest.partition("#")[0])
        assert callable(parse([name, *words]).command)
