"""Credentials known by the name they are assigned to, for :mod:`loop_close.text.redact`.

A name such as ``password`` is enough for most quoted values, however they are assigned: in source code, reprs, JSON,
YAML, XML, options, queries, connection strings. ``token`` and ``key`` need a value that looks random, as parsers have
tokens and dicts have keys. So do names that only begin like a secret's, such as ``secret_santa``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from loop_close.text.shapes import (
    ANY_UUID,
    LONG,
    SENTENCE,
    SHORTEST,
    compiled,
    is_mixed,
    is_placeholder,
    is_random,
    is_sentence,
    is_shaped,
    is_test_value,
    words,
)

_NAME_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
# Where one of the names below may begin, in lower case. A search for it is much faster than one for the names.
_CORE = (
    r"p(?:ass|w|s[wk]|at(?![a-z])|riv|re.?s)|s(?:ecret|ess|id|ig|hared|ubscription|ecurity)|a(?:pi[_-]?k|ccess|ccount|uth)|cred|cookie|csrf"
    r"|encr|master|refresh|token|key|xsrf|jwt|otp|client.?assertion|mot.?de.?passe|contrase"
)
# A name may have anything before it (``DB_PASSWORD``, ``stripeApiKey``), which need not be matched. After it comes only
# what starts a new word.
_NAME = (
    r"[acejkmoprstxACEJKMOPRSTX](?i:(?P<strong>(?<=p)(?:ass(?:word|wd|wrd|wort|phrase|code)|s?wd)|(?<=s)ecret|(?<=c)redential"
    r"|(?<=a)(?:pi[_-]?key|ccess[_-]?(?:key|token)|uth[_-]?token|ccount[_-]?key)"
    r"|(?<=p)(?:rivate[_-]?key|re[_-]?shared[_-]?key)|(?<=e)ncryption[_-]?key|(?<=m)aster[_-]?key"
    r"|(?<=r)efresh[_-]?token|(?<=m)ot[_-]?de[_-]?passe|(?<=c)ontrase(?:ñ|n)a"
    r"|(?<=s)(?:hared[_-]?(?:access[_-]?)?key|ession[_-]?token|igning[_-]?key|ubscription[_-]?key|ecurity[_-]?token))"
    r"|(?P<short>(?<=p)(?:ass|s?w|sk))"
    r"|(?P<weak>(?<=t)oken|(?<=k)ey|(?<=a)uth|(?<=p)at|(?<=j)wt|(?<=o)tp|(?<=r)efresh|(?<=c)lient[_-]?assertion|(?<=s)(?:ess(?:ion)?|id|ig(?:nature)?)|(?<=c)(?:ookie|srf)|(?<=x)srf))"
    r"(?P<tail>(?:s|[kK]ey|KEY)?[0-9]{0,4}(?:[_-][\w-]{0,40}|(?<=[a-z0-9])[A-Z]\w{0,40}|ID|id)?+)(?!\w)"
)
# What may be between a name and its value. A type annotation may be between; a comparison shows the value, too.
# Both are aligned often: by "pytest --showlocals", in TOML, YAML and Terraform.
_SIGN = (
    r"(?:(?P<close>\\{0,3}[\"']|&quot;)[\])]?|\])?[ \t]{0,40}"
    r"(?P<sign>=>|:=|[=!]==?|=|%3[dD]|:[ \t]{0,3}[A-Za-z][\w.\[\], |]{0,40}=(?!=)|:(?!:)|(?=[ \t]\{)"
    r"|,(?=[ \t]{0,3}[bBuU]?\\{0,3}[\"'])|(?=[ \t(][\"'(]))(?P<gap>[ \t]{0,40})"
)
# The next line of a text that pytest shows.
_NEWLINE = r"\n[ \tE>+|-]{0,60}"
# What may be around a value: an anchor of YAML, a type of a secret, of Rust or PHP, an object with the value.
_WRAPPER = (
    r"(?:&\w{1,40}[ \t]{1,3}|(?:\w{0,20}Secret\w{0,20}|Password\w{0,20}|Some|Just|bytearray|bytes|str)\("
    rf"|<\w{{0,20}}(?:Secret|Password)\w{{0,20}}[ \t]|string\([0-9]{{1,6}}\)[ \t]|\{{[ \t]{{0,3}}(?:{_NEWLINE})?"
    r"\\{0,3}[\"']?(?i:v|val|value|plain(?:text)?|raw|default|current)\\{0,3}[\"']?[ \t]{0,40}[:=][ \t]{0,40})?"
)
_QUOTED = (
    _SIGN + rf"(?:\\?{_NEWLINE})?(?P<paren>[(\[][ \t]{{0,3}}(?:{_NEWLINE})?)?{_WRAPPER}"
    r"[bBuUrRfFN]{0,2}(?P<quote>\"{3}|'{3}|\\{0,3}[\"']|&quot;)"
    # A truncated repr has no closing quote; its secret then goes to the end of the line.
    r"(?P<secret>(?:(?!(?P=quote))(?:\\[^\n]|[^\\\n]))*+)"
)
_BARE_VALUE = (
    r"(?:[^\s'\"`,;&(){}\[\]<>|\\]|&(?![\w.-]{1,40}=|amp;|quot;|[lg]t;)|,(?=[^\s,'\"])(?![\w.-]{1,40}[=:]))++"
)
_BARE = (
    _SIGN
    + rf"(?:!{{1,2}}\w{{1,20}}[ \t]{{1,3}}|&\w{{1,40}}[ \t]{{1,3}}|Secret\w{{0,20}}\()?(?P<secret>{_BARE_VALUE})"
)
_SHAPED = _SIGN + r"(?:[bBuU]?\\{0,3}[\"'])?(?P<secret>[\w.+=~%/-]{8,}+)"
_BLOCK = r":[ \t]{1,40}[|>][+-]?\n[ \t]{1,40}(?P<secret>[^\s'\"]+)"
_SAID = (
    r"[ \t]{1,40}(?:is|was|->|[|│]|for [^\n:]{1,60}:)[ \t]{1,20}"
    r"(?P<secret>[^\s'\"(\[{<,;|]{6,}+)(?=[ \t]*(?:\n|[|│]|$))"
)
_ELEMENT = (
    r"[\"']?(?:[ \t][^<>\n]{1,200})?(?:>|&gt;)\s{0,20}"
    r"(?:<!\[CDATA\[)?(?P<secret>[^<>\n&\]]++)(?:\]\]>)?\s{0,20}(?:</|&lt;/)"
)
# An element with the value for the text before it: a list of properties of macOS.
_PROPERTY = r"</key>\s{0,40}[E>+| \t-]{0,40}<(?:string|data)>\s{0,20}(?P<secret>[^<>\n]++)"
# The element whose text is the value: by its own name, or by an attribute that names the value.
_OF_ELEMENT = (
    r"(?:<|&lt;)(?:[\w:.-]*|(?!(?:a|p|label|button|legend|option|t[hd]|h[1-6]|li|span|div)\b)"
    r"[\w:.-]+[ \t][^<>&;\n]*\b(?i:name|key|id|property|path)[ \t]?=[ \t]?[\"']?[\w.-]*)$"
)
# The value of a pair before its name.
_VALUE_BEFORE = (
    r"(?i:value|val|content)\\{0,3}[\"']?[ \t]{0,3}[=:][ \t]{0,3}(?P<quote>\\{0,3}[\"'])(?P<secret>[^\n\"'\\]{4,120})"
    r"(?P=quote),?[ \t]{1,3}\\{0,3}[\"']?(?i:name|key)\\{0,3}[\"']?[ \t]{0,3}[=:][ \t]{0,3}\\{0,3}[\"'][\w.-]*$"
)
# A list of values, and each further one.
_LIST = _SIGN + rf"\[[ \t]{{0,3}}(?:{_NEWLINE})?(?=[bBuU]?[\"'])"
_ITEM = (
    r"[bBuU]?(?P<quote>[\"'])(?P<secret>(?:(?!(?P=quote))(?:\\[^\n]|[^\\\n]))*+)(?P=quote)"
    rf"(?:[ \t]{{0,3}},[ \t]{{0,3}}(?:{_NEWLINE})?)?"
)
_ATTRIBUTE = (
    r"(?:\\{0,3}[\"'])?(?:,?\s{1,20}\\{0,3}[\"']?(?i:value|content|val)\\{0,3}[\"']?[ \t]{0,40}[=:][ \t]{0,40}|\n\n)"
    r"(?P<quote>\\{0,3}[\"'])?(?P<secret>(?(quote)(?:(?!(?P=quote))[^\n])++|[^\s'\",}]++))"
)
# What pydantic says of a field: its name, and in the next line the value that it did not accept.
_INPUT = (
    r"\n[ \tE>|]{1,40}[^\n]{1,400}?\[type=\w{1,60}, input_value=(?:b?(?P<quote>\\{0,3}[\"']))?"
    r"(?P<secret>(?(quote)(?:(?!(?P=quote))(?:\\[^\n]|[^\\\n]))++|[^\s,'\"{}()\[\]<>]++))"
)
_IN_SENTENCE = (
    r"(?: provided)?:? (?P<open>[`(\[])?"
    r"(?P<secret>(?(open)[^\s`()\[\]]{6,}+(?=[`)\]])|[A-Za-z0-9_!@#$%^&*+/=~.-]{8,}+))"
)
_ARGUMENT = r"[ \t\n]{1,20}(?P<secret>[^\s'\"<>|`]++)"
_WHOLE_LINE = (
    r"(?:=|(?P<gap>[ \t]{0,40}[:=][ \t]{1,40}))(?P<secret>[^\s'\"`#$*(\[{<|>%][^\s'\"`]*+)(?=[ \t]*(?:\n|$))"
)

# ``password_hash`` and the like are about a secret, and say something in a failing test.
_ABOUT = (
    r"(?i)[_-](?:hash(?:ed|er|ers|es)?|ids?|names?|files?|paths?|dir|fields?|labels?|policy|length|len|min|max|url|uri"
    r"|env|var|types?|counts?|resets?|errors?|messages?|regex|pattern|prefix|manager|backend|validators?|strength"
    r"|version|required|expir\w*|rotation|valid|invalid|changed\w*|hint|help|input|form|at|arn|class|store)$"
    r"|(?:Hash|Id|Name|File|Path|Field|Label|Policy|Length|Url|Type|Count|Reset|Error|Message)$"
)
# What a name may go on with and still be that of a secret; "secret_santa" is not.
_SAME = words(
    """
    s key keys value values val new old current confirm confirmation again repeat base prod production staging live dev
    test primary secondary b64 base64 plain raw text string str default encrypted db admin user root ro rw data seed
    """
)
_OTHER_KEYS = (
    r"(?i)(?:primary|foreign|sort|cache|partition|public|pub|s3|object|row|group|natural|unique|hash|range|lookup|dict|registry"
    r"|websocket|known|react|idempotency|dedup\w*|index|map|job|message|routing|issue|storage|file|host|cursor|page)[_-]?$"
)
_CODE = (
    r"(?s)[/~.$%*:\\?-].*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)++|[A-Za-z]:.*|None|True|False|null|true|false|\W+"
)
_PATH = r"[/~.]|[A-Za-z]:[\\/]|$"


def _is_same(tail: str) -> bool:
    words = re.findall("[A-Z]?[a-z]+|[A-Z]+|[0-9]+", tail)
    return all(
        len(word) == 1 or word.lower() in _SAME or (word.isdigit() and len(word) < 5) for word in words
    )


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


def named_values(text: str, folded: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that are values of secret names."""
    position = 0
    for core in compiled(_CORE).finditer(folded):
        match = compiled(_NAME).match(text, core.start()) if core.start() >= position else None
        if match is None:
            continue
        if match["weak"] is not None and match["tail"]:
            strong = compiled(_NAME).search(text, match.start("tail"), match.end())
            match = strong if strong is not None and strong["strong"] is not None else match
        position = match.end()
        kind = next(name for name in ("strong", "short", "weak") if match[name] is not None)
        before = text[max(0, match.start() - 60) : match.start()]
        head = before.rstrip(_NAME_CHARACTERS)
        word = text[match.start() : match.start("tail")].lower()
        named = _Name(text, *match.span(), word, kind, match["tail"], before[len(head) :], head)
        found = _value_of(named)
        said = None if found is not None and found[2] else _said_value(named)
        if said is not None:
            found = *said, True
        if found is None:
            continue
        start, end, is_secret = found
        if is_secret:
            yield start, end
        if kind != "weak":
            for start, end in _values_of_list(text, match.end()):
                yield start, end
                is_secret = True
        # What was refused may hold another name and its value.
        if is_secret or end - start >= LONG:
            position = max(position, end)


