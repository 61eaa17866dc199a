r"""Credentials out of text, before anything is stored or shown.

A credential is found by its shape (tokens of vendors, keys of several lines), by its syntax (headers, URLs, options of
commands), or by the name it is assigned to. A name such as ``password`` is enough for most quoted values; ``token`` and
``key`` need a value that looks random, as parsers have tokens and dicts have keys. ``docs/secrets.md`` has the limits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, MutableMapping
from functools import cache
from typing import NamedTuple

#: What stands for a credential: equal numbers are equal credentials, in the order in which they first appear.
MARK = re.compile(r"<redacted ([1-9][0-9]{0,8})>")

# A refused match this long is passed over whole, so that nested refusals cannot add up to quadratic time.
_LONG = 256
# So many different values are also looked for elsewhere in the text.
_REPEATED = 20
_ROUNDS = 4


class Rule(NamedTuple):
    """One way a credential is written.

    :ivar guards: separated by spaces; a text that holds none of them is not searched at all.
    :ivar pattern: with a group ``secret``, the part to hide. Compiled when it is first needed.
    :ivar accept: has the last word on a match, and may say that only a part is to be hidden, by its end.
    :ivar folds: whether the guards are looked for in the text in lower case.
    """

    name: str
    guards: str
    pattern: str
    accept: Callable[[re.Match[str]], bool | int] = lambda match: True
    folds: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _is_random(value: str) -> bool:
    """Letters of both cases and digits, or many digits and letters in a row: no word, no name of a CSS class."""
    mixed = bool(re.search("[0-9]", value) and re.search("[A-Z]", value) and re.search("[a-z]", value))
    return mixed or bool(re.search("[A-Za-z0-9]{20}", value) and re.search("[0-9]", value))


def _random(match: re.Match[str]) -> bool:
    return _is_random(match["secret"])


def _has_digit(match: re.Match[str]) -> bool:
    return re.search("[0-9]", match["secret"]) is not None


def _is_key(match: re.Match[str]) -> bool:
    return match["secret"].strip("\\nr \n") != ""


# --- shapes

_WORD, _WORDS, _HEX = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[a-f0-9]"


# A token does not start within a word; a repr or a URL may have "\\n" or "%20" in front.
_EDGE = r"(?:(?<![A-Za-z0-9]{0})|(?<=\\[nrt]{0})|(?<=%[0-9A-Fa-f][0-9A-Fa-f]{0}))"


def _token(
    name: str, prefixes: str, body: str, accept: Callable[[re.Match[str]], bool] = lambda match: True
) -> Rule:
    """A token that begins with one of the prefixes.

    The left edge is written after the prefix, as "re" searches fast only for a pattern that starts with its literal.
    """
    starts = [re.escape(prefix) for prefix in prefixes.split()]
    start = "|".join(start + _EDGE.replace("{0}", start) for start in starts)
    return Rule(name, prefixes, f"(?P<secret>(?:{start}){body})", accept)


def _shape(
    name: str, guards: str, pattern: str, accept: Callable[[re.Match[str]], bool] = lambda match: True
) -> Rule:
    """A token that is known by what stands in its middle."""
    return Rule(name, guards, f"{_EDGE.replace('{0}', '')}(?P<secret>{pattern})(?![A-Za-z0-9])", accept)


# The prefixes are those of the vendors' documentation and of GitHub's list of supported secret scanning patterns.
_TOKENS: tuple[Rule, ...] = (
    _token("github", "ghp_ gho_ ghu_ ghs_ ghr_", f"{_WORD}{{20,}}+"),
    _token("github_pat", "github_pat_", rf"{_WORD}{{20,}}+(?:_{_WORD}++)?"),
    _token(
        "gitlab",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- gloas- glffct-",
        "[A-Za-z0-9_.-]{20,}+",
    ),
    _token("gitlab_runner", "GR1348941", f"{_WORDS}{{20,}}+"),
    _token("stripe", "sk_live_ rk_live_ pk_live_ sk_test_ rk_test_", f"{_WORD}{{16,}}+"),
    _token("stripe_webhook", "whsec_", r"[A-Za-z0-9+/=]{16,}+"),
    _token("npm", "npm_", f"{_WORD}{{36,}}+"),
    _token("rubygems", "rubygems_", f"{_HEX}{{48}}"),
    _token("pypi", "pypi-AgEI", f"(?:(?!pypi-AgEI){_WORDS})++"),
    _token("aws", "AKIA ASIA AROA AIDA ABIA ACCA", f"[A-Z2-7]{{16}}(?!{_WORD})"),
    _token("hugging_face", "hf_", f"{_WORD}{{30,}}+"),
    _token("sendgrid", "SG.", rf"{_WORDS}{{16,}}+\.{_WORDS}{{16,}}+"),
    _token("google", "AIza", f"{_WORDS}{{35,}}+"),
    _token("google_oauth", "ya29.", r"[A-Za-z0-9._-]{20,}+"),
    _token("google_refresh", "1//0", f"{_WORDS}{{30,}}+", _random),
    _token("google_client", "GOCSPX-", f"{_WORDS}{{20,}}+"),
    _shape("azure_ad", "Q~", "[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,40}"),
    _token("vault", "hvs. hvb. hvr.", f"{_WORDS}{{24,}}+"),
    Rule(
        "vault_old",
        "s.",
        rf"(?P<secret>s\.(?:(?<![\w.)\]]s\.)|(?<=\\ns\.)){_WORD}{{24}})(?![A-Za-z0-9_(])",
        _random,
    ),
    _shape("terraform", ".atlasv1.", rf"{_WORD}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{40,}}+"),
    _token("pulumi", "pul-", f"{_HEX}{{40}}(?!{_WORD})"),
    _token("databricks", "dapi", rf"{_HEX}{{32}}(?:-[0-9])?(?!{_WORD})"),
    _token("docker", "dckr_pat_ dckr_oat_", f"{_WORDS}{{20,}}+"),
    _token("digitalocean", "dop_v1_ doo_v1_ dor_v1_", f"{_HEX}{{64}}"),
    _token("twilio", "SK", f"{_HEX}{{32}}(?!{_WORD})"),
    _token("mailgun", "key-", f"{_HEX}{{32}}(?!{_WORD})"),
    _shape("mailchimp", "-us", f"{_HEX}{{32}}-us[0-9]{{1,2}}"),
    _token("shopify", "shpat_ shpss_ shpca_ shppa_", r"[a-fA-F0-9]{32,}+"),
    _token("linear", "lin_api_", f"{_WORD}{{32,}}+"),
    _token("notion", "secret_", f"{_WORD}{{43}}(?!{_WORD})"),
    _token("notion_new", "ntn_", f"{_WORD}{{40,}}+"),
    _token("figma", "figd_ figo_ figu_", f"{_WORDS}{{30,}}+"),
    _token("grafana", "glsa_", f"{_WORD}{{32}}_[A-Fa-f0-9]{{8}}"),
    _token("grafana_cloud", "glc_", r"[A-Za-z0-9+/=]{32,}+", _random),
    _token("grafana_key", "eyJrIjoi", r"[A-Za-z0-9+/=_-]{40,}+"),
    _token("new_relic", "NRAK- NRII- NRIQ- NRRA- NRSP- NRJS-", f"{_WORDS}{{19,}}+"),
    _token("sentry", "sntrys_ sntryu_", r"[A-Za-z0-9+/=_-]{32,}+"),
    _token("atlassian", "ATATT3 ATCTT3", r"[A-Za-z0-9_=-]{32,}+"),
    _token("bitbucket", "ATBB", f"{_WORD}{{28,}}+(?!{_WORD})"),
    _token("facebook", "EAA", f"{_WORD}{{30,}}+", _random),
    _shape("discord", ".", rf"[MNO]{_WORDS}{{23,27}}\.{_WORDS}{{6,7}}\.{_WORDS}{{27,40}}", _random),
    _shape("telegram", ":AA", f"[0-9]{{8,10}}:AA{_WORDS}{{33}}"),
    _token("xai", "xai-", f"{_WORD}{{40,}}+"),
    _token("groq", "gsk_", f"{_WORD}{{40,}}+"),
    _token("replicate", "r8_", f"{_WORD}{{37}}(?!{_WORD})"),
    _token("perplexity", "pplx-", f"{_WORD}{{32,}}+"),
    _token("age", "AGE-SECRET-KEY-1", "[A-Za-z0-9]{20,}+"),
    _token("heroku", "HRKU-", f"{_WORDS}{{30,}}+"),
    _token("postman", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    _token("planetscale", "pscale_tkn_ pscale_pw_ pscale_oauth_", "[A-Za-z0-9_=.-]{30,}+"),
    _token("airtable", "pat", rf"{_WORD}{{14}}\.{_HEX}{{64}}"),
    _token("dynatrace", "dt0c01. dt0s01. dt0s02.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _token("easypost", "EZAK EZTK", f"{_WORD}{{54}}"),
    _token("doppler", "dp.", rf"(?:pt|ct|st|sa|scim|audit)\.{_WORDS}{{40,}}+"),
    _token("fly", "fo1_", f"{_WORDS}{{43}}"),
    _token("supabase", "sbp_", f"{_HEX}{{40}}"),
    _token("onepassword", "ops_eyJ", r"[A-Za-z0-9+/=_-]{60,}+"),
    _token("cloudflare", "v1.0-", rf"{_HEX}{{24}}-{_HEX}{{146}}"),
    _token("artifactory", "AKCp", f"{_WORD}{{60,}}+"),
    _token("square", "sq0atp- sq0csp- sq0idp-", f"{_WORDS}{{22,}}+"),
    _token("brevo", "xkeysib- xsmtpsib-", rf"{_HEX}{{64}}-{_WORD}{{16}}"),
    _token(
        "plaid",
        "access-sandbox- access-development- access-production-",
        f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}",
    ),
    _token("slack", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9%-]{10,}+"),
    _token("slack_rotated", "xoxe.", r"xox[bp]-[A-Za-z0-9-]{10,}+"),
    _token("sk", "sk-", f"{_WORDS}{{20,}}+", _random),
    # RFC 7519 and 7516: the header is a JSON object, so base64url of '{"'. A signed token has three parts, an encrypted
    # one five, the second of which may be empty; an unsigned one ends in its dot.
    Rule(
        "jwt",
        "eyJ",
        rf"(?P<secret>eyJ(?:(?<!{_WORDS}eyJ)|(?<=\\[nrt]eyJ)){_WORDS}{{6,}}+\.(?:eyJ{_WORDS}{{2,}}+\.{_WORDS}*+"
        rf"|{_WORDS}*+\.{_WORDS}{{12,}}+(?:\.{_WORDS}{{8,}}+){{0,2}}))",
    ),
)
_BEGIN = r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_BASE64_LINES = r"(?:\n[ \tE>+|]*+[A-Za-z0-9+/=]{16,}+(?=\s|$))*+"
_KEYS: tuple[Rule, ...] = (
    # Without its END line a key goes as far as there are lines of base64, or to the end of a quoted run.
    Rule(
        "private_key",
        "private",
        rf"{_BEGIN}(?P<secret>(?:[^-]|-(?!----))*+(?=-----END )|[^\s-]*+{_BASE64_LINES})",
        _is_key,
        folds=True,
    ),
    # The start was cut off, perhaps within a line: the lines of base64 before END. Without END it matches too, to be
    # refused at once.
    Rule(
        "private_key_tail",
        "private",
        r"(?m)^(?P<secret>(?:\A[A-Za-z0-9+/=]++\n)?(?:[ \tE>+|]*+[A-Za-z0-9+/=]{16,}+\n)*+"
        rf"(?:[ \tE>+|]*+[A-Za-z0-9+/=]++\n)?)(?P<end>[ \tE>+|]*+{_END})?",
        lambda match: bool(match["secret"] and match["end"]),
        folds=True,
    ),
    Rule(
        "ssh2_key",
        "SSH2",
        r"---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----(?P<secret>(?:[^-]|-(?!--- ))*+)",
        _is_key,
    ),
    Rule("putty_key", "Private-Lines", rf"Private-Lines: [0-9]{{1,4}}(?P<secret>{_BASE64_LINES})", _is_key),
    Rule(
        "ansible_vault",
        "$ANSIBLE_VAULT",
        r"\$ANSIBLE_VAULT;[0-9.]{1,5};AES256?[^\n]{0,80}(?P<secret>(?:\n[ \t]*+[0-9a-f]{8,}+(?=\s|$))++)",
    ),
)

# --- syntaxes

_NOT_CREDENTIALS = _words(
    """
    realm token auth authentication required credentials scheme header or and is not only
    """
)


def _authorization(match: re.Match[str]) -> bool:
    value, scheme = match["secret"], (match["scheme"] or "").strip().lower()
    if value.lower() in _NOT_CREDENTIALS or scheme == "digest" or value.startswith("AWS4-"):
        return False
    if scheme in ("bearer", "basic", "token", "negotiate", "apikey", "api-key", "splunk", "ntlm", "jwt"):
        return True
    return len(value) >= 8 and _has_digit(match)


def _url_password(match: re.Match[str]) -> bool | int:
    # Not a placeholder, not "host:8080/@x" or "host:8080?mail=a@b", and no more than the password where another "@" is
    # part of a query.
    value = match["secret"]
    if re.match(r"\*+$|\[redacted\]$|[{$<%]|[0-9]+[/?#]|x-(?:oauth-basic|token-auth)$", value):
        return False
    for at in re.finditer("@", value[:_LONG]):
        if "?" in value[at.end() :]:
            return match.start("secret") + at.start()
    return True


def _url_user(match: re.Match[str]) -> bool:
    return _is_random(match["secret"]) and not match["secret"].startswith(("%", "$"))


_REST = r"[^\s'\"`]"
_COMMANDS = (
    (
        "curl",
        r"curl\b[^\n]{0,400}?[ '\"](?:-u|--user|--proxy-user|-U)(?:['\"]?[ =,]{1,2})?['\"]?"
        r"[^\s:'\"=-][^\s:'\"]{0,80}:@@",
    ),
    ("mysql mariadb", r"(?:mysql|mariadb)[\w-]*[ \t][^\n]{0,200}?[ \t]-p@@"),
    ("sshpass login", r"(?:sshpass|login)\b[^\n]{0,200}?[ \t]-p[ \t]{0,2}@@"),
    ("redis-cli", r"redis-cli\b[^\n]{0,200}?[ \t]-a[ \t]{1,2}@@"),
    ("ldap", r"ldap[a-z]{3,10}[ \t][^\n]{0,200}?[ \t]-w[ \t]{1,2}@@"),
    ("htpasswd", r"htpasswd[ \t]+-\w*b\w*[ \t]+[^\s]{1,200}[ \t]+\S{1,80}[ \t]+@@"),
    ("zip", r"(?:un)?zip[ \t][^\n]{0,100}?-P[ \t]{0,2}@@"),
    ("7z", r"7za?[ \t][^\n]{0,100}?[ \t]-p@@"),
    ("pass:", r"\bpass(?:in|out)?['\"]?[ \t,=]{1,3}['\"]?pass:@@"),
    ("smb", r"smb\w{2,10}[ \t][^\n]{0,200}?-U[ \t]{0,2}['\"]?[^\s%'\"]{1,80}%@@"),
)


def _command(match: re.Match[str]) -> bool:
    value = match["secret"]
    return (
        not _is_placeholder(value)
        and not value.isdigit()
        and not value.startswith("-")
        and not _is_test_value(value)
    )


_SYNTAXES: tuple[Rule, ...] = (
    Rule(
        "url_password",
        "://",
        r"://[^\s/?#@:'\"<>]*+:(?P<secret>(?:[^\s/'\"<>]|/(?!/)|//(?=[^\s/'\"<>:]*@))+)@",
        _url_password,
    ),
    Rule("url_user", "://", r"://(?P<secret>[^\s/?#@:'\"<>]{16,}+)(?=(?::[\w-]{0,40})?@)", _url_user),
    Rule("oracle", "thin:", r"thin:[\w.]{1,60}/(?P<secret>[^\s@'\"/]+)@"),
    Rule(
        "basic_auth",
        "auth",
        r"(?i:auth)=?\((?:\w{1,20}=)?['\"][^'\"\n]{0,80}['\"], ?(?:\w{1,20}=)?['\"](?P<secret>[^'\"\n]+)['\"]\)",
        lambda match: not _is_test_value(match["secret"]) and not _is_placeholder(match["secret"]),
        folds=True,
    ),
    Rule(
        "authorization",
        "authorization",
        r"(?i:authorization)\\?[\"']?[ \t]{0,3}[:=,][ \t]{0,3}(?:[bBuU](?=[\"']))?\\?[\"']?"
        r"(?P<scheme>[A-Za-z][A-Za-z-]{1,19}[ \t]{1,3}(?=[A-Za-z0-9._~+/=:-]))?"
        r"(?P<secret>[A-Za-z0-9._~+/=:-]+)(?![\w(\[])",
        _authorization,
        folds=True,
    ),
    Rule(
        "digest",
        "digest",
        r"(?i:digest)[ \t][^\n]{0,600}?\bresponse=\\?[\"']?(?P<secret>[0-9a-fA-F]{32,}+)",
        folds=True,
    ),
    Rule(
        "bearer",
        "bearer",
        r"\b[Bb](?:earer|EARER)[ \t]{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,}+)",
        _has_digit,
        folds=True,
    ),
    Rule(
        "slack_webhook",
        "hooks.slack.com",
        rf"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>{_WORD}{{6,}}+/[A-Za-z0-9/]{{20,}}+)",
    ),
    Rule(
        "discord_webhook",
        "/webhooks/",
        rf"/api/(?:v[0-9]{{1,2}}/)?webhooks/[0-9]{{8,22}}/(?P<secret>{_WORDS}{{50,}}+)",
    ),
    Rule("teams_webhook", "webhookb2", r"webhookb2/(?P<secret>[\w@/-]{36,}+)"),
    Rule(
        "signature_header",
        "x-hub-signature",
        rf"(?i:x-hub-signature(?:-256)?)[\"']?: ?[\"']?sha(?:1|256)=(?P<secret>{_HEX}{{40,}}+)",
        folds=True,
    ),
    Rule(
        "sql",
        "identified",
        r"(?i:identified[ \t]+by)[ \t]+(?P<quote>['\"])(?P<secret>[^'\"\n]+)(?P=quote)",
        folds=True,
    ),
    Rule(
        "powershell",
        "securestring",
        r"(?i:securestring)[ \t]+(?P<quote>['\"])(?P<secret>[^'\"\n$]+)(?P=quote)",
        folds=True,
    ),
    *(
        Rule(f"command {guards}", guards, pattern.replace("@@", f"(?P<secret>{_REST}+)"), _command)
        for guards, pattern in _COMMANDS
    ),
)

# --- names

# Lower case: one of these occurs wherever a name below matches.
_NAME_GUARDS = (
    "pass pwd pw secret api key access auth private refresh credential token sess cookie csrf xsrf sid sig"
)
# A name may have anything before it (``DB_PASSWORD``, ``stripeApiKey``), which need not be matched. After it comes only
# what starts a new word. The leading class is for speed, the lookbehinds undo it.
_NAME = re.compile(
    r"[acekmprstxACEKMPRSTX](?i:(?P<strong>(?<=p)(?:ass(?:word|wd|phrase|code)|wd)|(?<=s)ecret|(?<=c)redential"
    r"|(?<=a)(?:pi[_-]?key|ccess[_-]?(?:key|token)|uth[_-]?token|ccount[_-]?key)"
    r"|(?<=p)(?:rivate[_-]?key|re[_-]?shared[_-]?key)|(?<=e)ncryption[_-]?key|(?<=m)aster[_-]?key"
    r"|(?<=r)efresh[_-]?token"
    r"|(?<=s)(?:hared[_-]?(?:access[_-]?)?key|ession[_-]?token|igning[_-]?key|ubscription[_-]?key|ecurity[_-]?token))"
    r"|(?P<short>(?<=p)(?:ass|w))"
    r"|(?P<weak>(?<=t)oken|(?<=k)ey|(?<=a)uth|(?<=s)(?:ess(?:ion)?|id|ig(?:nature)?)|(?<=c)(?:ookie|srf)|(?<=x)srf))"
    r"(?P<tail>(?:s|[kK]ey)?[0-9]{0,4}(?:[_-][\w-]{0,40}|[A-Z]\w{0,40}|ID|id)?+)(?!\w)"
)
# What may stand between a name and its value. A type annotation may be between; a comparison shows the value, too.
_SIGN = (
    r"(?P<close>\\{0,3}[\"']|&quot;)?\]?[ \t]{0,3}"
    r"(?P<sign>=>|:=|[=!]==?|=|%3[dD]|:[ \t]{0,3}[A-Za-z][\w.\[\], |]{0,40}=(?!=)|:(?!:)"
    r"|,(?=[ \t]{0,3}[bBuU]?\\{0,3}[\"'])|(?=[ \t(][\"'(]))(?P<gap>[ \t]{0,3})"
)
_QUOTED = re.compile(
    _SIGN
    + r"(?P<paren>\([ \t]{0,3}\n?[ \t]{0,40})?(?:Secret(?:Str|Bytes)?\()?[bBuUrRfF]{0,2}(?P<quote>\\{0,3}[\"']|&quot;)"
    # A truncated repr has no closing quote; its secret then goes to the end of the line.
    r"(?P<secret>(?:(?!(?P=quote))(?:\\[^\n]|[^\\\n]))*+)"
)
_BARE_VALUE = (
    r"(?:[^\s'\"`,;&(){}\[\]<>|\\]|&(?![\w.-]{1,40}=|amp;|quot;|[lg]t;)|,(?=[^\s,'\"])(?![\w.-]{1,40}[=:]))++"
)
_BARE = re.compile(_SIGN + rf"(?P<secret>{_BARE_VALUE})")
_SHAPED = re.compile(_SIGN + r"(?:[bBuU]?\\{0,3}[\"'])?(?P<secret>[\w.+=~%/-]{16,}+)(?![\\(\[:@])")
_BLOCK = re.compile(r":[ \t]{1,3}[|>][+-]?\n[ \t]{1,40}(?P<secret>[^\s'\"]+)")
_ELEMENT = re.compile(
    r"(?:>|&gt;)\s{0,20}(?:<!\[CDATA\[)?(?P<secret>[^<>\n&\]]++)(?:\]\]>)?\s{0,20}(?:</|&lt;/)"
)
_ATTRIBUTE = re.compile(
    r"(?:\\{0,3}[\"'])?,?\s{1,20}\\{0,3}[\"']?(?:value|content|val)\\{0,3}[\"']?[ \t]{0,3}[=:][ \t]{0,3}"
    r"(?P<quote>\\{0,3}[\"'])?(?P<secret>(?(quote)(?:(?!(?P=quote))[^\n])++|[^\s'\",}]++))"
)
_ARGUMENT = re.compile(r"[ \t\n]{1,20}(?P<secret>[^\s'\"<>|`]++)")
_WHOLE_LINE = re.compile(
    r"(?:=|[ \t]{0,3}[:=][ \t]{1,3})(?P<secret>[^\s'\"`#$*(\[{<|>%][^\s'\"`]*+)(?=[ \t]*(?:\n|$))"
)

# ``password_hash`` and the like are about a secret, and say something in a failing test.
_ABOUT = re.compile(
    r"[_-](?:hash(?:ed|er|ers|es)?|ids?|names?|files?|paths?|dir|fields?|labels?|policy|length|len|min|max|url|uri"
    r"|env|var|types?|counts?|resets?|errors?|messages?|regex|pattern|prefix|manager|backend|validators?|strength"
    r"|version|required|expir\w*|rotation|valid|invalid|changed\w*|hint|help|input|form|at|arn|class|store)$"
    r"|(?:Hash|Id|Name|File|Path|Field|Label|Policy|Length|Url|Type|Count|Reset|Error|Message)$",
    re.IGNORECASE,
)
# What a name may go on with and still be that of a secret; "secret_santa" is not.
_SAME = _words(
    """
    s key keys value values val new old current confirm confirmation again repeat base prod production staging live dev
    test primary secondary b64 base64 plain raw text string str default encrypted db admin user root ro rw data
    """
)
_OTHER_KEYS = re.compile(
    r"(?:primary|foreign|sort|cache|partition|public|pub|s3|object|row|group|natural|unique|hash|range|lookup|dict|registry"
    r"|idempotency|dedup\w*|index|map|job|message|routing|issue|storage|file|host|cursor|page)[_-]?$",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[/~.$%*:\\?-].*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)++|[A-Za-z]:.*|None|True|False|null|true|false|\W+",
    re.DOTALL,
)
_PLACEHOLDER = re.compile(
    r"\*+|\[redacted\]|<[^<>]*>|\{[^{}]*\}|\$\w+|\$\{[^{}]*\}|\$\([^()]*\)|%s|%\(\w+\)s|None|null"
    r"|\.{2,}|…|\W*|(?i:x+)|\[[A-Z_ ]+\]"
)
_PATH = re.compile(r"[/~.]|[A-Za-z]:[\\/]|$")
_WORDS_THEN_NUMBER = re.compile(r"[A-Za-z]++(?:(?:[_.-][A-Za-z]++)++[_.-]?[0-9]*|[0-9]{0,3})")
_DIGEST = re.compile(r"[0-9a-f]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# Words of values that tests use for any credential, and of validation messages.
_TEST_WORDS = _words(
    """
    a an the my your our some any test tests testing tester secret secrets password passwords passwd pass pwd pw key
    keys api token tokens example sample dummy fake foo bar baz qux abc xyz change changed changeme invalid wrong
    bad good correct incorrect right old new valid none null nil true false default placeholder value values string
    str text bytes int bool object required missing blank empty optional unknown expired hidden masked redacted
    removed filtered user username admin root postgres mysql guest demo here insert something anything not is no yes
    ok todo tbd hash private public access auth client id app server service session cookie random mock stub first
    second other another different same plain encrypted weak strong short long too hello world bearer basic
    credential credentials field error failed login name type number identifier me it x y z
    """
)
_SENTENCE = _words(
    """
    is are was were be been must should shall can cannot may might will would not no this that these the a an your
    field required invalid incorrect wrong too at least most than characters does do did don't doesn't has have had
    please enter forgot for of to with in on from by it its must match matches need needs provide missing expected
    got
    """
)


def _is_same(tail: str) -> bool:
    words = re.findall("[A-Z]?[a-z]+|[A-Z]+|[0-9]+", tail)
    return all(
        len(word) == 1 or word.lower() in _SAME or (word.isdigit() and len(word) < 5) for word in words
    )


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.fullmatch(value) is not None


def _is_test_value(value: str) -> bool:
    """Too short for a credential, or nothing but words that tests use for any."""
    if len(value) <= 3:
        return True
    if len(value) > 60 or re.search(r"[0-9][A-Za-z]|[0-9]{4}|[^\w .:/-]", value):
        return False
    words = re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", value).lower())
    return bool(words) and _TEST_WORDS.issuperset(words)


def _is_sentence(value: str) -> bool:
    return " " in value and not _SENTENCE.isdisjoint(re.findall("[a-z']+", value[:_LONG].lower()))


def _is_mixed(value: str) -> bool:
    return (
        re.search("[A-Za-z]", value) is not None
        and re.search(r"[0-9!@#$%^&*?+~]|[A-Za-z]{7}={1,2}$", value) is not None
    )


def _is_shaped(value: str, key: str) -> bool:
    """Letters mixed with digits beyond words and their number; for a mere ``key`` no digest and no UUID."""
    if re.search("[a-z].*[A-Z].*=$", value):  # base64 with its padding
        return True
    if sum(map(str.isdigit, value)) < 2 or not _is_mixed(value) or _WORDS_THEN_NUMBER.fullmatch(value):
        return False
    if "/" in value and not (
        re.search("[A-Z]", value) and re.search("[a-z]", value) and "." not in value and value[0] != "/"
    ):
        return False
    if key != "key":
        return True
    is_digest = len(value) in (32, 40, 64, 128) and _DIGEST.fullmatch(value)
    return re.search("[A-Za-z0-9]{16}", value) is not None and not is_digest


class _Named(NamedTuple):
    """A name in a text, and what is around it."""

    text: str
    start: int
    end: int
    word: str
    kind: str
    tail: str

    @property
    def before(self) -> str:
        return self.text[max(0, self.start - 60) : self.start]

    @property
    def prefix(self) -> str:
        """What of the name stands before the word: ``DB_``, ``--``."""
        before = self.before
        return before[
            len(before.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")) :
        ]


def _names(text: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that are values of secret names."""
    position = 0
    while match := _NAME.search(text, position):
        kind = next(name for name in ("strong", "short", "weak") if match[name] is not None)
        word = text[match.start() : match.start("tail")].lower()
        named = _Named(text, match.start(), match.end(), word, kind, match["tail"])
        position = match.end()
        found = _value_of(named)
        if found is None:
            continue
        start, end, is_secret = found
        if is_secret:
            yield start, end
        # What was refused may hold another name and its value.
        if is_secret or end - start >= _LONG:
            position = max(position, end)


