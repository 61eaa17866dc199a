"""Secrets known by the name they are assigned to, for :mod:`loop_close.text.redact`.

Written as in dict reprs, keyword arguments, JSON (also quoted once more), YAML, environments and source code.
"""

from __future__ import annotations

import re

# Lower case: one of these occurs wherever a name below matches. Base64 holds any three letters.
_AFTER = "=:'\"] \t_-\\"
GUARDS = (
    *("passw", "passphrase", "secret", "apikey", "api_key", "api-key", "access", "private", "autht", "auth_"),
    *("auth-", "refresh", "credential", *(f"pwd{c}" for c in _AFTER)),
)
AMBIGUOUS_GUARDS = ("token", "session", "cookie", *(f"{key}{c}" for key in ("key", "auth") for c in _AFTER))

# A name may have anything before it (``DB_PASSWORD``, ``stripeApiKey``), which need not be matched. After it
# only what starts a new word: ``secretary`` is nobody's secret. The leading class is for speed, the
# lookbehinds undo it.
_NAME = (
    r"(?P<key>[apscrAPSCR](?i:(?<=p)(?:assword|asswd|assphrase|wd)|(?<=s)ecret"
    r"|(?<=a)(?:pi[_-]?key|ccess[_-]?(?:key|token)|uth[_-]?token)|(?<=p)rivate[_-]?key"
    r"|(?<=r)efresh[_-]?token|(?<=c)redential)"
    r"(?:s|key)?[0-9]{0,4}(?:[_-][\w-]{0,40}|[A-Z]\w{0,40})?+)(?!\w)"
)
_AMBIGUOUS_NAME = (
    r"(?P<key>[tkascxTKASCX](?i:(?<=t)oken|(?<=k)ey|(?<=a)uth|(?<=s)ession|(?<=c)(?:ookie|srf[_-]?token)"
    r"|(?<=x)srf[_-]?token))(?:[_-]?(?:[iI][dD]|[kK]ey|[vV]alue|KEY|VALUE))?+(?!\w)"
)
# What closes the name (a quote, ``environ["NAME"]``), then the sign, with an annotation before it in source
# code.
_SIGN = (
    r"(?:\\{0,3}[\"'])?\]?[ \t]{0,3}"
    r"(?P<sign>=>|:=|=(?!=)|:[ \t]{0,3}[A-Za-z][\w.\[\], |]{0,40}=(?!=)|:(?!:))(?P<gap>[ \t]{0,3})"
)
_OPEN = r"(?:Secret(?:Str)?\()?[bBuUrRfF]{0,2}(?P<quote>\\{0,3}[\"'])"

# A truncated repr has no closing quote; its secret then goes to the end of the line.
QUOTED = re.compile(_NAME + _SIGN + _OPEN + r"(?P<secret>(?:(?!(?P=quote))(?:\\[^\n]|[^\\\n]))*+)")
BARE = re.compile(_NAME + _SIGN + r"(?P<secret>[^\s'\"`,;&(){}\[\]<>|\\]++)")
AMBIGUOUS = re.compile(
    _AMBIGUOUS_NAME + _SIGN + r"(?:[bBuU]?\\{0,3}[\"'])?(?P<secret>[\w.+=~-]{16,}+)(?![/\\(\[:@])"
)

# ``password_hash`` and the like are about a secret, and say something in a failing test.
_ABOUT = re.compile(
    r"[_-](?:hash(?:ed|er|ers|es)?|ids?|names?|files?|paths?|dir|fields?|labels?|policy|length|len|min|max|url|uri"
    r"|env|var|types?|counts?|resets?|errors?|messages?|regex|pattern|prefix|manager|backend|validators?|strength"
    r"|version|required|expir\w*|rotation|valid|invalid|changed\w*|hint|help|input|form)$"
    r"|(?:Hash|Id|Name|File|Path|Field|Label|Policy|Length|Url|Type|Count|Reset|Error|Message)$",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[/~.$%*:\\?-].*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)++|[A-Za-z]:.*|None|True|False|null|true|false|\W+",
    re.DOTALL,
)
_PATH = re.compile(r"[/~.]|[A-Za-z]:[\\/]|$")
_HIDDEN_ALREADY = re.compile(
    r"\*+|\[redacted\]|<[^<>]*>|\{[^{}]*\}|\$\w+|\$\{[^{}]*\}|%s|%\(\w+\)s|None|null|\.\.\."
)
_WORDS_THEN_NUMBER = re.compile(r"[A-Za-z]++(?:(?:[_.-][A-Za-z]++)++[_.-]?[0-9]*|[0-9]{0,3})")
_DIGEST = re.compile(r"[0-9a-f]+")


def is_quoted_secret(match: re.Match[str]) -> bool:
    """Always, but for placeholders, working directories and names that are about a secret."""
    value = match["secret"]
    if not value or value[0] in " ),]" or _HIDDEN_ALREADY.fullmatch(value) or _is_about(match):
        return False
    return not (match["key"].lower() == "pwd" and _PATH.match(value))


def is_bare_secret(match: re.Match[str]) -> bool:
    """What looks like a value and not like code: see the tests for where the line is drawn."""
    key, sign, value = match["key"], match["sign"], match["secret"]
    after = match.string[match.end() : match.end() + 1]
    if after in ("(", "[") or _CODE.fullmatch(value) or _is_about(match):
        return False
    if sign == ":":
        # Prose uses a colon too: "secret: expected str, got int".
        return len(value) >= 8 and _is_mixed(value) and after in ("", "\n", ",", "}")
    if sign == "=" and key.isupper() and not match["gap"]:
        return not value.isupper()
    return len(value) >= 6 and (_is_mixed(value) or value.isdigit())


def is_shaped_secret(match: re.Match[str]) -> bool:
    """Letters mixed with digits beyond words and their number; for a mere ``key`` no digest and no uuid."""
    value = match["secret"]
    if sum(map(str.isdigit, value)) < 2 or not _is_mixed(value) or _WORDS_THEN_NUMBER.fullmatch(value):
        return False
    if match["key"].lower() != "key":
        return True
    return re.search("[A-Za-z0-9]{16}", value) is not None and not _is_digest(value)


def _is_about(match: re.Match[str]) -> bool:
    return _ABOUT.search(match["key"]) is not None


def _is_mixed(value: str) -> bool:
    has_letter = re.search("[A-Za-z]", value) is not None
    return has_letter and re.search(r"[0-9!@#$%^&*?+~]", value) is not None


def _is_digest(value: str) -> bool:
    return len(value) in (32, 40, 64, 128) and _DIGEST.fullmatch(value) is not None
