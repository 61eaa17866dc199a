import pytest

from loop_close.prompt import plain, safe, safe_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("<A object at 0x7f0123456789>", "<A object at 0x…>"),
        ("\x1b[31mred\x1b[0m \u202eback", r"red \u202eback"),
        ("password='hunter2hunter2'", "password='<redacted 1>'"),
    ],
)
def test_safe(text, expected):
    assert safe(text) == expected
    assert safe(text * 1) == safe(safe(text))


@pytest.mark.parametrize(
    "name",
    ["src/shop/shipping.py:15", "cost()", "Cart.total()", "KeyError", "tests/test_a.py", "a-b.py", "x_y_z()"],
)
def test_a_plain_name_is_shown_as_it_is(name):
    assert plain(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "__init__.py", "a._b_.c()", "<lambda>()", "\n# h", "é.py", "www.evil.com/x", "x" * 500, "test_x[1]"],
)
def test_any_other_name_is_a_code_span(name):
    shown = plain(name)
    assert shown == "(empty)" or shown[0] == shown[-1] == "`"
    assert "\n" not in shown
    assert len(shown) < 130


def test_lines_with_unusual_line_breaks_are_no_credentials():
    lines = ("def f():", "\x0c    z = 2", "    s = 'a\u2028b'", "    return z")
    assert not [line for line in safe_lines(lines) if "redacted" in line]