def _value_of(named: _Named) -> tuple[int, int, bool] | None:
    """Where the value of a name is, and whether it is a credential; None where there is no value."""
    if named.kind != "strong" and not _is_whole_word(named):
        return None
    if _ABOUT.search(named.tail):
        return None
    if named.kind == "weak":
        return _shaped_value(named)
    readers = (_quoted_value, _element_value, _other_value, _bare_value)
    refused = None
    for reader in readers:
        found = reader(named)
        if found is not None and found[2]:
            return found
        refused = refused or found
    return refused


def _is_whole_word(named: _Named) -> bool:
    before, first = named.before[-1:], named.text[named.start]
    if named.word in ("token", "session", "cookie", "auth", "signature", "csrf", "xsrf"):
        return True
    return (
        not before.isalpha()
        or (first.isupper() and before.islower())
        or (named.word == "sess" and first.isupper())
    )


def _shaped_value(named: _Named) -> tuple[int, int, bool] | None:
    match = _SHAPED.match(named.text, named.end)
    if match is None:
        found = _element_value(named) or _argument_value(named)
        return found and (*found[:2], found[2] and _is_shaped(named.text[found[0] : found[1]], named.word))
    is_secret = match["sign"] not in ("",) and _is_shaped(match["secret"], named.word)
    if named.word == "key" and _OTHER_KEYS.search(named.prefix):
        is_secret = False
    if match["sign"] == "," and not _is_pair(named):
        is_secret = False
    if named.tail and not _is_same(named.tail) and named.tail.lower() not in ("id", "_id", "s"):
        is_secret = is_secret and _is_random(match["secret"]) and not _UUID.fullmatch(match["secret"])
    return *match.span("secret"), is_secret


