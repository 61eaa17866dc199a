import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.workspace import decoded


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", ""),
        ("ä\n".encode(), "ä\n"),
        (b"\xef\xbb\xbfx\n", "x\n"),
        (b"# coding: latin-1\nx = '\xe4'\n", "# coding: latin-1\nx = 'ä'\n"),
        (b"# coding: nonsense\nx\n", "# coding: nonsense\nx\n"),
        (b"# coding: ascii\n\xc3\xa4\n", "# coding: ascii\nä\n"),
        (b"x = '\xff'\n", "x = '\ufffd'\n"),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"a\x0cb\n", "a\x0cb\n"),
    ],
)
def test_text_is_what_python_reads(content, expected):
    assert decoded(content) == expected


@given(st.binary())
def test_whatever_the_bytes_there_is_text(content):
    assert "\r" not in decoded(content)