def _values_of_list(text: str, position: int) -> Iterator[tuple[int, int]]:
    """The values of ``passwords=['one', 'two']`` that look like credentials."""
    match = compiled(_LIST).match(text, position)
    position = match.end() if match is not None else len(text)
    while match := compiled(_ITEM).match(text, position):
        value, position = match["secret"], match.end()
        if is_mixed(value) and not (" " in value or is_placeholder(value) or is_test_value(value)):
            yield match.span("secret")


def _said_value(named: _Name) -> tuple[int, int] | None:
    """The value in "wrong password (x)" and "invalid token x". Any word may follow: only what looks random is one."""
    if named.prefix or named.tail or named.text[named.end : named.end + 1] not in (" ", ":"):
        return None
    if named.word == "key":
        is_said = re.search("(?i:api|access|auth|secret|signing) $", named.head) is not None
    else:
        is_said = named.word in ("password", "passphrase", "token", "secret", "api_key", "api-key", "apikey")
    match = compiled(_IN_SENTENCE).match(named.text, named.end) if is_said else None
    if match is None:
        return None
    value = match["secret"]
    if named.word in ("password", "passphrase"):
        has_both = match["open"] is not None or value.lower() != value != value.upper()
        is_secret = has_both and re.search("[0-9][A-Za-z].*[0-9]", value) is not None
    else:
        is_digest = re.fullmatch("[0-9a-f]+|[0-9A-F-]+", value) is not None
        is_secret = is_random(value) and not is_digest and re.search("[A-Za-z0-9]{16}", value) is not None
    return match.span("secret") if is_secret else None