def _quoted_value(named: _Named) -> tuple[int, int, bool] | None:
    match = _QUOTED.match(named.text, named.end)
    if match is None:
        return None
    value, sign = match["secret"], match["sign"]
    is_secret = (
        bool(value) and value[0] not in " ),]" and not _is_placeholder(value) and not _is_test_value(value)
    )
    is_secret = is_secret and not _is_sentence(value)
    if sign in ("==", "===", "!=", "!=="):
        is_secret = is_secret and _is_mixed(value)
    elif sign == ",":
        is_secret = is_secret and _is_pair(named) and _is_mixed(value)
    elif sign == "":
        # A call, "password 'x' is wrong", SQL or an option.
        is_option = named.prefix.startswith("-") or named.word.upper() == named.text[named.start : named.end]
        is_secret = is_secret and ((_is_mixed(value) and "/" not in value and " " not in value) or is_option)
    if named.kind == "short" or not _is_same(named.tail):
        is_secret = is_secret and (
            _is_mixed(value) if named.kind == "short" else len(value) >= 12 and _is_random(value)
        )
    if named.word == "pwd" and _PATH.match(value):
        is_secret = False
    return *match.span("secret"), is_secret


def _is_pair(named: _Named) -> bool:
    """``('password', 'x')``, ``setenv("DB_PASSWORD", "x")``, ``["--password", "x"]``: not two of many words."""
    prefix = named.prefix
    before = named.before[: len(named.before) - len(prefix)]
    return prefix.startswith("-") or re.search(r"\((?:\w{1,30}, ?)?[bBuU]?\\{0,3}[\"']$", before) is not None


