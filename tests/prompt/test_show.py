import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from records import any_text, source

from loop_close.model import Source
from loop_close.prompt.show import block, excerpt, line_of, opening, safe, span
from loop_close.text.sanitize import sanitize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("no price for 'tea': 5", "no price for 'tea': 5"),
        ("é 漢字\n  b", "é 漢字\n  b"),
        ("<A object at 0x7f0123456789>", "<A object at 0x…>"),
        ("in /tmp/pytest-of-me/pytest-3/test_a0/x.txt", "in <tmp>/x.txt"),
        ("\x1b[31mred\x1b[0m \u202eback", "red back"),
        ("password='hunter2hunter2'", "password='[redacted]'"),
    ],
)
def test_safe(text, expected):
    assert safe(text) == expected
    assert safe(text * 1) == safe(safe(text))


def test_safe_is_bounded():
    assert len(safe("a" * 100_000)) < 17_000
    assert len(safe("a" * 100_000, 100)) < 200


def test_span_and_line():
    assert span("a`b") == "``a`b``"
    assert span("  ") == "(empty)"
    assert line_of("a\n  b\nc") == "`a b c`"
    assert len(line_of("word " * 99, 40)) <= 42


@pytest.mark.parametrize(
    ("text", "lines", "chars", "expected"),
    [
        ("", 3, 99, ["(no message)"]),
        (" \n\n", 3, 99, ["(no message)"]),
        ("a\n\n\nb  ", 3, 99, ["a", "b"]),
        ("a\nb\nc", 2, 99, ["a", "b", "… 1 more lines"]),
        ("abcd\nefgh\nijkl", 3, 10, ["abcd", "efgh", "… 1 more lines"]),
    ],
)
def test_block(text, lines, chars, expected):
    assert block(text, max_lines=lines, max_chars=chars)[1:-1] == expected


def test_block_has_no_long_lines():
    assert max(map(len, block("a" * 5000, max_lines=3, max_chars=900))) <= 160


SOURCE = source("@deco", "def f(x):", "    a = 1", "    b = 2", "    c = 3", "    return d", start=10)


@pytest.mark.parametrize(
    ("line", "before", "after", "expected"),
    [
        (10, 0, 0, [">  10 @deco"]),
        (13, 0, 0, ["   11 def f(x):", "     …", ">  13     b = 2"]),
        (12, 0, 0, ["   11 def f(x):", ">  12     a = 1"]),
        (13, 1, 1, ["   11 def f(x):", "   12     a = 1", ">  13     b = 2", "   14     c = 3"]),
        (15, 1, 9, ["   11 def f(x):", "     …", "   14     c = 3", ">  15     return d"]),
        (11, 9, 0, ["   10 @deco", ">  11 def f(x):"]),
    ],
)
def test_excerpt(line, before, after, expected):
    found = excerpt(SOURCE, line, before=before, after=after)
    assert found == ["```python", *expected, "```"]


def test_excerpt_of_a_line_that_is_not_there():
    assert excerpt(SOURCE, 99, before=1, after=1) == []
    assert excerpt(Source(start=1, lines=()), 1, before=1, after=1) == []


def test_opening():
    assert opening(SOURCE, None, 2) == ["```python", "   10 @deco", "   11 def f(x):", "     …", "```"]
    body = source("    return 1", start=20)
    assert opening(source("def f():", start=1), body, 9)[1:-1] == [
        "    1 def f():",
        "     …",
        "   20     return 1",
    ]
    assert opening(source("def f():", start=19), body, 9)[1:-1] == ["   19 def f():", "   20     return 1"]


@given(any_text, st.integers(1, 8), st.integers(1, 200))
def test_any_text_stays_in_its_block(text, lines, chars):
    made = block(text, max_lines=lines, max_chars=chars)
    assert len(made) <= lines + 3
    (token,) = MarkdownIt("commonmark").parse("\n".join(made))
    assert token.type == "fence"
    assert token.content == sanitize(token.content)


@given(st.lists(any_text, min_size=1, max_size=5), st.integers(0, 7), st.integers(0, 3))
def test_any_source_stays_in_its_block(lines, line, around):
    found = Source(start=1, lines=tuple(lines))
    for made in [excerpt(found, line, before=around, after=around), opening(found, found, line)]:
        tokens = MarkdownIt("commonmark").parse("\n".join(made))
        assert [t.type for t in tokens] == ["fence"] * bool(made)
        assert all("\n" not in row for row in made)