def _value_of(named: _Name) -> tuple[int, int, bool] | None:
    """Where the value of a name is, and whether it is a credential; None if there is no value."""
    if named.kind != "strong" and not _is_whole_word(named):
        return None
    if compiled(_ABOUT).search(named.tail) and not _is_session_id(named):
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


# Whose password it is: "dbpass", but not "bypass" or "compass".
_SHORT_OWNERS = ("db", "ftp", "ldap", "mail", "my", "pg", "root", "smtp", "sql", "user", "admin", "login")


def _is_whole_word(named: _Name) -> bool:
    if named.word in ("token", "session", "cookie", "auth", "signature", "csrf", "xsrf", "refresh"):
        return True
    if named.word == "pat":
        return named.prefix.endswith(("_", "-"))
    if named.kind == "short" and named.prefix.lower().endswith(_SHORT_OWNERS):
        return True
    before, is_capital = named.prefix[-1:], named.text[named.start].isupper()
    return not before.isalpha() or (is_capital and (before.islower() or named.word == "sess"))


def _is_session_id(named: _Name) -> bool:
    return named.word in ("sess", "session") and named.tail.lower() in ("id", "_id", "-id")


def _shaped_value(named: _Name) -> tuple[int, int, bool] | None:
    match = compiled(_SHAPED).match(named.text, named.end)
    if match is None:
        found = _element_value(named) or _argument_value(named)
        return found and (*found[:2], found[2] and is_shaped(named.text[found[0] : found[1]], named.word))
    value, key, prefix = match["secret"], named.text[named.start : named.end], named.prefix
    is_call = named.text[match.end() : match.end() + 1] in tuple("\\([:@")
    is_setting = prefix.startswith(("--", "X-", "x-")) or named.head.endswith(("?", "&", ";"))
    is_setting = is_setting or (key.isupper() and prefix != "")
    is_secret = match["sign"] != "" and not is_call and is_shaped(value, "" if is_setting else named.word)
    if named.word == "key" and compiled(_OTHER_KEYS).search(prefix):
        is_secret = False
    if match["sign"] == "," and not _is_pair(named):
        is_secret = False
    if len(value) < SHORTEST + 1 and not (is_setting and match["sign"] != ","):
        is_secret = False
    if named.word in ("sess", "session", "sid") and (
        compiled(ANY_UUID).fullmatch(value) or value.startswith("S-1-")
    ):
        is_secret = False
    if _is_session_id(named):  # who has it is signed in; "session-2026-01" is only a name
        is_secret = is_secret and re.search("[A-Za-z0-9]{16}", value) is not None
    elif named.tail and not _is_same(named.tail) and named.tail.lower() != "s":
        is_secret = is_secret and is_random(value) and not compiled(ANY_UUID).fullmatch(value)
    return *match.span("secret"), is_secret


