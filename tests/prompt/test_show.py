import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from records import any_text

from loop_close.prompt import line_of, plain, safe, safe_lines, short, span, spans


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("no price for 'tea': 5", "no price for 'tea': 5"),
        ("é 漢字\n  b", "é 漢字\n  b"),
        ("<A object at 0x7f0123456789>", "<A object at 0x…>"),
        ("in /tmp/pytest-of-me/pytest-3/test_a0/x.txt", "in <tmp>/x.txt"),
        ("\x1b[31mred\x1b[0m \u202eback", r"red \u202eback"),
        ("password='hunter2hunter2'", "password='<redacted 1>'"),
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


def test_a_cut_line_says_so():
    assert short("a" * 160) == "a" * 160
    assert short("a" * 161) == "a" * 159 + "…"


def test_spans_count_what_they_leave_out():
    assert spans(["a", "b`"], 2) == "`a`, `` b` ``"
    assert spans(["a", "b", "c"], 2) == "`a`, `b` and 1 more"
    assert spans([], 2) == ""


@pytest.mark.parametrize(
    "name",
    ["src/shop/shipping.py:15", "cost()", "Cart.total()", "KeyError", "tests/test_a.py", "a-b.py", "x_y_z()"],
)
def test_a_plain_name_is_shown_as_it_is(name):
    assert plain(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "_total()",
            "__init__.py",
            "a._b_.c()",
            "a*b",
            "a`b",
            "<lambda>()",
            "a b",
            "\n# h",
            "[a](b)",
            "é.py",
        ),
        *("http://evil/x", "www.evil.com/x", "a&amp;b", "x" * 500, "a\\b", "a|b", "test_x[1]"),
    ],
)
def test_any_other_name_is_a_code_span(name):
    shown = plain(name)
    assert shown == "(empty)" or shown[0] == shown[-1] == "`"
    assert "\n" not in shown
    assert len(shown) < 130


@given(any_text)
def test_no_name_is_markup_in_a_title(name):
    tokens = MarkdownIt("commonmark").parse(f"# 1 test fails: probably {plain(name)}\n\nend\n")
    assert [t.type for t in tokens if t.nesting == 1] == ["heading_open", "paragraph_open"]
    assert {c.type for t in tokens for c in t.children or ()} <= {"text", "code_inline"}


def test_lines_with_unusual_line_breaks_are_no_credentials():
    lines = ("def f():", "\x0c    z = 2", "    s = 'a\u2028b'", "    return z")
    assert not [line for line in safe_lines(lines) if "redacted" in line]
