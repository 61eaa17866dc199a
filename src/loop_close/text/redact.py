r"""Credentials out of text, before anything is stored or shown.

A credential is found by its shape (tokens of vendors, keys of several lines), by its syntax (headers, URLs, options of
commands), or by the name it is assigned to. A name such as ``password`` is enough for most quoted values; ``token`` and
``key`` need a value that looks random, as parsers have tokens and dicts have keys. ``docs/secrets.md`` has the limits.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from functools import cache
from typing import NamedTuple

#: What stands for a credential: equal numbers are equal credentials, in the order in which they first appear.
MARK = re.compile(r"<redacted ([1-9][0-9]{0,8})>")

# A refused match this long is passed over whole, so that nested refusals cannot add up to quadratic time.
_LONG = 256
# So many different values are also looked for elsewhere in the text.
_REPEATED = 20
_ROUNDS = 4
# No token is shorter.
_SHORTEST = 15


def _always(match: re.Match[str]) -> bool:
    return True


_compiled = cache(re.compile)


class Rule(NamedTuple):
    """One way a credential is written.

    :ivar guards: a text that holds none of them is not searched. Those of tokens are exact, others in lower case.
    :ivar pattern: with a group ``secret``, the part to hide. Compiled when it is first needed.
    :ivar accept: has the last word on a match, and may say that only a part is to be hidden, by its end.
    """

    guards: tuple[str, ...]
    pattern: str
    accept: Callable[[re.Match[str]], bool | int] = _always


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


# Prefixes of tokens and what follows, from the vendors' documentation and GitHub's list of supported secret scanning
# patterns. After "~" the token must look random.
_PREFIXES = r"""
ghp_ gho_ ghu_ ghs_ ghr_  [A-Za-z0-9]{20,}+
github_pat_  [A-Za-z0-9]{20,}+(?:_[A-Za-z0-9]++)?
glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- gloas- glffct-  [A-Za-z0-9_.-]{20,}+
GR1348941  [A-Za-z0-9_-]{20,}+
sk_live_ rk_live_ pk_live_ sk_test_ rk_test_  [A-Za-z0-9]{16,}+
whsec_  [A-Za-z0-9+/=]{16,}+
npm_  [A-Za-z0-9]{36,}+
rubygems_  [a-f0-9]{48}
pypi-AgEI  (?:(?!pypi-AgEI)[A-Za-z0-9_-])++
AKIA ASIA AROA AIDA ABIA ACCA  [A-Z2-7]{16}(?![A-Za-z0-9])
hf_  [A-Za-z0-9]{30,}+
SG.  [A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+
AIza  [A-Za-z0-9_-]{35,}+
ya29.  [A-Za-z0-9._-]{20,}+
~ 1//0  [A-Za-z0-9_-]{30,}+
GOCSPX-  [A-Za-z0-9_-]{20,}+
hvs. hvb. hvr.  [A-Za-z0-9_-]{24,}+
pul-  [a-f0-9]{40}(?![A-Za-z0-9])
dapi  [a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])
dckr_pat_ dckr_oat_  [A-Za-z0-9_-]{20,}+
dop_v1_ doo_v1_ dor_v1_  [a-f0-9]{64}
SK  [a-f0-9]{32}(?![A-Za-z0-9])
key-  [a-f0-9]{32}(?![A-Za-z0-9])
shpat_ shpss_ shpca_ shppa_  [a-fA-F0-9]{32,}+
lin_api_  [A-Za-z0-9]{32,}+
secret_  [A-Za-z0-9]{43}(?![A-Za-z0-9])
ntn_  [A-Za-z0-9]{40,}+
figd_ figo_ figu_  [A-Za-z0-9_-]{30,}+
glsa_  [A-Za-z0-9]{32}_[A-Fa-f0-9]{8}
~ glc_  [A-Za-z0-9+/=]{32,}+
eyJrIjoi  [A-Za-z0-9+/=_-]{40,}+
NRAK- NRII- NRIQ- NRRA- NRSP- NRJS-  [A-Za-z0-9_-]{19,}+
sntrys_ sntryu_  [A-Za-z0-9+/=_-]{32,}+
ATATT3 ATCTT3  [A-Za-z0-9_=-]{32,}+
ATBB  [A-Za-z0-9]{28,}+(?![A-Za-z0-9])
~ EAA  [A-Za-z0-9]{30,}+
xai-  [A-Za-z0-9]{40,}+
gsk_  [A-Za-z0-9]{40,}+
r8_  [A-Za-z0-9]{37}(?![A-Za-z0-9])
pplx-  [A-Za-z0-9]{32,}+
AGE-SECRET-KEY-1  [A-Za-z0-9]{20,}+
HRKU-  [A-Za-z0-9_-]{30,}+
PMAK-  [a-f0-9]{24}-[a-f0-9]{34}
pscale_tkn_ pscale_pw_ pscale_oauth_  [A-Za-z0-9_=.-]{30,}+
pat  [A-Za-z0-9]{14}\.[a-f0-9]{64}
dt0c01. dt0s01. dt0s02.  [A-Z0-9]{24}\.[A-Z0-9]{64}
EZAK EZTK  [A-Za-z0-9]{54}
dp.  (?:pt|ct|st|sa|scim|audit)\.[A-Za-z0-9_-]{40,}+
fo1_  [A-Za-z0-9_-]{43}
sbp_  [a-f0-9]{40}
ops_eyJ  [A-Za-z0-9+/=_-]{60,}+
v1.0-  [a-f0-9]{24}-[a-f0-9]{146}
AKCp  [A-Za-z0-9]{60,}+
sq0atp- sq0csp- sq0idp-  [A-Za-z0-9_-]{22,}+
xkeysib- xsmtpsib-  [a-f0-9]{64}-[A-Za-z0-9]{16}
access-sandbox- access-development- access-production-  [a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}
xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-  [A-Za-z0-9%-]{10,}+
xoxe.  xox[bp]-[A-Za-z0-9-]{10,}+
nvapi-  [A-Za-z0-9_-]{40,}+
tvly-  [A-Za-z0-9_-]{24,}+
pcsk_  [A-Za-z0-9_]{40,}+
csk-  [a-z0-9]{40,}+
lsv2_pt_ lsv2_sk_  [a-f0-9]{32}_[a-f0-9]{10}
phx_ phc_  [A-Za-z0-9]{40,}+
squ_ sqp_ sqa_  [a-f0-9]{40}
CCIPAT_ CCIPRJ_  [A-Za-z0-9_]{30,}+
bkua_ bkct_  [a-z0-9]{40}
tskey-  [a-z]{3,10}-[A-Za-z0-9]{10,}+-[A-Za-z0-9]{20,}+
nfp_  [A-Za-z0-9]{36,}+
rnd_  [A-Za-z0-9]{28,}+
napi_  [a-z0-9]{50,}+
sgp_  [a-f0-9_]{40,}+
dnkey-  [A-Za-z0-9_=-]{26}-[A-Za-z0-9_=-]{52}
LTAI  [A-Za-z0-9]{20}
sm_pat_ sm_aat_ sm_sat_  [A-Za-z0-9]{16}
tfp_  [A-Za-z0-9_-]{44}_[A-Za-z0-9_-]{14}
pnu_ pnb_  [A-Za-z0-9]{36}
sk.eyJ pk.eyJ  [A-Za-z0-9_-]{20,}+\.[A-Za-z0-9_-]{20,}+
sha256~  [A-Za-z0-9_-]{43}
rpa_  [A-Z0-9a-z]{40,}+
lin_oauth_  [A-Za-z0-9]{32,}+
sk_  [a-f0-9]{48}
CLOJARS_  [a-f0-9]{60}
eyJhdXRocyI6  [A-Za-z0-9+/=]{20,}+
FLWSECK-  [A-Za-z0-9]{32}-X
shippo_live_ shippo_test_  [a-f0-9]{40}
~ sk-  [A-Za-z0-9_-]{20,}+
"""
# Tokens known by a part in their middle: that part, and the whole.
_MIDDLES = r"""
Q~  [A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,40}
.atlasv1.  [A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}+
-us  [a-f0-9]{32}-us[0-9]{1,2}
AZDO  [A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}
JQQJ99  [A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{10,}+
:APA91b  [A-Za-z0-9_-]{11}:APA91b[A-Za-z0-9_-]{100,}+
~ .  [MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,40}
:AA  [0-9]{8,10}:AA[A-Za-z0-9_-]{33}
"""


def _prefixed(row: str) -> Rule:
    # The edge is written after the prefix, as "re" searches fast only for a pattern that starts with its literal.
    prefixes, _, body = row.removeprefix("~ ").partition("  ")
    starts = (re.escape(prefix) for prefix in prefixes.split())
    start = "|".join(start + _EDGE.replace("{0}", start) for start in starts)
    return Rule(
        tuple(prefixes.split()), f"(?P<secret>(?:{start}){body})", _random if row[0] == "~" else _always
    )


def _with_middle(row: str) -> Rule:
    guard, _, pattern = row.removeprefix("~ ").partition("  ")
    edge = _EDGE.replace("{0}", "")
    pattern = f"{edge}(?P<secret>{pattern})(?![A-Za-z0-9])"
    return Rule((guard,), pattern, _random if row[0] == "~" else _always)


_TOKENS: tuple[Rule, ...] = (
    *map(_prefixed, _PREFIXES.strip().splitlines()),
    *map(_with_middle, _MIDDLES.strip().splitlines()),
    Rule(
        ("s.",),
        rf"(?P<secret>s\.(?:(?<![\w.)\]]s\.)|(?<=\\ns\.)|(?<=%[0-9A-Fa-f][0-9A-Fa-f]s\.)){_WORD}{{24}})(?![A-Za-z0-9_(])",
        _random,
    ),
    # RFC 7519 and 7516: the header is a JSON object, so base64url of '{"'. A signed token has three parts, an encrypted
    # one five, the second of which may be empty; an unsigned one ends in its dot.
    Rule(
        ("eyJ",),
        rf"(?P<secret>eyJ(?:(?<!{_WORDS}eyJ)|(?<=\\[nrt]eyJ)|(?<=%[0-9A-Fa-f][0-9A-Fa-f]eyJ)){_WORDS}{{6,}}+\.(?:eyJ{_WORDS}{{2,}}+\.{_WORDS}*+"
        rf"|{_WORDS}*+\.{_WORDS}{{12,}}+(?:\.{_WORDS}{{8,}}+){{0,2}}))",
    ),
)
_BEGIN = r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_BASE64_LINES = r"(?:\n[ \tE>+|]*+[A-Za-z0-9+/=]{16,}+(?=\s|$))*+"
_KEYS: tuple[Rule, ...] = (
    # Without its END line a key goes as far as there are lines of base64, or to the end of a quoted run.
    Rule(
        ("private key",),
        rf"{_BEGIN}(?P<secret>(?:[^-]|-(?!----))*+(?=-----END )|[^\s-]*+{_BASE64_LINES})",
        _is_key,
    ),
    # The start was cut off, perhaps within a line: the lines of base64 before END. Without END it matches too, to be
    # refused at once.
    Rule(
        ("private key",),
        r"(?m)^(?P<secret>(?:\A[A-Za-z0-9+/=]++\n)?(?:[ \tE>+|]*+[A-Za-z0-9+/=]{16,}+\n)*+"
        rf"(?:[ \tE>+|]*+[A-Za-z0-9+/=]++\n)?)(?P<end>[ \tE>+|]*+{_END})?",
        lambda match: bool(match["secret"] and match["end"]),
    ),
    Rule(
        ("begin ssh2",),
        r"---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----(?P<secret>(?:[^-]|-(?!--- ))*+)",
        _is_key,
    ),
    Rule(("private-lines",), rf"Private-Lines: [0-9]{{1,4}}(?P<secret>{_BASE64_LINES})", _is_key),
    Rule(
        ("$ansible_vault",),
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
    is_call = match.string[match.end() : match.end() + 1] in tuple("_([")
    if is_call or value.lower() in _NOT_CREDENTIALS or scheme == "digest" or value.startswith("AWS4-"):
        return False
    if scheme in ("bearer", "basic", "token", "negotiate", "apikey", "api-key", "splunk", "ntlm", "jwt"):
        return True
    return len(value) >= 8 and _has_digit(match)


def _url_password(match: re.Match[str]) -> bool | int:
    # Not a placeholder, not "host:8080/@x" or "host:8080?mail=a@b". It goes to the last "@" that is not in a query.
    value = match["secret"]
    end = value.find("@")
    while (following := value.find("@", end + 1)) >= 0 and "?" not in value[end:following]:
        end = following
    if end < 1 or match[0].startswith("://[") or _is_test_value(value[:end]):
        return False
    if re.match(r"\*+@|port\b|\[redacted\]@|[{$<%]|[0-9]+[/?#]|x-(?:oauth-basic|token-auth)@", value):
        return False
    return match.start("secret") + end


def _is_basic(match: re.Match[str]) -> bool:
    """Whether it is the base64 of ``user:password``."""
    value = match["secret"]
    try:
        user, colon, password = a2b_base64(value + "=" * (-len(value) % 4)).decode().partition(":")
    except ValueError:
        return False
    return bool(user and colon and password) and (user + password).isprintable()


def _url_user(match: re.Match[str]) -> bool:
    return _is_random(match["secret"]) and not match["secret"].startswith(("%", "$"))


def _command(match: re.Match[str]) -> bool:
    value = match["secret"]
    return (
        not _is_placeholder(value)
        and not value.isdigit()
        and not value.startswith("-")
        and not _is_test_value(value)
    )


# What a command is called, and how it takes a password, for which "@@" stands.
_COMMANDS: tuple[Rule, ...] = tuple(
    Rule(tuple(guards.split()), pattern.replace("@@", r"(?P<secret>[^\s'\"`]+)"), _command)
    for guards, pattern in (
        (
            "curl",
            r"curl\b[^\n]{0,200}?[ '\"](?:-u|--user|--proxy-user|-U)(?:['\"]?[ =,]{1,2})?['\"]?"
            r"[^\s:'\"=-][^\s:'\"]{0,80}:@@",
        ),
        ("mysql mariadb", r"(?:mysql|mariadb)[\w-]*(?=[ \t])[^\n]{0,200}?[ \t]-p@@"),
        ("sshpass login", r"(?:sshpass|login)\b[^\n]{0,200}?[ \t]-p[ \t]{0,2}@@"),
        ("redis-cli", r"redis-cli\b[^\n]{0,200}?[ \t]-a[ \t]{1,2}@@"),
        ("ldap", r"ldap[a-z]{3,10}(?=[ \t])[^\n]{0,200}?[ \t]-w[ \t]{1,2}@@"),
        ("htpasswd", r"htpasswd[ \t]+-\w*b\w*[ \t]+[^\s]{1,200}[ \t]+\S{1,80}[ \t]+@@"),
        ("zip", r"(?:un)?zip[ \t][^\n]{0,100}?-P[ \t]{0,2}@@"),
        ("7z", r"7za?(?=[ \t])[^\n]{0,100}?[ \t]-p@@"),
        ("pass:", r"\bpass(?:in|out)?['\"]?[ \t,=]{1,3}['\"]?pass:@@"),
        ("http", r"https?(?=[ \t])[^\n]{0,100}?[ \t]-a[ \t]{1,2}[^\s:]{1,80}:@@"),
        ("-user", r"--(?:proxy-)?user(?:name)?[ \t=]['\"]?[^\s:'\"]{1,80}:@@"),
        ("smb", r"smb\w{2,10}(?=[ \t])[^\n]{0,200}?-U[ \t]{0,2}['\"]?[^\s%'\"]{1,80}%@@"),
    )
)
_SYNTAXES: tuple[Rule, ...] = (
    *_KEYS,
    Rule(
        ("://",),
        r"://[^\s/?#@:'\"<>]*+:(?P<secret>(?:[^\s/'\"<>]++|/(?!/))++)",
        _url_password,
    ),
    Rule(("://",), r"://(?P<secret>[^\s/?#@:'\"<>]{16,}+)(?=(?::[\w-]{0,40})?@)", _url_user),
    Rule(("@tcp(", "@unix("), r"\b\w{1,60}:(?P<secret>[^\s'\"]{1,200}?)@(?:tcp|unix)\("),
    Rule(("basic ",), r"\b[Bb]asic[ \t]{1,3}(?P<secret>[A-Za-z0-9+/_-]{6,400}+={0,2})", _is_basic),
    Rule(("thin:",), r"thin:[\w.]{1,60}/(?P<secret>[^\s@'\"/]+)@"),
    Rule(
        ("auth",),
        r"(?i:auth)\\?['\"]?(?:=|: ?)?\((?:\w{1,20}=)?['\"][^'\"\n]{0,80}['\"], ?(?:\w{1,20}=)?"
        r"['\"](?P<secret>[^'\"\n]+)['\"]\)",
        lambda match: not _is_test_value(match["secret"]) and not _is_placeholder(match["secret"]),
    ),
    Rule(
        ("authorization",),
        r"(?i:authorization)\\?[\"']?[ \t]{0,3}[:=,][ \t]{0,3}(?:[bBuU](?=[\"']))?\\?[\"']?"
        r"(?P<scheme>[A-Za-z][A-Za-z-]{1,19}[ \t]{1,3}(?=[A-Za-z0-9._~+/=:-]))?"
        r"(?P<secret>[A-Za-z0-9._~+/=:-]++)",
        _authorization,
    ),
    Rule(
        ("digest",),
        r"(?i:digest)[ \t][^\n]{0,300}?\bresponse=\\?[\"']?(?P<secret>[0-9a-fA-F]{32,}+)",
    ),
    Rule(
        ("bearer",),
        r"\b[Bb](?:earer|EARER)(?:[ \t]{1,3}|%20|\+)(?P<secret>[A-Za-z0-9._~+/=-]{16,}+)",
        _has_digit,
    ),
    Rule(
        ("hooks.slack.com",),
        rf"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>{_WORD}{{6,}}+/[A-Za-z0-9/]{{20,}}+)",
    ),
    Rule(
        ("/webhooks/",),
        rf"/api/(?:v[0-9]{{1,2}}/)?webhooks/[0-9]{{8,22}}/(?P<secret>{_WORDS}{{50,}}+)",
    ),
    Rule(("webhookb2",), r"webhookb2/(?P<secret>[\w@/-]{36,}+)"),
    Rule(
        ("x-hub-signature",),
        rf"(?i:x-hub-signature(?:-256)?)[\"']?: ?[\"']?sha(?:1|256)=(?P<secret>{_HEX}{{40,}}+)",
    ),
    Rule(
        ("identified",),
        r"(?i:identified[ \t]+by)[ \t]+(?P<quote>['\"])(?P<secret>[^'\"\n]+)(?P=quote)",
    ),
    Rule(
        ("securestring",),
        r"(?i:securestring)[ \t]+(?P<quote>['\"])(?P<secret>[^'\"\n$]+)(?P=quote)",
    ),
)

# --- names

_NAME_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
# Where one of the names below may begin, in lower case. A search for it is much faster than one for the names.
_CORE = (
    r"p(?:ass|w|riv|re.?s)|s(?:ecret|ess|id|ig|hared|ubscription|ecurity)|a(?:pi.?k|ccess|ccount|uth)|cred|cookie|csrf"
    r"|encr|master|refresh|token|key|xsrf"
)
# A name may have anything before it (``DB_PASSWORD``, ``stripeApiKey``), which need not be matched. After it comes only
# what starts a new word.
_NAME = (
    r"[acekmprstxACEKMPRSTX](?i:(?P<strong>(?<=p)(?:ass(?:word|wd|phrase|code)|wd)|(?<=s)ecret|(?<=c)redential"
    r"|(?<=a)(?:pi[_-]?key|ccess[_-]?(?:key|token)|uth[_-]?token|ccount[_-]?key)"
    r"|(?<=p)(?:rivate[_-]?key|re[_-]?shared[_-]?key)|(?<=e)ncryption[_-]?key|(?<=m)aster[_-]?key"
    r"|(?<=r)efresh[_-]?token"
    r"|(?<=s)(?:hared[_-]?(?:access[_-]?)?key|ession[_-]?token|igning[_-]?key|ubscription[_-]?key|ecurity[_-]?token))"
    r"|(?P<short>(?<=p)(?:ass|w))"
    r"|(?P<weak>(?<=t)oken|(?<=k)ey|(?<=a)uth|(?<=s)(?:ess(?:ion)?|id|ig(?:nature)?)|(?<=c)(?:ookie|srf)|(?<=x)srf))"
    r"(?P<tail>(?:s|[kK]ey)?[0-9]{0,4}(?:[_-][\w-]{0,40}|(?<=[a-z0-9])[A-Z]\w{0,40}|ID|id)?+)(?!\w)"
)
# What may stand between a name and its value. A type annotation may be between; a comparison shows the value, too.
_SIGN = (
    r"(?P<close>\\{0,3}[\"']|&quot;)?\]?[ \t]{0,3}"
    r"(?P<sign>=>|:=|[=!]==?|=|%3[dD]|:[ \t]{0,3}[A-Za-z][\w.\[\], |]{0,40}=(?!=)|:(?!:)"
    r"|,(?=[ \t]{0,3}[bBuU]?\\{0,3}[\"'])|(?=[ \t(][\"'(]))(?P<gap>[ \t]{0,3})"
)
_QUOTED = (
    _SIGN + r"(?P<paren>[(\[][ \t]{0,3}\n?[ \t]{0,40})?(?:(?:Secret(?:Str|Bytes)?|Password\w{0,20})\()?"
    r"[bBuUrRfF]{0,2}(?P<quote>\\{0,3}[\"']|&quot;)"
    # A truncated repr has no closing quote; its secret then goes to the end of the line.
    r"(?P<secret>(?:(?!(?P=quote))(?:\\[^\n]|[^\\\n]))*+)"
)
_BARE_VALUE = (
    r"(?:[^\s'\"`,;&(){}\[\]<>|\\]|&(?![\w.-]{1,40}=|amp;|quot;|[lg]t;)|,(?=[^\s,'\"])(?![\w.-]{1,40}[=:]))++"
)
_BARE = _SIGN + rf"(?:!{{1,2}}\w{{1,20}}[ \t]{{1,3}})?(?P<secret>{_BARE_VALUE})"
_SHAPED = _SIGN + r"(?:[bBuU]?\\{0,3}[\"'])?(?P<secret>[\w.+=~%/-]{8,}+)"
_BLOCK = r":[ \t]{1,3}[|>][+-]?\n[ \t]{1,40}(?P<secret>[^\s'\"]+)"
_SAID = r"[ \t]{1,3}(?:is|was|->|\||for [^\n:]{1,60}:)[ \t]{1,20}(?P<secret>[^\s'\"(\[{<,;|]{6,}+)(?=[ \t]*(?:\n|\||$))"
_ELEMENT = r"[\"']?(?:>|&gt;)\s{0,20}(?:<!\[CDATA\[)?(?P<secret>[^<>\n&\]]++)(?:\]\]>)?\s{0,20}(?:</|&lt;/)"
_ATTRIBUTE = (
    r"(?:\\{0,3}[\"'])?(?:,?\s{1,20}\\{0,3}[\"']?(?:value|content|val)\\{0,3}[\"']?[ \t]{0,3}[=:][ \t]{0,3}|\n\n)"
    r"(?P<quote>\\{0,3}[\"'])?(?P<secret>(?(quote)(?:(?!(?P=quote))[^\n])++|[^\s'\",}]++))"
)
_ARGUMENT = r"[ \t\n]{1,20}(?P<secret>[^\s'\"<>|`]++)"
_WHOLE_LINE = r"(?:=|[ \t]{0,3}[:=][ \t]{1,3})(?P<secret>[^\s'\"`#$*(\[{<|>%][^\s'\"`]*+)(?=[ \t]*(?:\n|$))"

# ``password_hash`` and the like are about a secret, and say something in a failing test.
_ABOUT = (
    r"(?i)[_-](?:hash(?:ed|er|ers|es)?|ids?|names?|files?|paths?|dir|fields?|labels?|policy|length|len|min|max|url|uri"
    r"|env|var|types?|counts?|resets?|errors?|messages?|regex|pattern|prefix|manager|backend|validators?|strength"
    r"|version|required|expir\w*|rotation|valid|invalid|changed\w*|hint|help|input|form|at|arn|class|store)$"
    r"|(?:Hash|Id|Name|File|Path|Field|Label|Policy|Length|Url|Type|Count|Reset|Error|Message)$"
)
# What a name may go on with and still be that of a secret; "secret_santa" is not.
_SAME = _words(
    """
    s key keys value values val new old current confirm confirmation again repeat base prod production staging live dev
    test primary secondary b64 base64 plain raw text string str default encrypted db admin user root ro rw data
    """
)
_OTHER_KEYS = (
    r"(?i)(?:primary|foreign|sort|cache|partition|public|pub|s3|object|row|group|natural|unique|hash|range|lookup|dict|registry"
    r"|websocket|known|react|idempotency|dedup\w*|index|map|job|message|routing|issue|storage|file|host|cursor|page)[_-]?$"
)
_CODE = (
    r"(?s)[/~.$%*:\\?-].*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)++|[A-Za-z]:.*|None|True|False|null|true|false|\W+"
)
_PLACEHOLDER = (
    r"\*+|\[redacted\]|<[^<>]*>|\{[^{}]*\}|\$\w+|\$\{[^{}]*\}|\$\([^()]*\)|%s|%\(\w+\)s|None|null"
    r"|\.{2,}|…|\W*|(?i:x+)|\[[A-Z_ ]+\]"
)
_PATH = r"[/~.]|[A-Za-z]:[\\/]|$"
_WORDS_THEN_NUMBER = r"[A-Za-z]++(?:(?:[_.-][A-Za-z]++)++[_.-]?[0-9]*|[0-9]{0,3})"
_DIGEST = r"[0-9a-f]+"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
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
    rest = re.sub(r"%\(\w+\)s|%[sdr]|\{[^{}]*\}", "", value[:_LONG])  # fields to be filled in
    return _compiled(_PLACEHOLDER).fullmatch(value) is not None or re.fullmatch(r"\W*", rest) is not None


def _is_test_value(value: str) -> bool:
    """Too short for a credential, or nothing but words that tests use for any."""
    if len(value) <= 3 or (len(value) == 4 and value.isdigit()):
        return True
    if len(value) > 60 or re.search(r"[0-9][A-Za-z]|[0-9]{4}|[^\w .:/-]", value):
        return False
    words = re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", value).lower())
    return bool(words) and _TEST_WORDS.issuperset(words)


def _is_sentence(value: str) -> bool:
    return " " in value and not _SENTENCE.isdisjoint(re.findall("[a-z']+", value[:_LONG].lower()))


def _is_mixed(value: str) -> bool:
    if re.search("[A-Za-z]", value) is None:
        return False
    is_padded = re.search("[A-Za-z]{7}={1,2}$", value) is not None and value.lower() != value != value.upper()
    return is_padded or re.search("[0-9!@#$%^&*?+~]", value) is not None


def _is_shaped(value: str, key: str) -> bool:
    """Letters mixed with digits beyond words and their number; for a mere ``key`` no digest and no UUID."""
    if value[-1] == "=" and value[:3] not in ("sha", "md5") and value.lower() != value != value.upper():
        return "." not in value[:-1] and "=" not in value[:-2]  # base64 with its padding
    if (
        sum(map(str.isdigit, value)) < 2
        or not _is_mixed(value)
        or _compiled(_WORDS_THEN_NUMBER).fullmatch(value)
    ):
        return False
    if "/" in value and not (
        re.search("[A-Z]", value) and re.search("[a-z]", value) and "." not in value and value[0] != "/"
    ):
        return False
    if re.match("(?:sha[0-9]{1,3}|md5)[-=:]", value):
        return False
    if key != "key":
        return True
    is_digest = len(value) in (32, 40, 64, 128) and _compiled(_DIGEST).fullmatch(value)
    return re.search("[A-Za-z0-9]{16}", value) is not None and not is_digest


class _Name(NamedTuple):
    """A name in a text, and what is around it.

    :ivar kind: ``strong`` for a password or a secret, ``short`` for "pass" and "pw", ``weak`` for a token or a key.
    :ivar prefix: what of the name is before its word: ``DB_``, ``--``; ``head``: some of the text before that.
    """

    text: str
    start: int
    end: int
    word: str
    kind: str
    tail: str
    prefix: str
    head: str


def _names(text: str, folded: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that are values of secret names."""
    position = 0
    for core in _compiled(_CORE).finditer(folded):
        match = _compiled(_NAME).match(text, core.start()) if core.start() >= position else None
        if match is None:
            continue
        position = match.end()
        kind = next(name for name in ("strong", "short", "weak") if match[name] is not None)
        before = text[max(0, match.start() - 60) : match.start()]
        head = before.rstrip(_NAME_CHARACTERS)
        word = text[match.start() : match.start("tail")].lower()
        found = _value_of(_Name(text, *match.span(), word, kind, match["tail"], before[len(head) :], head))
        if found is None:
            continue
        start, end, is_secret = found
        if is_secret:
            yield start, end
        # What was refused may hold another name and its value.
        if is_secret or end - start >= _LONG:
            position = max(position, end)


def _value_of(named: _Name) -> tuple[int, int, bool] | None:
    """Where the value of a name is, and whether it is a credential; None where there is no value."""
    if named.kind != "strong" and not _is_whole_word(named):
        return None
    if _compiled(_ABOUT).search(named.tail):
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


def _is_whole_word(named: _Name) -> bool:
    if named.word in ("token", "session", "cookie", "auth", "signature", "csrf", "xsrf"):
        return True
    before, is_capital = named.prefix[-1:], named.text[named.start].isupper()
    return not before.isalpha() or (is_capital and (before.islower() or named.word == "sess"))


def _shaped_value(named: _Name) -> tuple[int, int, bool] | None:
    match = _compiled(_SHAPED).match(named.text, named.end)
    if match is None:
        found = _element_value(named) or _argument_value(named)
        return found and (*found[:2], found[2] and _is_shaped(named.text[found[0] : found[1]], named.word))
    value, key, prefix = match["secret"], named.text[named.start : named.end], named.prefix
    is_call = named.text[match.end() : match.end() + 1] in tuple("\\([:@")
    is_setting = prefix.startswith(("--", "X-", "x-")) or named.head.endswith(("?", "&", ";"))
    is_setting = is_setting or (key.isupper() and prefix != "")
    is_secret = match["sign"] != "" and not is_call and _is_shaped(value, "" if is_setting else named.word)
    if named.word == "key" and _compiled(_OTHER_KEYS).search(prefix):
        is_secret = False
    if match["sign"] == "," and not _is_pair(named):
        is_secret = False
    if len(value) < _SHORTEST + 1 and not (is_setting and match["sign"] != ","):
        is_secret = False
    if named.word in ("sess", "session", "sid") and (
        _compiled(_UUID).fullmatch(value) or value.startswith("S-1-")
    ):
        is_secret = False
    if named.tail and not _is_same(named.tail) and named.tail.lower() not in ("id", "_id", "s"):
        is_secret = is_secret and _is_random(value) and not _compiled(_UUID).fullmatch(value)
    return *match.span("secret"), is_secret


def _quoted_value(named: _Name) -> tuple[int, int, bool] | None:
    match = _compiled(_QUOTED).match(named.text, named.end)
    if match is None:
        return None
    value, sign = match["secret"], match["sign"]
    is_secret = (
        bool(value) and value[0] not in " ),]" and not _is_placeholder(value) and not _is_test_value(value)
    )
    is_secret = is_secret and not _is_sentence(value) and not re.fullmatch("[a-z_.-]+[=:]|[A-Z_]+[=:]", value)
    if sign in ("==", "===", "!=", "!=="):
        is_secret = is_secret and _is_mixed(value)
    elif sign == ",":
        is_secret = is_secret and _is_pair(named) and _is_mixed(value)
    elif sign == "":
        # A call, "password 'x' is wrong", SQL or an option.
        is_option = named.prefix.startswith("-") or named.word.upper() == named.text[named.start : named.end]
        is_secret = is_secret and ((_is_mixed(value) and not re.search("[ /]", value)) or is_option)
        is_secret = is_secret and named.kind == "strong"
    if named.kind == "short" or not _is_same(named.tail):
        is_secret = is_secret and (
            _is_mixed(value) and "(" not in value
            if named.kind == "short"
            else len(value) >= 12 and _is_random(value)
        )
    if named.word == "pwd" and _compiled(_PATH).match(value):
        is_secret = False
    return *match.span("secret"), is_secret


def _is_pair(named: _Name) -> bool:
    """``('password', 'x')``, ``setenv("DB_PASSWORD", "x")``, ``["--password", "x"]``: not two of many words."""
    is_first = re.search(r"\((?:\w{1,30}, ?)?[bBuU]?\\{0,3}[\"']$", named.head) is not None
    return is_first or named.prefix.startswith("-")


def _element_value(named: _Name) -> tuple[int, int, bool] | None:
    """``<password>x</password>``, ``<add key="ApiKey" value="x"/>``, ``name: PASSWORD`` over ``value: x``."""
    before = named.head + named.prefix
    match = _compiled(_ELEMENT).match(named.text, named.end)
    if match is None and re.search(
        r"(?i:name|key|id|type)\\{0,3}[\"']?[ \t]{0,2}[=:][ \t]{0,2}\\{0,3}[\"']?[\w.-]*$", before
    ):
        match = _compiled(_ATTRIBUTE).match(named.text, named.end)
    elif match is not None and not re.search(r"(?:<|&lt;)[^<>&;\n]*$", before):
        match = None
    elif before.endswith("<" + named.prefix):
        match = match or _compiled(_ATTRIBUTE).match(named.text, named.end)
    if match is None:
        return None
    value = match["secret"]
    return *match.span("secret"), not (_is_placeholder(value) or _is_test_value(value) or _is_sentence(value))


def _other_value(named: _Name) -> tuple[int, int, bool] | None:
    """A block of YAML, an option with its argument, a line of netrc."""
    match = _compiled(_BLOCK).match(named.text, named.end)
    if match is not None:
        return *match.span("secret"), not _is_test_value(match["secret"])
    match = _compiled(_SAID).match(named.text, named.end)
    if match is not None and re.search("[0-9]", match["secret"]) and _is_mixed(match["secret"]):
        return *match.span("secret"), not _is_test_value(match["secret"])
    return _argument_value(named)


def _argument_value(named: _Name) -> tuple[int, int, bool] | None:
    match = _compiled(_ARGUMENT).match(named.text, named.end)
    if match is None:
        return None
    value, head, prefix = match["secret"], named.head, named.prefix
    if (
        _compiled(_CODE).fullmatch(value)
        or _is_placeholder(value)
        or _is_test_value(value)
        or value[-1] in ",:)"
        or value[0] in "[({="
    ):
        return None
    if prefix.startswith("-") and (not head or head[-1] in " \t\n'\"[("):
        after = named.text[match.end() : match.end() + 3].strip("'\"")
        is_last = not after.strip() or "\n" in after or after.lstrip().startswith("-")
        is_secret = _is_mixed(value) or (is_last and not value.isupper() and value.lower() not in _SENTENCE)
    elif re.search(r"(?:\bENV|\bsetenv|\bset -\w+|\bSET|\bconfig(?:ure)? set)[ \t]+$", head):
        is_secret = True
    else:
        is_secret = re.search(r"\blogin\s+\S+\s+$", head) is not None
    return *match.span("secret"), is_secret


def _bare_value(named: _Name) -> tuple[int, int, bool] | None:
    """What looks like a value and not like code: see the tests for where the line is drawn."""
    text, key = named.text, named.text[named.start : named.end]
    match = _compiled(_BARE).match(text, named.end)
    if match is None:
        return None
    value, sign, gap = match["secret"], match["sign"], match["gap"]
    end, prefix, head = match.end(), named.prefix, named.head
    after = text[end : end + 1]
    line = (
        _compiled(_WHOLE_LINE).match(text, named.end)
        if re.search(r"(?:^|\n)(?:E? {0,20}|[ \t>+-]*)(?:export )?$", head)
        else None
    )
    if line is not None and gap and re.match(r"[A-Za-z_][\w.]*[(\[]", line["secret"]):
        line = None
    if line is not None and (
        (sign == "=" and not gap and key.isupper()) or (gap and _is_mixed(line["secret"]))
    ):
        value, end, after = line["secret"], line.end("secret"), "\n"
    span = match.start("secret"), end
    if head.endswith("://") or value.endswith("aws4_request"):  # a rule of its own is for these
        return *span, False
    if (
        sign in ("", ",", "==", "===", "!=", "!==")
        or after in ("(", "[")
        or _compiled(_CODE).fullmatch(value)
    ):
        return *span, False
    if _is_placeholder(value) or _is_test_value(value) or value[0] == "$":
        return *span, False
    if not _is_same(named.tail):
        return *span, len(value) >= 12 and _is_random(value)
    if named.word == "pwd" and _compiled(_PATH).match(value):
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
    # Of a connection string, a query, an option, or one of several settings in a line.
    is_setting = (
        after in (";", "&") or sign != "=" or prefix.startswith("--") or head.endswith((";", "&", "?"))
    )
    is_setting = is_setting or re.search(r"(?:\bexport|\bset|\bENV|\bARG|-e|--env)[ \t]$", head) is not None
    is_setting = is_setting or (
        after == " "
        and re.search(r"\w=\S+ $", head) is not None
        and re.match(r" \w+=", text[end : end + 30]) is not None
    )
    if is_plain_equals and is_setting:
        return *span, not is_constant
    if is_plain_equals and prefix.count(".") >= 1 and line is not None:  # a.b.password=x
        return *span, is_mixed
    return *span, is_mixed or (len(value) >= 6 and value.isdigit() and named.kind == "strong")


# --- values that pytest shows without their name

_WHERE = r"where (?P<quote>['\"])(?P<secret>[^'\"\n]{4,200})(?P=quote) = (?P<expression>[^\n]{1,300})"


def _shown(text: str) -> Iterator[tuple[int, int]]:
    """Of pytest's ``where 'x' = user.password`` the value, which stands above without a name."""
    for match in _compiled(_WHERE).finditer(text):
        name = re.search(r"(\w+)(?:['\"]\])?$", match["expression"].rstrip())
        found = _compiled(_NAME).search(name[1]) if name else None
        is_name = (
            found is not None and found["strong"] is not None and not _compiled(_ABOUT).search(found["tail"])
        )
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

_BY_GUARD = [
    [(guard, rule) for rule in rules for guard in rule.guards] for rules in (_TOKENS, _SYNTAXES, _COMMANDS)
]


def redact(text: str, numbers: MutableMapping[str, int] | None = None) -> str:
    """Replace each credential by ``<redacted 1>``, equal ones by equal numbers; the name it has stays.

    :param text: sanitized text; an escape sequence in the middle hides a credential.
    :param numbers: the numbers of credentials of texts that are shown or compared together; those of this text are
        added. Without it each text counts for itself.
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


def mark(value: str, numbers: MutableMapping[str, int]) -> str:
    """What stands for a part of a credential, which by itself does not look like one."""
    return f"<redacted {numbers.setdefault(value, max(numbers.values(), default=0) + 1)}>"


def _next_number(text: str, numbers: MutableMapping[str, int] | None) -> int:
    taken = [int(number) for number in MARK.findall(text)] if "<redacted " in text else []
    return max((*taken, *(numbers or {}).values()), default=0) + 1


def _spans(text: str) -> Iterator[tuple[int, int]]:
    # A token is one long word: of most texts little is left to search for so many prefixes.
    words = " ".join([word for word in text.split() if len(word) >= _SHORTEST])
    for rule in _guarded(_BY_GUARD[0], words) if words else ():
        if _compiled(rule.pattern).search(words):
            yield from _matches(rule, text)
    folded = text.lower()
    if len(folded) != len(text):  # a few letters have two in lower case
        folded = re.sub("[A-Z]+", lambda match: match[0].lower(), text)
    rules = _guarded(_BY_GUARD[1], folded)
    if text[:1] == "-" or " -" in text or "'-" in text or '"-' in text or "pass:" in text:
        rules += _guarded(_BY_GUARD[2], folded)
    for rule in rules:
        yield from _matches(rule, text)
    yield from _names(text, folded)
    if "where " in text:
        yield from _shown(text)
    if "cookie" in folded:
        yield from _cookies(text)


def _guarded(rules: Sequence[tuple[str, Rule]], text: str) -> list[Rule]:
    """The rules of which the text holds a guard."""
    return list(dict.fromkeys([rule for guard, rule in rules if guard in text]))


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
