import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from records import any_text

from loop_close.text import code, fence, one_line, sanitize


def parse(text):
    return MarkdownIt("commonmark").parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["```text", "```"]),
        ("a\n", ["```text", "a", "```"]),
        ("a\n\n", ["```text", "a", "", "```"]),
        ("a `b` ``c``", ["```text", "a `b` ``c``", "```"]),
        ("```\na\n```", ["````text", "```", "a", "```", "````"]),
        ("x `````", ["``````text", "x `````", "``````"]),
        ("a\r\nb\rc", ["```text", "a", "b", "c", "```"]),
    ],
)
def test_fence(text, expected):
    assert fence(text) == expected


@pytest.mark.parametrize(
    ("language", "info"), [("python", "python"), ("c++", "c++"), ("", ""), ("a b", "ab"), ("x`\n# h", "xh")]
)
def test_language_is_one_word(language, info):
    assert fence("a", language)[0] == "```" + info


@given(any_text.map(sanitize))
def test_fence_renders_as_one_block_of_the_text(text):
    (token,) = parse("\n".join(fence(text)))
    assert (token.type, token.info) == ("fence", "text")
    assert token.content == (text if text.endswith("\n") or not text else text + "\n")


@given(any_text)
def test_fence_holds_what_was_not_sanitized(text):
    (token,) = parse("\n".join(["before", "", *fence(text), "", "after"]))[3:-3]
    assert token.type == "fence"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "(empty)"),
        ("\x1b[0m", "(empty)"),
        ("a", "`a`"),
        ("a\n b", "`a b`"),
        ("`a`", "`` `a` ``"),
        ("`", "`` ` ``"),
        ("a``", "``` a`` ```"),
        ("tests/test_a.py::test_x[`]", "``tests/test_a.py::test_x[`]``"),
    ],
)
def test_code(text, expected):
    assert code(text) == expected


@given(any_text, st.integers(1, 40))
def test_code_renders_as_one_span_of_the_line(text, limit):
    line = one_line(text, limit)
    opening, inline, closing = parse(code(text, limit))
    assert (opening.type, closing.type) == ("paragraph_open", "paragraph_close")
    (child,) = inline.children
    assert (child.type, child.content) == (("code_inline", line) if line else ("text", "(empty)"))


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["x", "(", "\x1b[", "`", "` ", "\n"])
def test_a_megabyte_of_the_same_comes_back(piece):
    text = piece * (1_000_000 // len(piece))
    fence(text)
    code(text)
