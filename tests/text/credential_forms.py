"""Ways to write a credential, and texts that only look like one. All values are made up.

Those that a scanner might take for a leak are put together here. The others are lines of ``credentials.txt`` and
``harmless.txt``, in which ``⏎`` is a line break and ``⇥`` a tab. ``@@`` in a text is where the value stands.
"""

from pathlib import Path


def lines_of(name):
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return [line.replace("⏎", "\n").replace("⇥", "\t") for line in text.splitlines()]


def fake(length):
    """Letters of both cases and digits, which spell what they are."""
    return ("Fake0Not1A2Real3Key4" * (length // 20 + 1))[:length]


def hexed(length):
    return ("fa4e0bad1c0de2" * (length // 14 + 1))[:length]


def lower(length):
    return fake(length).lower()


def digits(length):
    return ("1203400560" * (length // 10 + 1))[:length]


# What a vendor's tokens begin with, and what follows: found by shape, wherever they stand.
TOKENS = {
    "aws key id": "AKIA" + "FAKENQTREALKEY23",
    "aws temporary key id": "ASIA" + "FAKENQTREALKEY23",
    "github": "ghp" + "_" + fake(36),
    "github oauth": "gho" + "_" + fake(36),
    "github app user": "ghu" + "_" + fake(36),
    "github app server": "ghs" + "_" + fake(36),
    "github refresh": "ghr" + "_" + fake(76),
    "github fine-grained": "github" + "_pat_" + fake(22) + "_" + fake(59),
    **{
        f"gitlab {kind}": kind + "-" + fake(20)
        for kind in ("glpat", "gldt", "glrt", "glptt", "glft", "glimt", "glsoat", "gloas", "glffct")
    },
    "gitlab job": "glcbt" + "-64_" + fake(20),
    "gitlab agent": "glagent" + "-" + fake(50),
    "gitlab runner": "GR1348941" + fake(20),
    "gitlab routable": "glpat" + "-" + fake(27) + "." + "01" + "." + lower(9),
    "slack bot": "xoxb" + "-" + digits(12) + "-" + fake(24),
    "slack user": "xoxp" + "-" + digits(12) + "-" + digits(12) + "-" + hexed(32),
    "slack app": "xapp" + "-1-A" + fake(10).upper() + "-" + digits(13) + "-" + hexed(64),
    "slack refresh": "xoxe" + "-1-" + fake(60),
    "stripe": "sk" + "_live_" + fake(24),
    "stripe restricted": "rk" + "_live_" + fake(24),
    "stripe test": "sk" + "_test_" + fake(24),
    "stripe webhook": "whsec" + "_" + fake(32),
    "openai": "sk" + "-" + fake(48),
    "openai project": "sk" + "-proj-" + fake(40) + "_" + fake(40),
    "anthropic": "sk" + "-ant-api03-" + fake(80) + "-AA",
    "openrouter": "sk" + "-or-v1-" + hexed(64),
    "google api": "AIza" + fake(35),
    "google client secret": "GOCSPX" + "-" + fake(28),
    "google oauth": "ya29" + ".a0" + fake(60),
    "google refresh": "1//" + "0" + fake(40),
    "azure ad": "abc" + "8Q~" + fake(34),
    "vault service": "hvs" + "." + fake(90),
    "vault batch": "hvb" + "." + fake(120),
    "vault recovery": "hvr" + "." + fake(90),
    "vault old": "s" + "." + fake(24),
    "terraform": fake(14) + ".atlasv1" + "." + fake(67),
    "pulumi": "pul" + "-" + hexed(40),
    "databricks": "dapi" + hexed(32),
    "docker": "dckr" + "_pat_" + fake(27),
    "docker organization": "dckr" + "_oat_" + fake(32),
    "twilio key": "SK" + hexed(32),
    "sendgrid": "SG" + "." + fake(22) + "." + fake(43),
    "mailgun": "key" + "-" + hexed(32),
    "mailchimp": hexed(32) + "-us" + "12",
    "shopify access": "shpat" + "_" + hexed(32),
    "shopify secret": "shpss" + "_" + hexed(32),
    "shopify custom": "shpca" + "_" + hexed(32),
    "shopify private": "shppa" + "_" + hexed(32),
    "linear": "lin" + "_api_" + fake(40),
    "notion": "secret" + "_" + fake(43),
    "notion new": "ntn" + "_" + fake(46),
    "figma": "figd" + "_" + fake(40),
    "grafana cloud": "glc" + "_" + fake(60),
    "grafana service": "glsa" + "_" + fake(32) + "_" + hexed(8),
    "grafana key": "eyJ" + "rIjoi" + fake(70),
    "new relic": "NRAK" + "-" + fake(27).upper(),
    "new relic insights": "NRII" + "-" + fake(32),
    "sentry organization": "sntrys" + "_eyJ" + fake(80),
    "sentry user": "sntryu" + "_" + hexed(64),
    "atlassian": "ATATT3" + fake(186),
    "bitbucket": "ATBB" + fake(32),
    "facebook": "EAA" + fake(90),
    "discord": "M" + fake(23) + "." + fake(6) + "." + fake(38),
    "telegram": digits(10) + ":AA" + fake(33),
    "xai": "xai" + "-" + fake(80),
    "groq": "gsk" + "_" + fake(52),
    "replicate": "r8" + "_" + fake(37),
    "perplexity": "pplx" + "-" + fake(48),
    "hugging face": "hf" + "_" + fake(34),
    "age": "AGE-SECRET-KEY" + "-1" + ("QPZRY9X8GF2TVDW0" * 4)[:58],
    "npm": "npm" + "_" + fake(36),
    "pypi": "pypi" + "-AgEI" + fake(80),
    "rubygems": "rubygems" + "_" + hexed(48),
    "digitalocean": "dop" + "_v1_" + hexed(64),
    "heroku": "HRKU" + "-AA" + fake(58),
    "postman": "PMAK" + "-" + hexed(24) + "-" + hexed(34),
    "planetscale": "pscale" + "_tkn_" + fake(43),
    "planetscale password": "pscale" + "_pw_" + fake(43),
    "airtable": "pat" + fake(14) + "." + hexed(64),
    "dynatrace": "dt0c01" + "." + fake(24).upper() + "." + fake(64).upper(),
    "easypost": "EZAK" + hexed(54),
    "doppler": "dp" + ".pt." + fake(43),
    "fly": "fo1" + "_" + fake(43),
    "supabase": "sbp" + "_" + hexed(40),
    "1password": "ops" + "_eyJ" + fake(120),
    "cloudflare origin": "v1.0-" + hexed(24) + "-" + hexed(146),
    "artifactory": "AKCp" + fake(69),
    "square": "sq0atp" + "-" + fake(22),
    "brevo": "xkeysib" + "-" + hexed(64) + "-" + fake(16),
    "plaid": "access" + "-sandbox-" + "fa4e0bad-1c0d-4e2f-8a4e-0bad1c0de2fa",
    "jwt": "eyJ" + fake(20) + ".eyJ" + fake(30) + "." + fake(43),
    "jwt unsigned": "eyJ" + fake(20) + ".eyJ" + fake(30) + ".",
    "jwe": "eyJ" + fake(40) + "." + fake(60) + "." + fake(16) + "." + fake(80) + "." + fake(22),
    "jwe direct": "eyJ" + fake(40) + ".." + fake(16) + "." + fake(80) + "." + fake(22),
}

#: A UUID, which is a credential behind some prefixes alone.
UUID = f"{hexed(8)}-{hexed(4)}-{hexed(4)}-{hexed(4)}-{hexed(12)}"
TOKENS |= {
    f"{prefix}…": prefix + rest
    for prefix, rest in (
        *((prefix, UUID) for prefix in ("sk-lf-", "pk-lf-", "waka_", "sdk-", "api-", "pat-na1-", "pat-eu1-")),
        ("fw_", fake(24)),
        ("tgp_v1_", fake(43)),
        ("wandb_v1_", fake(60)),
        ("ABSK", fake(80) + "=="),
        ("bedrock-api-key-", fake(90)),
        ("AKID", fake(32)),
        ("AQVN", fake(36)),
        ("t1.", fake(20) + "." + fake(86)),
        ("y0_", fake(55)),
        ("cfut_", fake(44)),
        ("fm1r_", fake(80)),
        ("vcp_", fake(56)),
        ("sb_secret_", fake(31)),
        ("mdb_sa_sk_", fake(43)),
        ("dose", hexed(32)),
        ("cflt", fake(60)),
        ("ddapp_", fake(34)),
        ("hcaik_", lower(58)),
        ("dG9rO", fake(55)),
        ("00D", fake(15) + "!AQ" + fake(90)),
        ("5Aep861", fake(80)),
        ("ATTA", hexed(64)),
        ("pk_", digits(8) + "_" + fake(32).upper()),
        ("CFPAT-", fake(43)),
        ("shpua_", hexed(32)),
        ("access_token$production$", lower(16) + "$" + hexed(32)),
        ("AQE", fake(40) + "-" + fake(30) + "=-" + fake(12)),
        ("rzp_live_", fake(14)),
        ("FLWSECK_TEST-", hexed(32) + "-X"),
        ("APP_USR-", digits(16) + "-" + digits(6) + "-" + hexed(32) + "-" + digits(9)),
        ("A" * 20, "AAAA" + fake(30) + "%3D" + fake(40)),
        ("WPL_AP1.", fake(16) + "." + fake(6) + "=="),
        ("re_", fake(8) + "_" + fake(24)),
        ("mlsn.", hexed(64)),
        ("pypi-AgENdGVzd", fake(100)),
        ("cmVmdGtuOj", fake(60)),
        ("GOOG1E", fake(55).upper()),
        ("4/0A", fake(70)),
        ("AGE-PLUGIN-", "YUBIKEY-1" + fake(30).upper()),
        ("kubeconfig-user-", "abc12:" + lower(54)),
        ("A3-", "-".join((fake(6), fake(6), *(fake(5) for _ in range(4)))).upper()),
        ("dbtc_", fake(40)),
        ("rdme_", lower(70)),
        ("tk-us-", fake(48)),
        ("duffel_live_", fake(43)),
        ("fio-u-", fake(64)),
        ("aio_", fake(28)),
        ("jina_", fake(60)),
        ("pa-", fake(43)),
        ("crsr_", hexed(64)),
        ("esecret_", lower(52)),
        ("hf_oauth_", fake(40)),
        ("live_", hexed(35)),
        ("xprv", fake(107)),
    )
}
TOKENS |= {
    "new relic": hexed(36) + "FFFFNRAL",
    "azure registry": fake(42) + "+ACR" + fake(6),
    "azure search": fake(42) + "AzSeA" + fake(5),
}

BASE64 = "wJal" + "rXUtnFEMI/K7MDENG+bPxRfiCY" + "FAKEKEY123"
LINES = "\n".join(fake(64)[n:] + fake(64)[:n] for n in range(4))
_KEY = "PRIVATE" + " KEY"


def _pem(kind):
    return f"-----BEGIN {kind}-----@@-----END {kind}-----"


# By a name, a syntax or a command: each with the value that must go.
NAMED = [
    # environments, dotenv, shells
    ("AWS_SESSION_TOKEN=@@", "FwoG" + "ZXIvYXdzEJr//////////wEaDNot+Real0/" + fake(40) + "=="),
    ("AWS_SECRET_ACCESS_KEY=@@", BASE64),
    ("aws_secret_access_key = @@", BASE64),
    ("aws_session_token = @@", "IQoJ" + "b3JpZ2luX2VjEA0/" + fake(60) + "/+8="),
    ('DJANGO_SECRET_KEY="@@"', "k#9!v" + fake(30)),
    ("SECRET_KEY_BASE=@@", hexed(128)),
    ("GITHUB_TOKEN=@@", hexed(40)),
    ("CI_JOB_TOKEN=@@", fake(20)),
    ("DD_API_KEY=@@", hexed(32)),
    ("TWILIO_AUTH_TOKEN=@@", hexed(32)),
    ("AZURE_CLIENT_SECRET=@@", fake(34)),
    ("NPM_AUTH=@@", fake(24)),
    ("ENCRYPTION_KEY=@@", BASE64),
    ("set -x API_TOKEN @@", fake(24)),
    ("setenv API_TOKEN @@", fake(24)),
    # YAML, TOML, INI, properties
    ("client-key-data: @@", "LS0tLS1C" + fake(60) + "="),
    ("token: @@", fake(40)),
    ("auth_token: @@", fake(20)),
    ("PrivateKey = @@", "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB" + "3fBmk="),
    ("PresharedKey = @@", "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB" + "3fBmk="),
    # aligned: locals as pytest shows them, TOML, Terraform, YAML
    ("api_key    = '@@'\nurl        = 'x'", fake(24)),
    ("token      = '@@'", fake(24)),
    ("access_key           = @@", fake(20)),
    # JSON, also within strings
    ('{"api_key": "@@", "id": 1}', fake(16)),
    ('{"access_token": "@@", "token_type": "Bearer"}', fake(30)),
    ('{"refreshToken":"@@"}', fake(30)),
    ('{"clientSecret":"@@"}', fake(30)),
    (
        '{"private_key_id": "1", "private_key": "' + _pem(_KEY) + '"}',
        "\\n" + fake(64) + "\\n" + fake(64) + "\\n",
    ),
    # Python
    ("os.getenv('API_KEY', '@@')", fake(24)),
    # as pytest shows them: wrapped by pprint, of subprocess and pydantic, calls in the source
    ("token='@@'", "eyJ" + fake(17) + ".eyJ" + fake(30) + "'\n      '." + fake(43)),
    ("got '@@'", "eyJ" + fake(17) + ".eyJ" + fake(30) + "'\n    '." + fake(43)),
    ('monkeypatch.setenv("API_TOKEN", "@@")', fake(24)),
    ('{"kty":"oct","k":"@@"}', fake(43)),
    ('{"kty":"EC","crv":"P-256","x":"a","d":"@@"}', fake(43)),
    ("{'d': '@@', 'e': 'AQAB', 'kty': 'RSA', 'n': 'a'}", fake(342)),
    ("Fernet(b'@@')", fake(43) + "="),
    # what a message says
    ("invalid token @@", fake(24)),
    ("Token @@ is invalid", fake(24)),
    ("Bad API key: @@", fake(24)),
    ("api key @@ rejected", fake(24)),
    ("request failed for api-key: @@ (401)", hexed(32)),
    # other names
    *(
        (name + "='@@'", "gr4nite-Falc0n")
        for name in ("pswd", "psw", "dbpass", "dbpw", "passwort", "contraseña", "mot_de_passe")
    ),
    ("VOLC_SECRETKEY=@@", BASE64 + "=="),
    ("AZURE_DEVOPS_EXT_PAT=@@", lower(52)),
    ("GH_PAT='@@'", fake(24)),
    *((name + "='@@'", fake(24)) for name in ("jwt", "otp_seed", "refresh")),
    ("client_assertion=@@", fake(24)),
    # other languages
    ("const apiKey = '@@';", fake(24)),
    # XML and HTML
    ('<add key="ApiKey" value="@@"/>', fake(24)),
    ('<input type="hidden" name="csrf_token" value="@@">', fake(32)),
    ("<input name='csrfmiddlewaretoken' value='@@'>", fake(64)),
    ('<meta name="csrf-token" content="@@">', fake(32)),
    ("<apiKey><![CDATA[@@]]></apiKey>", fake(24)),
    # command lines
    ("curl -H 'X-Api-Key: @@' https://example.org", fake(24)),
    ("tool --token=@@", fake(24)),
    ("tool --api-key @@", fake(24)),
    ('["tool", "--token", "@@"]', fake(24)),
    # URLs
    ("https://@@@github.com/me/x.git", fake(40)),
    ("https://@@:x-oauth-basic@github.com/me/x", hexed(40)),
    ("https://x-access-token:@@@github.com/me/x", hexed(40)),
    ("https://@@@o1.ingest.sentry.io/1", hexed(32)),
    ("https://example.org/?api_key=@@&x=1", fake(24)),
    ("https://example.org/?access_token=@@", fake(24)),
    ("https://example.org/?token=@@", fake(24)),
    ("https://example.org/?key=@@", fake(24)),
    ("https://example.org/#access_token=@@&state=1", fake(24)),
    ("https://x.blob.core.windows.net/c?sv=2022-11-02&sig=@@&se=1", fake(30) + "%2B" + fake(10) + "%3D"),
    ("https://b.s3.amazonaws.com/k?X-Amz-Signature=@@&X-Amz-Expires=1", hexed(64)),
    ("https://b.s3.amazonaws.com/k?X-Amz-Security-Token=@@", fake(80) + "%2F" + fake(8)),
    ("https://storage.googleapis.com/k?X-Goog-Signature=@@", hexed(128)),
    ("https://x.cloudfront.net/k?Expires=1&Signature=@@&Key-Pair-Id=K", fake(40) + "~" + fake(20) + "__"),
    ("https://hooks.slack.com/services/@@", "T0FAKE000/B0FAKE000/" + fake(24)),
    ("https://discord.com/api/webhooks/1203400560/@@", fake(68)),
    (
        "https://x.webhook.office.com/webhookb2/@@",
        "fa4e0bad-1c0d-4e2f-8a4e-0bad1c0de2fa@fa4e0bad/IncomingWebhook/" + hexed(32),
    ),
    ("https://example.org/callback?code=@@&state=y", fake(43)),
    ("http://example.org/reset-password/MQ/@@/", "c3f-" + hexed(32)),
    ("https://chat.example.org/hooks/@@", lower(26)),
    # connection strings
    ("DefaultEndpointsProtocol=https;AccountName=x;AccountKey=@@;EndpointSuffix=y", BASE64 + BASE64 + "=="),
    ("Endpoint=sb://x/;SharedAccessKeyName=a;SharedAccessKey=@@", BASE64 + "="),
    ("SharedAccessSignature sr=x&sig=@@&se=1", fake(30) + "%3D"),
    # headers
    ("Authorization: @@", fake(32)),
    ("{'Authorization': '@@'}", hexed(32)),
    ("headers={'Authorization': 'Token @@'}", hexed(40)),
    ("> authorization: bearer @@", fake(20)),
    ("'HTTP_AUTHORIZATION': 'Bearer @@'", fake(12)),
    ("Authorization: ApiKey @@", fake(24)),
    (
        "Authorization: AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, "
        "Signature=@@",
        hexed(64),
    ),
    ('Authorization: Digest username="me", realm="x", response="@@"', hexed(32)),
    ('Authorization: Hawk id="x", ts="1", nonce="y", mac="@@"', BASE64 + "="),
    ("got ApiKey @@", fake(58) + "=="),
    ("SSWS @@", "00" + fake(40)),
    ("got Bearer @@", fake(20)),
    ("X-Api-Key: @@", hexed(32)),
    ("X-Auth-Token: @@", fake(24)),
    ("X-Vault-Token: @@", fake(26)),
    ("PRIVATE-TOKEN: @@", fake(20)),
    ("Ocp-Apim-Subscription-Key: @@", hexed(32)),
    ("x-goog-api-key: @@", fake(30)),
    ("X-Amz-Security-Token: @@", fake(40) + "/" + fake(40) + "=="),
    ("X-Hub-Signature-256: sha256=@@", hexed(64)),
    ("Cookie: sessionid=@@; theme=dark", lower(32)),
    ("'sessionid=@@; theme=dark'", hexed(32)),
    ("session_id = '@@'", hexed(16)),
    ("{'sessionId': '@@', 'user': 'me'}", fake(24)),
    ("Cookie: theme=dark; _gitlab_session=@@", hexed(32)),
    ("Set-Cookie: session=@@; Path=/; HttpOnly", "eyJ" + fake(20) + ".Zx1" + fake(3) + "." + fake(27)),
    ("Set-Cookie: connect.sid=@@; Path=/", "s%3A" + fake(32) + "." + fake(43)),
    ("Cookie: JSESSIONID=@@", hexed(32).upper()),
    ("Cookie: PHPSESSID=@@", lower(26)),
    ("Set-Cookie: remember_me=@@; Path=/", "1|" + hexed(128)),
    # lines of files with hashes
    ("root:@@:19000:0:99999:7:::", "$6$" + fake(8) + "$" + fake(86)),
    ("me:@@", "$apr1$" + fake(8) + "$" + fake(22)),
    ("enable secret 5 @@", "$1$" + fake(4) + "$" + fake(22)),
    ("<Cookie csrftoken=@@ for localhost/>", fake(32)),
    # keys of several lines
    (_pem("RSA " + _KEY), f"\n{LINES}\n"),
    (_pem(_KEY), "\\n" + fake(64) + "\\n" + fake(20) + "\\n"),
    (_pem("OPENSSH " + _KEY), f"\n{LINES}\n"),
    (_pem("EC " + _KEY), f"\n{LINES}\n"),
    (_pem("ENCRYPTED " + _KEY), f"\n{LINES}\n"),
    (_pem("PGP " + _KEY + " BLOCK"), f"\nVersion: GnuPG v2\n\n{LINES}\n=aB3d\n"),
    (f"---- BEGIN SSH2 ENCRYPTED {_KEY} ----@@---- END SSH2 ENCRYPTED {_KEY} ----", f"\n{LINES}\n"),
    (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 1\nAAAA\n"
        "Private-Lines: 2@@\nPrivate-MAC: x",
        f"\n{fake(64)}\n{fake(20)}",
    ),
    (f"-----BEGIN {_KEY}-----@@...", "\n" + fake(64)),
    (f"key = '-----BEGIN {_KEY}-----@@", f"\\n'\n   '{fake(64)}\\n'\n   '{fake(64)}\\n'"),
    ("$ANSIBLE_VAULT;1.1;AES256@@", "\n" + digits(80) + "\n" + digits(80)),
]

# Hashes of passwords, keys of applications, and what administrators' tools take.
BCRYPT = "$2b$12$" + fake(53)
ARGON2 = "$argon2id$v=19$m=65536,t=3,p=4$" + fake(22) + "$" + fake(43)
NAMED += [
    ("got @@", BCRYPT),
    ("assert user.hash == '@@'", BCRYPT),
    ("password_hash='@@'", BCRYPT),
    ("password_hash = '@@'", ARGON2),
    ("{'hash': '@@'}", "$scrypt$ln=16,r=8,p=1$" + fake(22) + "$" + fake(43)),
    ("encoded='pbkdf2_sha256$@@'", "600000$" + fake(22) + "$" + fake(43) + "="),
    ("encoded='argon2@@'", ARGON2),
    ("encoded='bcrypt_sha256$@@'", BCRYPT),
    ("pw_hash='scrypt:32768:8:1$@@'", fake(16) + "$" + hexed(128)),
    ("pw_hash='pbkdf2:sha256:600000$@@'", fake(16) + "$" + hexed(64)),
    ("userPassword: {SSHA}@@", fake(38) + "=="),
    ("rolpassword SCRAM-SHA-256$4096:@@", fake(22) + "==$" + fake(43) + "=:" + fake(43) + "="),
    ("authentication_string: *@@", hexed(40).upper()),
    ("('me', 'md5@@')", hexed(32)),
    ("Administrator:500:aad3b435b51404eeaad3b435b51404ee:@@:::", hexed(32)),
    ("wpa_passphrase=@@", "correct horse"[:7] + "-horse"),
    ("APP_KEY=base64:@@", fake(43) + "="),
    ("'key' => 'base64:@@'", fake(43) + "="),
    ("define('AUTH_KEY', '@@');", "k#9!v @x|" + fake(60)),
    ("define('NONCE_SALT',       '@@');", "k#9!v @x|" + fake(60)),
    ("got @@", "$P$B" + fake(30)),
    ("encoded='md5$@@'", fake(12) + "$" + hexed(32)),
    ("got {pbkdf2}@@", fake(96)),
]
NAMED += [tuple(line.split(" ⇐ ")) for line in lines_of("credentials.txt")]
TOKENS |= {f"doppler {kind}": "dp" + f".{kind}." + fake(43) for kind in ("st", "ct", "sa", "scim", "audit")}
TOKENS["doppler config"] = "dp" + ".st.dev_personal." + fake(43)

# What nothing tells from other text. The reasons are in docs/secrets.md.
UNDETECTABLE = [
    ("assert 'hunter2' == 'x'", "hunter2", "no name is near"),
    ("login('me', 'hunter2')", "hunter2", "the name is in the function's definition"),
    ("db:5432:*:me:hunter2", "hunter2", "fields by position, as in .pgpass"),
    ("password=swordfish", "swordfish", "a bare word after a name in lower case is a variable more often"),
    ("password: swordfish", "swordfish", "a bare word after a colon is prose or a type more often"),
    (f"got {hexed(32)}", hexed(32), "hex of 32 or 40 digits is a digest more often"),
    (f"got {BASE64}", BASE64, "base64 is data more often"),
    ("got fa4e0bad-1c0d-4e2f-8a4e-0bad1c0de2fa", "fa4e0bad", "a UUID is an id more often"),
    ("the PIN is 4711", "4711", "a short number"),
    ("password = 'hun' + 'ter2'", "ter2", "only the first part has a name"),
    ("got JBSWY3DPEHPK3PXP", "JBSWY3DPEHPK3PXP", "base32 without a name"),
    ("| user | password |\n| me | hunter2 |", "hunter2", "a column of a table"),
    ("user,password\nme,hunter2", "hunter2", "a column of a file"),
    ("echo hunter2 | sudo -S ls", "hunter2", "standard input"),
    ("otp='839201', pin_code='83920174'", "839201", "a number"),
    (f"salt='{hexed(32)}'", hexed(32), "a salt is not a secret"),
    ("password='secret'", "'secret'", "a word that tests use for any password"),
]

_SHA = "0123456789abcdef0123456789abcdef01234567"
HARMLESS = [
    *lines_of("harmless.txt"),
    "Password: ",
    "Enter password for user 'me': ",
    f"-----BEGIN {_KEY}-----\nsee docs...",
    f"commit {_SHA}",
    f"key={_SHA}",
]