def _element_value(named: _Named) -> tuple[int, int, bool] | None:
    """``<password>x</password>``, ``<add key="ApiKey" value="x"/>``, ``name: PASSWORD`` over ``value: x``."""
    before = named.before
    match = _ELEMENT.match(named.text, named.end)
    if match is None and re.search(
        r"(?i:name|key|id|type)\\{0,3}[\"']?[ \t]{0,2}[=:][ \t]{0,2}\\{0,3}[\"']?[\w.-]*$", before
    ):
        match = _ATTRIBUTE.match(named.text, named.end)
    elif match is not None and not re.search(r"(?:<|&lt;)[\w:.-]*$", before):
        match = None
    if match is None:
        return None
    value = match["secret"]
    return *match.span("secret"), not (_is_placeholder(value) or _is_test_value(value) or _is_sentence(value))


def _other_value(named: _Named) -> tuple[int, int, bool] | None:
    """A block of YAML, an option with its argument, a line of netrc."""
    match = _BLOCK.match(named.text, named.end)
    if match is not None:
        return *match.span("secret"), not _is_test_value(match["secret"])
    return _argument_value(named)


def _argument_value(named: _Named) -> tuple[int, int, bool] | None:
    match = _ARGUMENT.match(named.text, named.end)
    if match is None:
        return None
    value, before, prefix = match["secret"], named.before, named.prefix
    if (
        _CODE.fullmatch(value)
        or _is_placeholder(value)
        or _is_test_value(value)
        or value[-1] in ",:)"
        or value[0] in "[({="
    ):
        return None
    head = before[: len(before) - len(prefix)]
    if prefix.startswith("-") and (not head or head[-1] in " \t\n'\"[("):
        after = named.text[match.end() : match.end() + 3].strip("'\"")
        is_last = not after.strip() or "\n" in after or after.lstrip().startswith("-")
        is_secret = _is_mixed(value) or (is_last and not value.isupper() and value.lower() not in _SENTENCE)
    elif re.search(r"(?:\bENV|\bsetenv|\bset -\w+|\bSET)[ \t]+$", head):
        is_secret = True
    else:
        is_secret = re.search(r"\blogin\s+\S+\s+$", before) is not None
    return *match.span("secret"), is_secret