def _quoted_value(named: _Name) -> tuple[int, int, bool] | None:
    match = compiled(_QUOTED).match(named.text, named.end)
    if match is None:
        return None
    value, sign = match["secret"], match["sign"]
    is_secret = (
        bool(value) and value[0] not in " ),]" and not is_placeholder(value) and not is_test_value(value)
    )
    is_secret = is_secret and not is_sentence(value) and not re.fullmatch("[a-z_.-]+[=:]|[A-Z_]+[=:]", value)
    if sign in ("==", "===", "!=", "!=="):
        is_secret = is_secret and is_mixed(value)
    elif sign == ",":
        is_secret = is_secret and _is_pair(named) and is_mixed(value)
    elif sign == "":
        # A call, "password 'x' is wrong", SQL or an option.
        is_option = named.prefix.startswith("-") or named.word.upper() == named.text[named.start : named.end]
        is_secret = is_secret and ((is_mixed(value) and not re.search("[ /]", value)) or is_option)
        is_secret = is_secret and named.kind == "strong"
    if "\n" in named.text[match.end("gap") : match.start("quote")] and match["paren"] is None:
        is_secret = is_secret and is_mixed(value) and " " not in value
    if named.kind == "short" or not _is_same(named.tail):
        is_secret = is_secret and (
            is_mixed(value) and "(" not in value
            if named.kind == "short"
            else len(value) >= 12 and is_random(value)
        )
    if named.word == "pwd" and compiled(_PATH).match(value):
        is_secret = False
    return *match.span("secret"), is_secret


