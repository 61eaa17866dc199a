import pytest
from credential_forms import HARMLESS, NAMED, TOKENS, UNDETECTABLE, fake
from hypothesis import given
from hypothesis import strategies as st

from loop_close.text.redact import redact, redact_known, syntaxes, tokens

ONE = "<redacted 1>"

KEY = "MIIEpAIBAAKCAQEA75aTmOxs0ERCOJH1wZ"
BEGIN, END = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"

AROUND = ["@@", "x = '@@'", "see @@, and", "https://@@@host/x", "a\n@@\nb", r"'a\n@@\nb'", "x%20@@", "(@@)"]
FRAMES = ["{}", "E       {}", "{}\nnext line", "first line\n{}"]
# The rest of a name, a value, or a key that was cut.
MORE = [
    (f"{BEGIN}@@ and so on", f"\\n{KEY}\\n{KEY}..."),
    (f"{BEGIN}@@\nE   and so on", f"\nE   {KEY}\nE   {KEY}"),
    (f"… cut …\n@@{END}", f"{KEY}\n{KEY}\nab==\n"),
    ("password='@@'", r"it\'s"),
    ("password=@@, n=1", "12345678"),
    ("pwd=@@;database=x", "p@ssw0rd"),
    ("curl -uadmin:@@ https://x", "hunter2"),
    ("me:@@@tcp(127.0.0.1:3306)/db", "hunter2"),
    ("Basic @@", "dXNlcjpwYXNzd29yZA=="),
    ("MY_TOKEN=@@", "abc123def4"),
    ("secret: !vault @@", "hunter2x"),
    ("'password': ['@@']", "hunter2"),
    ("password | @@ |", "hunter2"),
    ("Password for me: @@", "hunter2"),
    ('Content-Disposition: form-data; name="password"\n\n@@', "hunter2"),
    ("<param name='db.password'>@@</param>", "hunter2"),
    ("otpauth://totp/x?secret=@@", "JBSWY3DPEHPK3PXP"),
]


@pytest.mark.parametrize("text", HARMLESS)
def test_leaves_alone(text):
    assert redact(text) == text


def test_figures_of_the_docs():
    """What docs/secrets.md says: forms, leaks, harmless texts, those redacted."""
    leaks = [text for text, secret in NAMED if secret in redact(text.replace("@@", secret))]
    leaks += [name for name, token in TOKENS.items() if token in redact(f"got {token} here")]
    wrong = [text for text in HARMLESS if redact(text) != text]
    assert (len(NAMED) + len(TOKENS), leaks) == (559, [])
    assert (len(HARMLESS), wrong) == (227, [])


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_hides_what_has_a_shape(token):
    for around in AROUND:
        assert redact(around.replace("@@", token, 1)) == around.replace("@@", ONE, 1)


@pytest.mark.parametrize(("around", "secret"), [*NAMED, *MORE])
def test_hides_what_has_a_name(around, secret):
    for frame in FRAMES:
        text = frame.replace("{}", around)
        assert redact(text.replace("@@", secret)) == text.replace("@@", ONE)


@pytest.mark.parametrize(("text", "secret", "why"), UNDETECTABLE)
def test_what_cannot_be_detected(text, secret, why):
    assert secret in redact(text), f"{why}: now it is detected, which docs/secrets.md has to say"


@pytest.mark.parametrize("start", range(0, len(KEY), 5))
def test_hides_the_rest_of_a_key_cut_anywhere(start):
    assert redact(f"{KEY[start:]}\n{KEY}\nab==\n{END}\nnext") == f"{ONE}{END}\nnext"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a_password='hunter2' b_password='hunter3'", "a_password='<redacted 1>' b_password='<redacted 2>'"),
        ("a_password='hunter2' b_password='hunter2'", "a_password='<redacted 1>' b_password='<redacted 1>'"),
        ("-password='hunter2'\n+password='hunter3'", "-password='<redacted 1>'\n+password='<redacted 2>'"),
        # in the order of the text, not of the rules
        (f"x_password='hunter2' {TOKENS['npm']}", "x_password='<redacted 1>' <redacted 2>"),
        (f"{TOKENS['npm']} x_password='hunter2'", "<redacted 1> x_password='<redacted 2>'"),
        # the same value without its name, also a word or a short one; not within a word
        (
            "db_password='swordfish', the swordfish swims",
            "db_password='<redacted 1>', the <redacted 1> swims",
        ),
        ("user 'a1b!' has db_password='a1b!'", "user '<redacted 1>' has db_password='<redacted 1>'"),
        (
            "assert 'hunter2' == 'x', password='hunter2', hunter22",
            "assert '<redacted 1>' == 'x', password='<redacted 1>', hunter22",
        ),
        ("a='<redacted 3>', password='hunter2'", "a='<redacted 3>', password='<redacted 4>'"),
    ],
)
def test_numbers_tell_credentials_apart(text, shown):
    assert redact(text) == shown


def test_texts_that_are_compared_share_their_numbers():
    numbers = {}
    texts = ["password='hunter2'", "password='hunter3'", "password='hunter2'"]
    assert [redact(text, numbers) for text in texts] == [f"password='<redacted {n}>'" for n in (1, 2, 1)]