def _bare_value(named: _Named) -> tuple[int, int, bool] | None:
    """What looks like a value and not like code: see the tests for where the line is drawn."""
    text, key = named.text, named.text[named.start : named.end]
    match = _BARE.match(text, named.end)
    if match is None:
        return None
    value, sign, gap = match["secret"], match["sign"], match["gap"]
    after, prefix, before = text[match.end() : match.end() + 1], named.prefix, named.before
    end = match.end()
    head = before[: len(before) - len(prefix)]
    line = (
        _WHOLE_LINE.match(text, named.end)
        if re.search(r"(?:^|\n)(?:E? {0,20}|[ \t>+-]*)(?:export )?$", head)
        else None
    )
    if line is not None and (
        (sign == "=" and not gap and key.isupper()) or (gap and _is_mixed(line["secret"]))
    ):
        value, end, after = line["secret"], line.end("secret"), "\n"
    span = match.start("secret"), end
    if head.endswith("://") or value.endswith("aws4_request"):  # a rule of its own is for these
        return *span, False
    if sign in ("", ",", "==", "===", "!=", "!==") or after in ("(", "[") or _CODE.fullmatch(value):
        return *span, False
    if _is_placeholder(value) or _is_test_value(value) or value[0] == "$":
        return *span, False
    if not _is_same(named.tail):
        return *span, len(value) >= 12 and _is_random(value)
    if named.word == "pwd" and _PATH.match(value):
        return *span, False
    is_constant = value.isupper() and value.replace("_", "").isalpha()
    is_mixed = len(value) >= 6 and _is_mixed(value)
    if sign.startswith(":") and sign != ":=" and "=" not in sign:
        if named.kind == "short" and not prefix.rstrip("-") and gap != "":
            return *span, False
        if not gap:  # Go and Ruby: "{Password:x Port:1}"
            return *span, is_mixed and not re.match("[0-9]+$", value)
        # Prose uses a colon too: "secret: expected str, got int".
        is_name = key.isupper() and prefix.endswith(("_", "-")) and not is_constant
        return *span, (is_mixed or is_name) and after in ("", "\n", ",", "}", "'", '"')
    is_plain_equals = sign in ("=", "%3D", "%3d") and not gap
    if is_plain_equals and key.isupper():
        return *span, not is_constant
    is_setting = is_plain_equals and (
        after == ";"
        or after == "&"
        or before.endswith((";", "&", "?"))
        or prefix.startswith("--")
        or sign != "="
        or (
            after == " "
            and re.search(r"\w=\S+ $", before) is not None
            and re.match(r" \w+=", text[end : end + 30]) is not None
        )
    )
    if is_setting or (is_plain_equals and re.search(r"[?&;]$", head)):
        return *span, not is_constant
    if is_plain_equals and prefix.count(".") >= 1 and line is not None:  # a.b.password=x
        return *span, is_mixed
    return *span, is_mixed or (len(value) >= 6 and value.isdigit())


