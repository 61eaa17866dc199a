"""Run pytest with the plugin in a folder of its own, and read what it wrote."""

from __future__ import annotations

import json
import re
import textwrap
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
from markdown_it import MarkdownIt

from loop_close.files import SIGNATURE, without_signature

SECTIONS = {
    *("Tests that were changed", "Tests that pass without an edit of source"),
    *("Earlier attempts", "Other findings", "Known failures"),
}
_BLOCK = re.compile(r"\d+\. `")
_FOREIGN = {"html_inline", "link_open", "image", "blockquote_open", "hr", "code_block"}
#: A conftest that runs a part of the tests, as pytest-split does.
SHARDS = """
    def pytest_addoption(parser):
        parser.addoption("--splits", type=int)
        parser.addoption("--group", type=int)


    def pytest_collection_modifyitems(config, items):
        if config.getoption("splits"):
            items[:] = items[config.getoption("group") - 1 :: config.getoption("splits")]
    """
#: Plugins that take time to load and are not part of most runs; PYTEST_ADDOPTS does not show in the command.
OTHERS = (
    *("asyncio", "hypothesispytest", "platformdirs", "pytest-split", "rerunfailures", "timeout", "xdist"),
    "xdist.looponfail",
)
#: How the plugin is asked for in most runs.
ASKED = ("--loop-close", "--loop-close-json=report.json")
PROJECTS = Path(__file__).parent.parent / "projects"


@dataclass(frozen=True)
class Run:
    """The outcome of one inner run of pytest."""

    ret: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def prompt(self) -> str:
        return (self.folder / "nextprompt.md").read_text(encoding="utf-8")

    @property
    def report(self) -> dict[str, Any]:
        return json.loads((self.folder / "report.json").read_text(encoding="utf-8"))

    @property
    def title(self) -> str:
        return self.prompt.split("\n", 1)[0]

    @property
    def summary(self) -> list[str]:
        """Our lines in the terminal."""
        return [line for line in self.stdout.splitlines() if line.startswith("loop-close: ")]

    @property
    def causes(self) -> list[dict[str, Any]]:
        return self.report["root_causes"]

    def says(self, *texts: str) -> bool:
        missing = [text for text in texts if text not in self.prompt]
        assert not missing, f"{missing} not in:\n{self.prompt}"
        return True


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


def assert_well_formed(prompt: str) -> None:
    """Only our headings and our kinds of blocks; nothing that is not seen but our signature in the last line."""
    assert prompt.endswith(f"\n{SIGNATURE}\n")
    text = without_signature(prompt)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = [token.type for token in tokens] + [
        child.type for token in tokens for child in token.children or ()
    ]
    assert _FOREIGN.isdisjoint(kinds), f"{_FOREIGN & {*kinds}} in:\n{prompt}"
    assert "html_block" not in kinds, prompt
    headings = [
        (token.tag, after.content) for token, after in pairwise(tokens) if token.type == "heading_open"
    ]
    assert [tag for tag, _ in headings] == ["h1"] + ["h2"] * (len(headings) - 1)
    for _, content in headings[1:]:
        assert _BLOCK.match(content) or content in SECTIONS, content
    assert kinds.count("table_open") == [content for _, content in headings].count("Earlier attempts")
    hidden = {c for c in prompt if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")}
    assert hidden <= {"\n", "\t"}
    assert not text.endswith("\n\n")


def prose(prompt: str) -> str:
    """The prompt's text that is not inside of code."""
    tokens = MarkdownIt("commonmark").enable("table").parse(prompt)
    return "\n".join(c.content for t in tokens for c in t.children or () if c.type == "text")


@cache
def _validator() -> jsonschema.protocols.Validator:
    schema = resources.files("loop_close") / "schema" / "report-1.json"
    return jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))


def assert_valid(report: Mapping[str, Any]) -> None:
    """The JSON report is as its schema says."""
    assert report["schema"] == "loop-close.report/1"
    _validator().validate(dict(report))
