import re
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loop_close.text import one_line, sanitize, stripped

ESC = "\x1b"
PIECES = [
    *(
        "\x1b",
        "\x1b[",
        "\x1b]",
        "\x1b\\",
        "\x9b",
        "\x07",
        "31m",
        "0;",
        "\r",
        "\n",
        "\t",
        " ",
        "\u00a0",
        "\u200b",
    ),
    *(":", "::", "#", "##", "[", "error", "vso", "teamcity", "group", "#x1B", "#x1", "B[", "#x07", "\u2028"),
    *("\ud83d", "\ude00", "\x00", "\ufffe", "\ufe0f", "\U000e0041", "x", "8;;http://a"),
]
hostile = st.lists(st.sampled_from(PIECES)).map("".join) | st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "tab\tand\nline",
        "naïve café, 日本語, 😀, ✓ × –",
        "combining e\u0301",
        "ns::name and std::vector<int>::size_type",
        "tests/test_a.py::TestA::test_x[1]",
        "FAILED tests/test_a.py::test_x - assert",
        "::1",
        "  :: error",
        "## heading",
        "#x1B",
        "#x1b[31m",
        "\ufffd",
    ],
)
def test_leaves_alone(text):
    assert sanitize(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # SGR and other CSI
        (f"{ESC}[1;38;2;1;2;3mx{ESC}[K", "x"),
        (f"{ESC}[?25lx{ESC}[?25h", "x"),
        (f"x{ESC}[", "x"),
        (f"x{ESC}[31", "x"),
        (f"x{ESC}[31\ny", "x\ny"),
        # the eight-bit CSI
        ("\x9b31mred\x9b0m", "red"),
        # OSC: title, hyperlink, either terminator, none
        (f"{ESC}]0;title\x07x", "x"),
        (f"{ESC}]8;;https://example.org{ESC}\\link{ESC}]8;;{ESC}\\", "link"),
        (f"{ESC}]0;never ends\nnext", "\nnext"),
        (f"{ESC}]0;never ends\rnext", "\nnext"),
        # DCS, APC and the short ones
        (f"{ESC}Pq#0;1{ESC}\\x", "x"),
        (f"{ESC}_payload{ESC}\\x", "x"),
        (f"{ESC}(Bx{ESC}7y{ESC}=z", "xyz"),
        (ESC, ""),
        (f"{ESC}{ESC}[0m[31m", "[31m"),
        # what junitxml makes of ESC
        ("#x1B[31mred#x1B[0m", "red"),
        ("#x1B]8;;http://a#x1B\\link#x1B]8;;#x1B\\", "link"),
        ("#x1#x1B[0mB[31mx", "#x1B [31mx"),
        ("#x1#x1#x1B[0mB[0mB[31mx", "#x1#x1B [0mB[31mx"),
        # control characters
        ("a\x00b\x08c\x7fd", "abcd"),
        ("a\x80b\x9fc", "abc"),
        # line ends
        ("a\r\nb\rc\vd\fe\x85f\u2028g\u2029h", "a\nb\nc\nd\ne\nf\ng\nh"),
        # bidirectional, zero width, tags, selectors, annotation
        ("a\u202eb\u2066c\u200fd\u061ce", r"a\u202eb\u2066c\u200fd\u061ce"),
        ("a\u200bb\u200dc\u2060d\ufeffe\u00adf", r"a\u200bb\u200dc\u2060d\ufeffe\xadf"),
        ("a" + "".join(chr(0xE0000 + ord(c)) for c in "no") + "b", r"a\U000e006e\U000e006fb"),
        ("\u26a0\ufe0f a\U000e0100b", "\u26a0\\ufe0f a\\U000e0100b"),
        ("a\ufff9b\ufffac\ufffbd", r"a\ufff9b\ufffac\ufffbd"),
        # fillers, which are letters, and a joiner, which is a mark
        ("a\u3164b\u115fc\uffa0d\u034fe\u17b4", r"a\u3164b\u115fc\uffa0d\u034fe\u17b4"),
        # a number sign that is seen, but is a format character
        ("\u0600", r"\u0600"),
        # private use
        ("a\ue000b\U000f0000c\U0010fffd", r"a\ue000b\U000f0000c\U0010fffd"),
        # the signature of an encoding, and the same within a text
        ("\ufeffa\ufeff", r"a\ufeff"),
        # no characters
        ("a\ud800b\udfffc", r"a\ud800b\udfffc"),
        ("\ufffe\uffff\ufdd0\U0010ffff\u0378", r"\ufffe\uffff\ufdd0\U0010ffff\u0378"),
    ],
)
def test_strips(text, expected):
    assert sanitize(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("::error file=a.py::message", ": :error file=a.py::message"),
        ("ok\n  ::set-output name=x::y", "ok\n  : :set-output name=x::y"),
        ("\u00a0\t::error::x", "\u00a0\t: :error::x"),
        (":\u200b:error::x", r":\u200b:error::x"),
        ("\ufeff::error::x", ": :error::x"),
        (f"{ESC}[0m::error::x", ": :error::x"),
        ("a\r::error::x", "a\n: :error::x"),
        ("##[error]x", "# #[error]x"),
        ("a ###[group]x", "a ## #[group]x"),
        ("a ##vso[task.setvariable]x", "a # #vso[task.setvariable]x"),
        ("a ##VSO[task]x", "a # #VSO[task]x"),
        ("##teamcity[testFailed]", "# #teamcity[testFailed]"),
    ],
)
def test_defuses_commands_of_log_readers(text, expected):
    assert sanitize(text) == expected