# --- values that pytest shows without their name

_WHERE = re.compile(
    r"where (?P<quote>['\"])(?P<secret>[^'\"\n]{4,200})(?P=quote) = (?P<expression>[^\n]{1,300})"
)


def _shown(text: str) -> Iterator[tuple[int, int]]:
    """Of pytest's ``where 'x' = user.password`` the value, which stands above without a name."""
    if "where " not in text:
        return
    for match in _WHERE.finditer(text):
        name = re.search(r"(\w+)(?:['\"]\])?$", match["expression"].rstrip())
        found = _NAME.search(name[1]) if name else None
        is_name = found is not None and found["strong"] is not None and not _ABOUT.search(found["tail"])
        if is_name and not _is_test_value(match["secret"]) and not _is_placeholder(match["secret"]):
            yield match.span("secret")


def _cookies(text: str) -> Iterator[tuple[int, int]]:
    """The values of cookies that look random, whatever their names."""
    for header in re.finditer(r"(?i:cookie)[\"']?[ \t]{0,3}[:=,][ \t]{0,3}(?P<pairs>[^\n]{1,4000})", text):
        for match in re.finditer(r"[\w.-]{1,60}=(?P<secret>[\w.%+/=~:-]{16,}+)", header["pairs"]):
            if _is_shaped(match["secret"], "cookie"):
                start = header.start("pairs")
                yield start + match.start("secret"), start + match.end("secret")


