import pytest
from credential_forms import HARMLESS, NAMED, TOKENS, UNDETECTABLE, fake
from hypothesis import given
from hypothesis import strategies as st

from loop_close.text.redact import forms, redact, redact_known

ONE = "<redacted 1>"

KEY = "MIIEpAIBAAKCAQEA75aTmOxs0ERCOJH1wZ"
BEGIN, END = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"

LEFT_ALONE = [
    "",
    "plain text",
    # words of parsers and of code
    "auth: src/handlers/login_handler.py",
    "Unexpected token: identifier",
    "token='PLUS'",
    "key: value",
    "KeyError: 'password'",
    "assert tokens == ['a', 'b']",
    "monkey='abc'",
    "the secretary: 'Bob'",
    "shelf_of_books SG.a.b ya29.x hooks.slack.com/services/about",
    "sort_key='customer_address_line12'",
    "foreign_key='auth_group_permissions_group_id_b120cbf9_fk'",
    "token_type='bearer'",
    # a colon is prose as well: a bare value after it needs the shape of a credential
    "secret: expected str, got int",
    "password: str",
    "password: str | None = None",
    "def login(user: str, password: str) -> None:",
    "password=get_password()",
    "password = get_password(user)",
    'password = os.environ["X"]',
    "password=settings.password",
    "connect(password=password)",
    "PASSWORD=DEFAULT",
    "password=None, secret=True",
    "password == other",
    'input("password: ")',
    'f"password={password}"',
    "password='{password}'",
    "password=%s, secret='%(secret)s'",
    "DB_PASSWORD=$PASSWORD",
    "password=<SecretStr>",
    # directories
    "pwd=/home/x",
    "PWD=/home/x/1234567890abcdef",
    "{'PWD': '/home/x', 'OLDPWD': 'C:\\\\x'}",
    "private_key_path='/etc/key.pem'",
    # nothing, or hidden already
    "password=''",
    "password='***'",
    "password='[redacted]'",
    "password=[redacted]",
    "postgres://user:***@host/db",
    "postgres://user:[redacted]@host/db",
    "postgres://user:<redacted 2>@host/db",
    "password='<redacted 7>', token=<redacted 1>",
    "postgres://user:{password}@host/db",
    "http://localhost:8080/?mail=a@b",
    # about a secret
    "password_hash='pbkdf2$x'",
    "secret_name='prod/db'",
    "password_length: 12",
    # random, and not secret
    "commit 0123456789abcdef0123456789abcdef01234567",
    "etag: 'd41d8cd98f00b204e9800998ecf8427e'",
    "cache key: d41d8cd98f00b204e9800998ecf8427e",
    "key='123e4567-e89b-12d3-a456-426614174000'",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "aGVsbG8gd29ybGQ=",
    "sk-toggleable__content sk-estimator-doc-link-element",
    "WWW-Authenticate: Bearer realm='x'",
    'headers["Authorization"] = f"Bearer {token}"',
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0B\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0B\n-----END CERTIFICATE-----",
]


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


@pytest.mark.parametrize("text", [*LEFT_ALONE, *HARMLESS])
def test_leaves_alone(text):
    assert redact(text) == text


def test_figures_of_the_docs():
    """What docs/secrets.md says: forms, leaks, harmless texts, those redacted."""
    leaks = [text for text, secret in NAMED if secret in redact(text.replace("@@", secret))]
    leaks += [name for name, token in TOKENS.items() if token in redact(f"got {token} here")]
    wrong = [text for text in HARMLESS if redact(text) != text]
    assert (len(NAMED) + len(TOKENS), leaks) == (559, [])
    assert (len(HARMLESS), wrong) == (191, [])


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


WORDS = [
    *(
        "password",
        "pwd",
        "secret",
        "api_key",
        "token",
        "key",
        "session",
        "Authorization",
        "Bearer ",
        "Basic ",
    ),
    *("=", ":", " ", "'", '"', "\\", "(", "[", "]", "{", "}", ",", "\n", "://", "@", "/", "_hash", "://u:"),
    *(
        "hunter2",
        "12345678",
        fake(40)[:16],
        "AKIA" + "IOSFODNN7EXAMPLE",
        "sk-",
        "eyJ",
        ".",
        "-",
        "E",
        "<redacted 1>",
        "<redacted 12>",
    ),
    *(
        BEGIN,
        END,
        KEY,
        TOKENS["jwt"],
        "ghp_" + fake(40)[:36],
        "xoxb-",
        "pypi-AgEI",
        "glpat-",
        "AIza",
        "é",
        "\ud800",
    ),
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
    known = forms()
    for text in texts:
        for pairs, guarded in ((known.tokens, text), (known.others, text.lower())):
            for form in {form for _, form in pairs}:
                is_guarded = any(guard in guarded for guard in form.guards)
                assert is_guarded or not list(form.spans(text)), (form.guards, text)


HOSTILE = [
    *(
        "x",
        "(",
        "\x1b[",
        "A",
        "\n",
        " ",
        "'",
        '"',
        "\\",
        "-",
        "a/",
        "eyJ",
        "sk-",
        "://",
        "://a:",
        "://a:@",
        "://a:b@/",
    ),
    *(
        "password=",
        'password="',
        "password_hash=",
        "secret:",
        "secret",
        "secret_",
        "key='",
        "token: str",
        "pwd ",
    ),
    *(
        BEGIN,
        END,
        KEY + "\n",
        BEGIN + "\n" + KEY + "\n",
        "Bearer ",
        "authorization: bearer ",
        "pypi-" + "AgEI",
    ),
    *(
        "token=(",
        "token=a1",
        "password: |\n ",
        "password is ",
        "--password ",
        "<password>",
        "name='password' value='",
    ),
    *(
        "curl -u ",
        "mysql -p",
        "where 'aaaa' = a.password\n",
        "where 'aaaa' = a.b(",
        "cookie: a=b;",
        "Digest ",
        "basic YTph",
        "auth=('",
        "eyJa.",
        "ops_eyJ",
    ),
    *{form: guard for guard, form in forms().tokens}.values(),
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