def _is_pair(named: _Name) -> bool:
    """``('password', 'x')``, ``setenv("DB_PASSWORD", "x")``, ``["--password", "x"]``: not two of many words."""
    is_first = re.search(r"\((?:\w{1,30}, ?)?[bBuU]?\\{0,3}[\"']$", named.head) is not None
    return is_first or named.prefix.startswith("-")


def _element_value(named: _Name) -> tuple[int, int, bool] | None:
    """``<password>x</password>``, ``<add key="ApiKey" value="x"/>``, ``name: PASSWORD`` over ``value: x``."""
    before = named.head + named.prefix
    match = compiled(_ELEMENT).match(named.text, named.end)
    if match is None and before.endswith("<key>" + named.prefix):
        match = compiled(_PROPERTY).match(named.text, named.end)
    if match is None and re.search(
        r"(?i:name|key|id|type)\\{0,3}[\"']?[ \t]{0,2}[=:][ \t]{0,2}\\{0,3}[\"']?[\w.-]*$", before
    ):
        match = compiled(_ATTRIBUTE).match(named.text, named.end)
        match = match or compiled(_VALUE_BEFORE).search(named.text, max(0, named.start - 250), named.start)
    elif match is not None and match.re.pattern == _ELEMENT and not compiled(_OF_ELEMENT).search(before):
        match = None
    elif before.endswith("<" + named.prefix):
        match = match or compiled(_ATTRIBUTE).match(named.text, named.end)
    if match is None:
        return None
    value = match["secret"]
    return *match.span("secret"), not (is_placeholder(value) or is_test_value(value) or is_sentence(value))


def _other_value(named: _Name) -> tuple[int, int, bool] | None:
    """A block of YAML, an option with its argument, a line of netrc."""
    match = compiled(_BLOCK).match(named.text, named.end)
    if match is not None:
        return *match.span("secret"), not is_test_value(match["secret"])
    match = compiled(_INPUT).match(named.text, named.end)
    if match is not None:
        return *match.span("secret"), not (is_placeholder(match["secret"]) or is_test_value(match["secret"]))
    match = compiled(_SAID).match(named.text, named.end)
    if match is not None and re.search("[0-9]", match["secret"]) and is_mixed(match["secret"]):
        return *match.span("secret"), not is_test_value(match["secret"])
    return _argument_value(named)