# --- the whole

RULES: tuple[Rule, ...] = (*_KEYS, *_SYNTAXES, *_TOKENS)
_compiled = cache(re.compile)
_NAMES = tuple(_NAME_GUARDS.split())


def redact(text: str, numbers: MutableMapping[str, int] | None = None) -> str:
    """Replace each credential by ``<redacted 1>``; the name it has stays.

    :param text: sanitized text; an escape sequence in the middle hides a credential.
    :param numbers: the numbers of credentials of texts that are shown or compared together; those of this text are
        added. Without it each text counts for itself: equal credentials have equal numbers within it, others have others.
    :returns: the text, longer or shorter. Applied twice it changes nothing more.
    """
    hidden: dict[int, str] = {}
    first = _next_number(text, numbers)
    for _ in range(_ROUNDS):
        spans = _without_marks(text, _merged(_spans(text)))
        if not spans:
            break
        text = _hide(text, spans, hidden, first)
    return _numbered(text, hidden, {} if numbers is None else numbers, first) if hidden else text


def unnumbered(text: str) -> str:
    """The text with ``<redacted>`` for each credential, to compare whether two differ in anything else."""
    return MARK.sub("<redacted>", text)


def _next_number(text: str, numbers: MutableMapping[str, int] | None) -> int:
    taken = [int(number) for number in MARK.findall(text)] if "<redacted " in text else []
    return max((*taken, *(numbers or {}).values()), default=0) + 1


