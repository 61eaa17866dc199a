"""Our section in AGENTS.md: put in once, taken out to the byte, all else as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.hosts import ConfigError
from loop_close.hosts.config_file import agents_md

CONFIG = agents_md("pytest --loop-close", "nextprompt.md")
OTHER = agents_md("make test", "build/next.md")
SECTION = CONFIG.fresh.removesuffix("\n")
# Files as people have them, and as no one has them.
TEXTS = [
    "",
    "\n",
    "\n\n",
    " ",
    "# Agents\n",
    "# Agents",
    "# Agents\n\n",
    "# Agents\n\n\nmore\n\n\n",
    "# Agents\r\n\r\nmore\r\n",
    "# Agents\r\n\r\nmore",
    "\ufeff",
    "\ufeff# Agents\r\n",
    "\ufeff# Agents",
    "old Mac\rlines\r",
    "mixed\r\nlines\n",
    "mixed\nlines\r\n",
    "mixed\nlines\r",
    "```\ncode without its end\n",
    "<!-- another tool:begin -->\ntext\n<!-- another tool:end -->\n",
    "ünï\u2028code\u0085\x0c\x1c\n",
]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_it_comes_and_goes(text):
    there = CONFIG.added(text)
    assert there.startswith(text)
    assert there.count("loop-close:begin") == 1
    assert CONFIG.added(there) == there
    assert CONFIG.removed(there) == text
    assert CONFIG.removed(text) == text


@given(st.text() | st.text("\r\n\ufeff a#"))
def test_any_text_comes_back(text):
    assert CONFIG.removed(CONFIG.added(text)) == text


@given(st.text("\r\n a"), st.text("\r\n a"))
def test_what_is_written_after_it_stays(text, more):
    left = CONFIG.removed(f"{CONFIG.added(text)}\n{more}") or ""
    assert left.startswith(text)
    assert left.endswith(more)


def test_a_file_made_for_it_can_go():
    assert CONFIG.removed(CONFIG.fresh) is None
    assert CONFIG.removed(f"\n{CONFIG.fresh}") is not None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"# A\n\n{SECTION}\n\n## B\n", "# A\n\n## B\n"),
        (f"{SECTION}\n\n## B\n", "\n## B\n"),
        (f"# A\n{SECTION}\n## B\n", "# A\n## B\n"),
        (f"# A\n\n{SECTION}\n\n{SECTION}\n", "# A\n"),
        (f"- item\n\n  {SECTION}", "- item\n\n  "),
    ],
)
def test_it_may_be_moved(text, left):
    assert CONFIG.removed(text) == left


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_it_is_brought_up_to_date_in_its_place(text):
    before = f"{CONFIG.added(text)}\n## After\n"
    after = OTHER.added(before)
    assert after == before.replace("`pytest --loop-close`", "`make test`").replace(
        "`nextprompt.md`", "`build/next.md`"
    ).replace(*(each.partition("loop-close:begin ")[2][:16] for each in (before, after)))
    assert OTHER.added(after) == after
    assert CONFIG.removed(after) == CONFIG.removed(before)


def test_other_line_ends_are_no_edit():
    there = CONFIG.added("# Agents\n")
    assert CONFIG.removed(there.replace("\n", "\r\n")) == "# Agents\r\n"
    assert CONFIG.added(there.replace("\n", "\r\n")) == there.replace("\n", "\r\n")


@pytest.mark.parametrize(
    "edited",
    [
        CONFIG.fresh.replace("with `pytest", "in the venv with `pytest"),
        CONFIG.fresh.replace("## Tests", "## Tests\n\nOur own rules."),
        CONFIG.fresh.replace("loop-close:begin ", "loop-close:begin x"),
    ],
)
def test_what_a_person_edited_is_kept(edited):
    text = f"# A\n\n{edited}"
    assert CONFIG.added(text) == OTHER.added(text) == text
    with pytest.raises(ConfigError, match="the section of loop-close was edited; remove it by hand"):
        CONFIG.removed(text)


@pytest.mark.parametrize("change", [CONFIG.added, CONFIG.removed])
def test_a_section_without_its_end_is_refused(change):
    with pytest.raises(ConfigError, match="has no end: <!-- loop-close:end --> is missing"):
        change(SECTION.rpartition("\n")[0])


@pytest.mark.parametrize("mark", ["<!-- loop-close:end -->", "<!-- loop-close:begin -->", "-->", "<!--"])
def test_settings_that_hold_a_mark_do_not_end_the_section(mark):
    config = agents_md(f"make {mark}", f"build/{mark}.md")
    there = config.added("# Agents\n")
    assert config.added(there) == there
    assert CONFIG.removed(there) == "# Agents\n"


def test_settings_are_code_without_credentials():
    config = agents_md("env API_KEY=sk-live-4f8a9b2c7d6e5f4a3b2c make `test`", "next.md")
    assert "sk-live-4f8a9b2c7d6e5f4a3b2c" not in config.fresh
    assert "- Run the tests with `` env API_KEY=<redacted 1> make `test` ``." in config.fresh
    assert config.removed(config.added("# A\n")) == "# A\n"