def _argument_value(named: _Name) -> tuple[int, int, bool] | None:
    match = compiled(_ARGUMENT).match(named.text, named.end)
    if match is None:
        return None
    value, head, prefix = match["secret"], named.head, named.prefix
    if (
        compiled(_CODE).fullmatch(value)
        or is_placeholder(value)
        or is_test_value(value)
        or value[-1] in ",:)"
        or value[0] in "[({="
    ):
        return None
    if prefix.startswith("-") and (not head or head[-1] in " \t\n'\"[("):
        after = named.text[match.end() : match.end() + 3].strip("'\"")
        is_last = not after.strip() or "\n" in after or after.lstrip().startswith("-")
        is_secret = is_mixed(value) or (is_last and not value.isupper() and value.lower() not in SENTENCE)
    elif re.search(r"(?:\bENV|\bsetenv|\bset -\w+|\bSET|\bconfig(?:ure)? set)[ \t]+$", head):
        is_secret = True
    else:
        is_secret = re.search(r"\blogin\s+\S+\s+$", head) is not None
    return *match.span("secret"), is_secret


def _bare_value(named: _Name) -> tuple[int, int, bool] | None:
    match = compiled(_BARE).match(named.text, named.end)
    if match is None:
        return None
    value, sign, end = match["secret"], match["sign"], match.end()
    is_capital = named.text[named.start : named.end].isupper()
    line = _whole_line(named)
    if line is not None and (
        (sign == "=" and not match["gap"] and is_capital) or (match["gap"] and is_mixed(line))
    ):
        end, value = match.start("secret") + len(line), line
    is_call = named.text[end : end + 1] in ("(", "[")
    # For a URL and a signed request are rules of their own.
    is_other = named.head.endswith("://") or value.endswith("aws4_request")
    if (
        is_call
        or is_other
        or sign in ("", ",", "==", "===", "!=", "!==")
        or compiled(_CODE).fullmatch(value)
        or (
            is_placeholder(value)
            or is_test_value(value)
            or (named.word == "pwd" and compiled(_PATH).match(value))
        )
    ):
        is_secret = False
    elif not _is_same(named.tail):
        is_secret = len(value) >= 12 and is_random(value)
    elif sign == ":":
        is_secret = _is_after_colon(named, value, match["gap"], end)
    else:
        is_secret = _is_after_equals(named, value, "" if sign in (":=", "=>") else sign + match["gap"], end)
    return match.start("secret"), end, is_secret


def _whole_line(named: _Name) -> str | None:
    """The value of a line that holds nothing else, as in a .env file: it may have any character but a space."""
    if not re.search(r"(?:^|\n)(?:E? {0,20}|[ \t>+-]*)(?:export )?$", named.head):
        return None
    match = compiled(_WHOLE_LINE).match(named.text, named.end)
    is_code = match is not None and match["gap"] and re.match(r"[A-Za-z_][\w.]*[(\[]", match["secret"])
    return None if match is None or is_code else match["secret"]


def _is_after_colon(named: _Name, value: str, gap: str, end: int) -> bool:
    """Prose uses a colon too: "secret: expected str, got int". Without a gap it is Go's ``{Password:x Port:1}``."""
    is_value = len(value) >= 6 and is_mixed(value)
    if not gap:
        return is_value and not value.isdigit()
    if named.kind == "short" and not named.prefix.rstrip("-"):
        return False
    is_environment = named.text[named.start : named.end].isupper() and named.prefix.endswith(("_", "-"))
    is_end = named.text[end : end + 1] in ("", "\n", ",", "}", "'", '"') or (
        len(value) >= 20 and is_shaped(value, "")
    )
    return is_end and (is_value or (is_environment and not _is_constant(value)))


def _is_after_equals(named: _Name, value: str, sign: str, end: int) -> bool:
    """A bare word after a name in lower case is a variable more often, but not in an environment or a setting."""
    is_value = len(value) >= 6 and (is_mixed(value) or (value.isdigit() and named.kind == "strong"))
    if sign not in ("=", "%3D", "%3d"):
        return is_value
    head, after = named.head, named.text[end : end + 30]
    is_setting = (
        named.text[named.start : named.end].isupper()
        or sign != "="
        or after.startswith((";", "&"))
        or named.prefix.startswith("--")
        or head.endswith((";", "&", "?"))
        or re.search(r"(?:\bexport|\bset|\bENV|\bARG|-e|--env)[ \t]$", head) is not None
        or (re.search(r"\w=\S+ $", head) is not None and re.match(r" \w+=", after) is not None)
    )
    return is_value or (is_setting and not _is_constant(value))