def _spans(text: str) -> Iterator[tuple[int, int]]:
    folded = text.lower()
    for rule in RULES:
        if any(map((folded if rule.folds else text).__contains__, _guards(rule.guards))):
            yield from _matches(rule, text)
    if any(map(folded.__contains__, _NAMES)):
        yield from _names(text)
        yield from _shown(text)
        if "cookie" in folded:
            yield from _cookies(text)


@cache
def _guards(guards: str) -> tuple[str, ...]:
    return tuple(guards.split())


def _matches(rule: Rule, text: str) -> Iterator[tuple[int, int]]:
    regex, position = _compiled(rule.pattern), 0
    # A position past the end would be taken for the end, and found again for ever.
    while position < len(text) and (match := regex.search(text, position)):
        start, end = match.span("secret")
        accepted = rule.accept(match)
        if accepted:
            end = end if accepted is True else accepted
            yield start, end
            position = max(end, match.start() + 1)
        else:
            # What was refused may hold another name and its value.
            position = max(start if end - start < _LONG else end, match.start() + 1)


def _merged(spans: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif end > start:
            merged.append((start, end))
    return merged


def _without_marks(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans that hold no part of a mark: what was hidden before is not hidden again."""
    if "<redacted " not in text:
        return spans
    marks = [match.span() for match in MARK.finditer(text)]
    kept, at = [], 0
    for start, end in spans:
        while at < len(marks) and marks[at][1] <= start:
            at += 1
        if at == len(marks) or end <= marks[at][0]:
            kept.append((start, end))
    return kept


def _hide(text: str, spans: list[tuple[int, int]], hidden: dict[int, str], first: int) -> str:
    """The text with a mark of its own for each credential; ``hidden`` says what each mark stands for."""
    parts: list[str] = []
    done = 0
    for start, end in spans:
        number = first + len(hidden)
        hidden[number] = text[start:end]
        parts += (text[done:start], f"<redacted {number}>")
        done = end
    text = "".join((*parts, text[done:]))
    # The same value may stand elsewhere without its name.
    values = [value for value in dict.fromkeys(hidden.values()) if len(value) >= 6 and _is_mixed(value)]
    for value in values[:_REPEATED]:
        if value in text:
            number = first + len(hidden)
            changed = re.sub(rf"(?<![\w<]){re.escape(value)}(?!\w)", f"<redacted {number}>", text)
            if changed != text:
                hidden[number], text = value, changed
    return text


def _numbered(text: str, hidden: dict[int, str], numbers: MutableMapping[str, int], first: int) -> str:
    """The text with marks numbered in the order in which their credentials first appear."""
    following = first

    def number_of(match: re.Match[str]) -> str:
        nonlocal following
        value = hidden.get(int(match[1]))
        if value is None:
            return match[0]
        if value not in numbers:
            numbers[value] = following
            following += 1
        return f"<redacted {numbers[value]}>"

    return MARK.sub(number_of, text)
