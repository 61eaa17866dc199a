"""The docs: a stranger can read them, their links lead somewhere, and their code runs as it stands there."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

import loop_close
from loop_close.cli.parser import COMMANDS, parse
from loop_close.readers import DEFAULT_READERS
from loop_close.settings import Settings

ROOT = Path(__file__).parent.parent
DOCS = sorted(ROOT.joinpath("docs").rglob("*.md"))
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *DOCS]
}
SETTINGS = PAGES["docs/settings.md"]
BESIDE = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "SECURITY.md")}
CODE_BLOCK = re.compile(r"^(`{3,}).*?^\1`*$", re.MULTILINE | re.DOTALL)
LONGEST_SENTENCE = 25
MOST_WORDS = 7_440
MOST_WORDS_OF_README = 700
MOST_WORDS_IN_ALL = 8_000
MOST_WORDS_OF_CHANGELOG = 600
MOST_TERMS = 30

#: Words of public names that need no explanation: those of Python, of testing and of everyday English.
ORDINARY = set(
    re.findall(
        r"\w+",
        "after analysis analyzer async budget call ci code combine context count default detect emit error failure"
        " file fixme frame functions history ids implemented json limit list log marker missing module"
        " no not number of output parse raised reached response run schema scope shared since stack step"
        " summary syntax terminal test text todo tool trace typecheck undo unhandled version",
    )
)


def prose(text):
    """The paragraphs and list items of a page, without code, tables, headings and link targets."""
    text = re.sub(r"<!--.*?-->", "", CODE_BLOCK.sub("", text), flags=re.DOTALL)
    text = re.sub(r"^(\||#|!\[).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^ *([-*]|\d+\.) ", "\n\n", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`]+`", "code", re.sub(r"\]\([^)]*\)", "]", text))
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]


def sentences(text):
    return [one for paragraph in prose(text) for one in re.split(r"(?<=[.!?])[)\"*]*\s+", paragraph)]


def length(sentence):
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


@pytest.mark.parametrize("page", PAGES)
def test_no_sentence_is_too_long(page):
    long = [one for one in sentences(PAGES[page]) if length(one) > LONGEST_SENTENCE]
    assert not long, f"{page}: more than {LONGEST_SENTENCE} words; make two sentences of each"


def test_the_docs_are_short():
    changes = ROOT.joinpath("CHANGELOG.md").read_text(encoding="utf-8")
    assert len(changes.partition("## Unreleased")[2].partition("\n## ")[0].split()) <= MOST_WORDS_OF_CHANGELOG
    words = {page: len(text.split()) for page, text in PAGES.items()}
    assert sum(words.values()) <= MOST_WORDS_IN_ALL
    assert words.pop("README.md") <= MOST_WORDS_OF_README
    assert sum(words.values()) <= MOST_WORDS, (
        f"shorten a page: {sorted(words.items(), key=lambda item: -item[1])}"
    )


@pytest.mark.parametrize("page", sorted(PAGES.keys() - {"README.md"}))
def test_each_page_answers_one_question(page):
    title, question = PAGES[page].split("\n\n")[:2]
    assert title.startswith("# ")
    assert "?" in question, f"{page}: the first paragraph has to be the question that the page answers"


@pytest.mark.parametrize("page", [*PAGES, *BESIDE])
def test_links_lead_somewhere(page):
    text = CODE_BLOCK.sub("", {**PAGES, **BESIDE}[page])
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", text):
        path = (ROOT / page).parent.joinpath(target) if target else ROOT / page
        assert path.exists(), f"{page} links to {target}"
        if anchor:
            headings = re.findall(
                r"^#+ (.*)$", CODE_BLOCK.sub("", path.read_text(encoding="utf-8")), re.MULTILINE
            )
            anchors = [re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings]
            assert anchor in anchors, f"{page} links to {target}#{anchor}"


def test_every_page_is_linked():
    linked = {
        ((ROOT / page).parent / target).resolve()
        for page, text in PAGES.items()
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text)
    }
    assert [path.name for path in DOCS if path not in linked] == []


def test_the_site_has_every_page_in_its_menu():
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    (home,), *groups = (list(each.values()) for each in menu)
    assert sorted([home, *(page for (group,) in groups for page in group)]) == sorted(
        [*PAGES, "CONTRIBUTING.md", "CHANGELOG.md"]
    )


def stems(name):
    """The words of a name in snake case, camel case or prose, without the endings of plural and the like."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return {re.sub(r"(ations?|ies|ings?|ures?|ed|es|e|s|y)$", "", word.lower()) or word for word in words}


def test_every_word_of_the_public_names_is_explained_or_ordinary():
    names = {*loop_close.__all__, *(field.name for field in fields(Settings))}
    for schema in sorted(ROOT.joinpath("src", "loop_close", "schema").glob("*.json")):
        names |= json.loads(schema.read_text(encoding="utf-8"))["properties"].keys()
    terms = re.findall(r"^- \*\*(.+?)\*\*: ", PAGES["docs/glossary.md"], re.MULTILINE)
    explained = set().union(*map(stems, terms))
    ordinary = {stem: word for word in ORDINARY for stem in stems(word)}
    used = set().union(*map(stems, names))
    unknown = {name: left for name in sorted(names) if (left := stems(name) - explained - ordinary.keys())}
    assert len(terms) <= MOST_TERMS, "replace a term: the glossary is for what a reader cannot guess"
    assert not unknown, (
        f"use a word of docs/glossary.md in these names, or explain the new one there: {unknown}. Only if every"
        " Python programmer knows it does it belong into ORDINARY."
    )
    assert not [word for stem, word in ordinary.items() if stem not in used], (
        "in no name: remove it from ORDINARY"
    )
    assert not [word for stem, word in ordinary.items() if stem in explained], (
        "explained: remove it from ORDINARY"
    )


EXTENDING = PAGES["docs/extending.md"]
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
    assert len(BLOCKS) == 1
    assert result.ret == 1
    assert prompt.startswith("# 1 test fails: ")
    assert "1 lost database connection: " in prompt
    assert "The test database is started with `make db`." in prompt


READING = PAGES["docs/reading-output.md"]


def test_the_python_of_reading_output_works(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", READING, re.DOTALL)
    exec(compile(block, "reading-output.md", "exec"), {})
    assert capsys.readouterr().out.startswith("# 2 logs: 1 green, 1 unknown\n")


def test_every_reader_is_told_of():
    for reader in DEFAULT_READERS:
        assert reader.id in READING


def test_every_command_is_told_of_and_those_of_the_docs_are_some():
    text = "\n".join(PAGES.values())
    for command in COMMANDS:
        assert re.search(
            rf"`(?:loop-close )?{command.name}\b|^loop-close {command.name}\b", text, re.MULTILINE
        )
    for line in re.findall(r"^loop-close \w.*$", READING, re.MULTILINE):
        assert parse(shlex.split(line, comments=True)[1:]).name in line


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="the prompt with suspects is that of Python 3.12")
def test_prompt_picture_and_settings_are_what_the_program_writes():
    command = [sys.executable, str(ROOT / "tools/readme.py"), "--check"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_the_page_of_settings_names_every_option(pytester):
    shown = pytester.runpytest_subprocess("--help").stdout.str()
    options = set(re.findall(r"--loop-close[a-z-]*", shown))
    assert len(options) > 3
    assert options == set(re.findall(r"--loop-close[a-z-]*", SETTINGS))


def test_the_page_of_settings_has_a_row_for_each():
    for field in fields(Settings):
        assert f"\n| `{field.name}` |" in SETTINGS