def _is_constant(value: str) -> bool:
    return value.isupper() and value.replace("_", "").isalpha()


_WHERE = (
    r"(?:where |and   )[bB]?(?P<quote>['\"])(?P<secret>[^'\"\n]{4,200})(?P=quote) = (?P<call>[^\n]{1,300})"
)
_CALL = r"(?P<function>[^()]*+)\((?:['\"](?P<argument>[\w.-]{1,60})['\"])?.*\)"
# What functions begin with that say something about a credential, or do something with it.
_QUERY_VERBS = words("check validate verify is has hash mask hide redact strip describe")
_ACTION_VERBS = words(
    "change reset set update delete remove add save store put write send type enter fill try apply confirm render show "
    "require compare match list log print expire revoke lock unlock open close handle process on post login compile run"
)
_AFTER_PREPOSITION = r"(?:^|_)(?:with|by|from|without|using|via|in|to)_+$"


def name_of_result(function: str) -> str:
    """The name by which the return value of a function counts: its own (``get_password``) or none (``check_password``).

    Of ``change_password`` it is ``token``: only the shape of the value tells whether it is a credential.
    """
    plain = re.sub(r"^<(?:\S*function|built-in method) | (?:at|of) .*", "", function)
    name = plain.rpartition(".")[2].lstrip("_")
    found = compiled(_NAME).search(name)
    first = re.split("_|(?<=[a-z0-9])(?=[A-Z])", name)[0].lower()
    if first in _QUERY_VERBS:
        return ""
    if found is None or found["weak"] is not None or found.start() == 0:
        return name
    is_given = re.search(_AFTER_PREPOSITION, name[: found.start()].lower())
    return "token" if is_given or first in _ACTION_VERBS or found["short"] else name


def introspected_values(text: str) -> Iterator[tuple[int, int]]:
    """Of pytest's ``where 'x' = user.password`` the value, which is shown above without a name."""
    for match in compiled(_WHERE).finditer(text):
        value, call = match["secret"], compiled(_CALL).fullmatch(match["call"].rstrip())
        names = re.findall(r"(\w+)(?:['\"]\])?$", match["call"].rstrip())
        names = [name_of_result(call["function"]), call["argument"]] if call else names
        is_named = any(_is_name_of(name, value) for name in names if name)
        if is_named and not is_test_value(value) and not is_placeholder(value):
            yield match.span("secret")


def _is_name_of(name: str, value: str) -> bool:
    if name == "token":
        return is_shaped(value, name)
    found = compiled(_NAME).search(name)
    return bool(found and found["strong"] is not None and not compiled(_ABOUT).search(found["tail"]))


# Values that JSON shows under names of one or two letters.
_PRIVATE_MEMBER = (
    r"[\"'](?:k|d|p|q|dp|dq|qi)\\{0,3}[\"']\s{0,20}:\s{0,20}"
    r"\\{0,3}[\"'](?P<secret>[\w-]{16,}+)(?=\\{0,3}[\"'])"
)


def cookie_values(text: str) -> Iterator[tuple[int, int]]:
    """The values of cookies that look random, whatever their names."""
    for header in re.finditer(r"(?i:cookie)[\"']?[ \t]{0,3}[:=,][ \t]{0,3}(?P<pairs>[^\n]{1,4000})", text):
        for match in re.finditer(r"[\w.-]{1,60}=(?P<secret>[\w.%+/=~:|-]{16,}+)", header["pairs"]):
            if is_shaped(match["secret"], "cookie"):
                start = header.start("pairs")
                yield start + match.start("secret"), start + match.end("secret")


def jwk_values(text: str) -> Iterator[tuple[int, int]]:
    """The private members of JSON Web Keys (RFC 7517): ``d`` and the primes, and ``k`` of a symmetric key."""
    for members in re.finditer(r"\{(?P<members>[^{}]*+)", text):
        if "kty" in members["members"]:
            for match in compiled(_PRIVATE_MEMBER).finditer(members["members"]):
                start = members.start("members")
                yield start + match.start("secret"), start + match.end("secret")