PIECES = """
password pwd secret api_key token key session Authorization hunter2 12345678 sk- eyJ xoxb- pypi-AgEI glpat- = : ' " \\
( [ ] { } , :// @ / _hash ://u: . - E AIza é
"""
WORDS = [
    *PIECES.split(),
    *("Bearer ", "Basic ", " ", "\n", "<redacted 1>", "<redacted 12>", "\ud800", fake(40)[:16]),
    *("AKIA" + "IOSFODNN7EXAMPLE", BEGIN, END, KEY, TOKENS["jwt"], "ghp_" + fake(40)[:36]),
]
pieces = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)


@given(pieces | st.text(st.characters(exclude_categories=())))
def test_twice_is_once(text):
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize(("around", "secret"), NAMED)
def test_joined_texts_are_left_alone(around, secret):
    one, two = redact(around.replace("@@", secret)), redact("a_password='hunter3'")
    for joined in (f"{one}\n{two}", f"{two}\n{one}", f"{two}, {one}"):
        assert redact(joined) == joined


@given(pieces)
def test_numbers_begin_at_one_and_leave_none_out(text):
    numbers = {}
    redact(text.replace("<redacted", ""), numbers)
    assert sorted(numbers.values()) == list(range(1, len(numbers) + 1))


@pytest.mark.large
def test_guards_let_through_what_the_patterns_find():
    texts = [*TOKENS.values(), *(around.replace("@@", secret) for around, secret in (*NAMED, *MORE))]
    for text in texts:
        for pairs, guarded in ((tokens(), text), (syntaxes(), text.lower())):
            for form in {form for _, form in pairs}:
                is_guarded = any(guard in guarded for guard in form.guards)
                assert is_guarded or not list(form.spans(text)), (form.guards, text)


REPEATED = """
x ( \x1b[ A ' " \\ - a/ eyJ sk- :// ://a: ://a:@ ://a:b@/ eyJa. ops_eyJ <password> token=( token=a1 auth=(' key='
password= password=" password_hash= secret: secret secret_
"""
HOSTILE = [
    *REPEATED.split(),
    *("\n", " ", "token: str", "pwd ", BEGIN, END, KEY + "\n", BEGIN + "\n" + KEY + "\n", "pypi-" + "AgEI"),
    *("Bearer ", "authorization: bearer ", "password: |\n ", "password is ", "--password ", "Digest "),
    *("name='password' value='", "curl -u ", "mysql -p", "cookie: a=b;", "# client server secret\na b c\n"),
    *("where 'aaaa' = a.password\n", "where 'aaaa' = a.b(", "a * ", "basic YTph"),
    *{form: guard for guard, form in tokens()}.values(),
]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_megabytes_of_the_same_come_back():
    # Quadratic time would be minutes for each: the timeout is for that, not for speed.
    for piece in HOSTILE:
        redact(piece * (50_000 // len(piece)))
    redact("".join(HOSTILE) * (1_000_000 // len("".join(HOSTILE))))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("assert 'a1b2c3d4' == 'x'\n  + a1b2c3d4", "assert '<redacted 1>' == 'x'\n  + <redacted 1>"),
        ("a1b2c3d45 is another word", "a1b2c3d45 is another word"),
        # also a word of letters, wherever it stands
        ("assert 'swordfish' == 'x'\n  - swordfish", "assert '<redacted 2>' == 'x'\n  - <redacted 2>"),
        ("the swordfish swims", "the <redacted 2> swims"),
        # short ones, and lines of longer ones
        (
            "assert 'a1b!' == 'x'\n  + a1b!\n a1b!",
            "assert '<redacted 4>' == 'x'\n  + <redacted 4>\n <redacted 4>",
        ),
        ("- first1line\n+ other\n- second2line", "- <redacted 5>\n+ other\n- <redacted 6>"),
        # shortened by pytest and by unittest
        ("assert 'a1b2...' == '...ordfish'", "assert '<redacted 5>...' == '...<redacted 6>'"),
        ("'a1b2c[14 chars]fish' != 'a house'", "'<redacted 5>[14 chars]<redacted 6>' != 'a house'"),
        ("{'words': ...x, 'more': 'some text...'}", "{'words': ...x, 'more': 'some text...'}"),
        # few characters of them, and others beside them
        ("User('j...3d4', level=1)", "User('j...<redacted 5>', level=1)"),
        ("'id=a1b2...fish; path=/'", "'id=<redacted 5>...<redacted 6>; path=/'"),
        ("'a1[9 chars]@host/a'", "'<redacted 5>[9 chars]@host/a'"),
        ("'sailfish...selfish', 'ba1...3d45'", "'sailfish...selfish', 'ba1...3d45'"),
        # a short word of a sentence is none
        ("try again later a1... (see docs)", "try again later a1... (see docs)"),
    ],
)
def test_known_credentials_are_found_without_their_names(text, shown):
    numbers = {"a1b2c3d4": 1, "swordfish": 2, r"first1line\nsecond2line": 3, "a1b!": 4}
    assert redact_known(text, numbers) == shown
    assert redact_known(text, {}) == text


@pytest.mark.timeout(60)
def test_known_credentials_are_looked_for_in_linear_time():
    # Quadratic time would be minutes: the timeout is for that, not for speed.
    for text in ("x" * 500_000 + " ...", "..." * 100_000, "[1 chars]" * 50_000, "'" * 500_000 + "..."):
        assert redact_known(text, {"a1b2c3d4": 1}) == text