@given(hostile)
@example("#x1" * 5 + "#x1B[" + "B[" * 5)
def test_nothing_unseen_is_left_and_twice_is_once(text):
    result = sanitize(text)
    assert sanitize(result) == result
    assert not [c for c in result if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert not re.search(r"^\s*::[A-Za-z]|##\[|##vso\[|##teamcity\[|#x1B\[", result, re.MULTILINE)
    result.encode("utf-8")


@pytest.mark.slow
def test_every_character_without_a_glyph_is_an_escape():
    characters = [chr(code) for code in range(0x20, sys.maxunicode + 1)]
    unseen = [c for c in characters if unicodedata.category(c) in ("Cf", "Co", "Cs", "Cn")]
    # Variation selectors, fillers and joiners, by name: what Unicode has no category for.
    named = re.compile("VARIATION SELECTOR|FILLER|GRAPHEME JOINER|VOWEL INHERENT")
    unseen += [c for c in characters if named.search(unicodedata.name(c, "")) and sanitize(c) != c]
    selectors = [c for c in characters if "VARIATION SELECTOR" in unicodedata.name(c, "")]
    assert len(selectors) > 250
    assert [c for c in selectors if sanitize(c) == c] == []
    assert [c for c in unseen[1:] if c != "\ufeff" and sanitize(c) != ascii(c)[1:-1]] == []
    letters = [
        c
        for c in characters
        if unicodedata.category(c)[0] in "LNPS" and not named.search(unicodedata.name(c, ""))
    ]
    assert [c for c in letters if sanitize(c) != c] == []


def test_stripped_leaves_out_what_is_escaped():
    assert stripped("a\u200bb\ufe0fc\ud800d\x1b[0m\r\ne") == "abcd\ne"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("a b", 200, "a b"),
        ("  a\n\t b\u00a0 c ", 200, "a b\u00a0 c"),
        ("'[  7]' !=\n    '[   7]'", 200, "'[  7]' != '[   7]'"),
        (f"migrate{' ' * 226}exit code 2", 200, "migrate [226 spaces] exit code 2"),
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        (f"{ESC}[31mabc{ESC}[0m", 3, "abc"),
        ("\n::error::x", 200, ": :error::x"),
    ],
)
def test_one_line(text, limit, expected):
    assert one_line(text, limit) == expected


@given(hostile, st.integers(1, 30))
def test_one_line_is_one_line_within_its_limit(text, limit):
    result = one_line(text, limit)
    assert len(result) <= limit
    assert result == result.strip()
    assert len(result.splitlines()) <= 1
    assert sanitize(result) == result


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece", ["x", "(", "\x1b[", "\x1b]", "\x1b", "\x9b1", "#x1B[", "#x1B]", "#x1", "\n", " ", ":", "##["]
)
def test_a_megabyte_of_the_same_comes_back(piece):
    # Quadratic time would be minutes: the timeout is for that, not for speed.
    sanitize(piece * (1_000_000 // len(piece)))
