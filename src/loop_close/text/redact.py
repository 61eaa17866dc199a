"""Credentials out of text, before anything is stored or shown.

A credential is found by its shape (tokens of vendors, keys of several lines), by its syntax (headers, URLs, options of
commands), or by the name it is assigned to (:mod:`loop_close.text.assigned`). ``docs/secrets.md`` has the limits.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Iterator, MutableMapping, Sequence

from loop_close import lazy
from loop_close.text import sanitize, stripped
from loop_close.text.assigned import cookie_values, introspected_values, jwk_values, named_values
from loop_close.text.shapes import (
    LONG,
    SHORTEST,
    compiled,
    is_mixed,
    is_placeholder,
    is_random,
    is_test_value,
    words,
)
from loop_close.text.tokens import TOKENS, UUID, CredentialRule, random_looking

#: Replaces a credential: equal numbers are equal credentials, in the order in which they first appear.
MARK = lazy.pattern(r"<redacted ([1-9][0-9]{0,8})>")

# So many different values are also looked for elsewhere in the text, if they are as long.
_REPEATED, _REPEATED_LENGTH = 20, 6
# So many values that other texts showed with their names are looked for, if they are as long. Longer ones are also
# looked for within words.
_KNOWN, _KNOWN_LENGTH, _IN_WORDS_LENGTH = 200, 4, 10
# What pytest and unittest write for the middle of a long value, and what is left of it beside that. So many characters
# of it tell which value it is.
_PART = 6
# So few characters at the gap are hidden if the value begins or ends with them; so many are looked at.
_FEWEST_LEFT, _MOST_LEFT = 2, 200
_SURELY_LEFT = 4
_GAP = r"(\.\.\.|\[[0-9]{1,9} chars\])"
_BEFORE_GAP, _AFTER_GAP = r"(?<![^'\"\s])[^'\"\s]{4,}+\Z", r"\A[^'\"\s]{4,}+"
# pprint and formatters wrap a long string over literals of several lines.
_BETWEEN_LITERALS = r"['\"][ \t]{0,3}\\?\n[ \tE>+|-]{0,200}[bBuUrRfF]{0,2}['\"]"
_NEXT_LITERAL = (
    r"['\"][ \t]{0,3}\\?\n[ \tE>+|-]{0,200}[bBuUrRfF]{0,2}(?P<quote>['\"])"
    r"(?P<more>(?:(?!(?P=quote))(?:\\[^\n]|[^\\\n]))++)(?=(?P=quote)(?![ \t]{0,3}[:=]))"
)
_ROUNDS = 4


def _has_digit(match: re.Match[str]) -> bool:
    return re.search("[0-9]", match["secret"]) is not None


def _is_key(match: re.Match[str]) -> bool:
    return match["secret"].strip("\\nr \n") != ""


# --- keys of several lines

_WORD, _WORDS, _HEX = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[a-f0-9]"
_BEGIN = r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_BASE64_LINES = r"(?:\n[ \tE>+|]*+[A-Za-z0-9+/=]{16,}+(?=\s|$))*+"
# Also as literals one below the other, the last of them perhaps cut.
_CUT_LINES = (
    r"(?:\n[ \tE>+|'\"-]*+[A-Za-z0-9+/=]{16,}+(?:\\n)?['\"]?,?(?=\s|$))*+"
    r"(?:\n[ \tE>+|'\"-]*+[A-Za-z0-9+/=]++(?=\.\.\.|…))?"
)
_KEYS: tuple[CredentialRule, ...] = (
    # Without its END line a key goes as far as there are lines of base64, or to the end of a quoted run.
    CredentialRule(
        ("private key",),
        rf"{_BEGIN}(?P<secret>(?:[^-]|-(?!----))*+(?=-----END )|[^\s-]*+{_CUT_LINES})",
        _is_key,
    ),
    # The start was cut off, perhaps within a line: the lines of base64 before END. Without END it matches too, to be
    # refused at once.
    CredentialRule(
        ("private key",),
        r"(?m)^(?P<secret>(?:\A[A-Za-z0-9+/=]++\n)?(?:[ \tE>+|]*+[A-Za-z0-9+/=]{16,}+\n)*+"
        rf"(?:[ \tE>+|]*+[A-Za-z0-9+/=]++\n)?)(?P<end>[ \tE>+|]*+{_END})?",
        lambda match: bool(match["secret"] and match["end"]),
    ),
    CredentialRule(
        ("begin ssh2",),
        r"---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----(?P<secret>(?:[^-]|-(?!--- ))*+)",
        _is_key,
    ),
    CredentialRule(("private-lines",), rf"Private-Lines: [0-9]{{1,4}}(?P<secret>{_BASE64_LINES})", _is_key),
    CredentialRule(
        ("$ansible_vault",),
        r"\$ANSIBLE_VAULT;[0-9.]{1,5};AES256?[^\n]{0,80}(?P<secret>(?:\n[ \t]*+[0-9a-f]{8,}+(?=\s|$))++)",
    ),
)

# --- syntaxes

_NOT_CREDENTIALS = words(
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
    if end < 1 or match[0].startswith("://[") or is_test_value(value[:end]):
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
    return is_random(match["secret"]) and not match["secret"].startswith(("%", "$"))


def _is_password(match: re.Match[str]) -> bool:
    """Whether it has the shape of a password, where only its place could distinguish it from a name."""
    value = match["secret"]
    return is_mixed(value) and not (" " in value or is_placeholder(value) or is_test_value(value))


def _is_no_field(match: re.Match[str]) -> bool:
    """Whether braces hold a password of ODBC and not a field of a format: it has a sign that no expression has."""
    return re.search(r"[^\w.()\[\]'\":!, ]", match["secret"]) is not None


def _command(match: re.Match[str]) -> bool:
    value = match["secret"]
    return (
        not is_placeholder(value)
        and not value.isdigit()
        and not value.startswith("-")
        and not is_test_value(value)
    )


# The name of a command, and how it takes a password, written as "@@". A list of arguments has quotes and
# commas between them: "~" is what is before an option, "&&" what is between it and its value.
_ARGUMENTS = {
    "~": r"[ \t'\"]",
    "&&": r"(?:[ \t]{1,2}|['\"],[ \t]?)",
    "@@": r"(?P<open>['\"](?![ ,)\]]))?(?P<secret>(?(open)(?:(?!(?P=open))[^\n])+|[^\s'\"`]+))",
}
_COMMANDS: tuple[CredentialRule, ...] = tuple(
    CredentialRule(
        tuple(guards.split()), re.sub("~|&&|@@", lambda part: _ARGUMENTS[part[0]], pattern), _command
    )
    for guards, pattern in (
        (
            "curl",
            r"curl\b[^\n]{0,200}?[ '\"](?:-u|--user|--proxy-user|-U)(?:['\"]?[ =,]{1,2})?['\"]?"
            r"[^\s:'\"=-][^\s:'\"]{0,80}:@@",
        ),
        ("mysql mariadb", r"(?:mysql|mariadb)[\w-]*(?=[ \t'\"])[^\n]{0,200}?~-p@@"),
        ("sshpass login", r"(?:sshpass|login)\b[^\n]{0,200}?~-p(?:&&|[ \t])?@@"),
        ("mongo", r"\bmongo(?:sh|dump|restore|export|import)\b[^\n]{0,200}?~-p&&@@"),
        ("redis-cli", r"redis-cli\b[^\n]{0,200}?~-a&&@@"),
        ("ldap", r"ldap[a-z]{3,10}(?=[ \t'\"])[^\n]{0,200}?~-w&&@@"),
        ("htpasswd", r"htpasswd[ \t]+-\w*b\w*[ \t]+[^\s]{1,200}[ \t]+\S{1,80}[ \t]+@@"),
        ("zip", r"(?:un)?zip[ \t'\"][^\n]{0,100}?-P(?:&&|[ \t])?@@"),
        ("7z", r"7za?(?=[ \t'\"])[^\n]{0,100}?~-p@@"),
        ("ssh-keygen", r"ssh-keygen\b[^\n]{0,200}?~-[NP]&&@@"),
        ("openssl", r"openssl['\"]?,?[ \t]['\"]?enc\b[^\n]{0,200}?~-k&&@@"),
        ("keypass storepass", r"-(?:src|dest)?(?:key|store)pass&&@@"),
        ("pass:", r"\bpass(?:in|out)?['\"]?[ \t,=]{1,3}['\"]?pass:@@"),
        ("http", r"https?(?=[ \t'\"])[^\n]{0,100}?~-a&&['\"]?[^\s:'\"]{1,80}:@@"),
        ("-user", r"--(?:proxy-)?user(?:name)?[ \t=]['\"]?[^\s:'\"]{1,80}:@@"),
        ("smb", r"smb\w{2,10}(?=[ \t'\"])[^\n]{0,200}?-U[ \t]{0,2}['\"]?[^\s%'\"]{1,80}%@@"),
    )
)
_SYNTAXES: tuple[CredentialRule, ...] = (
    *_KEYS,
    CredentialRule(
        ("://",),
        r"://[^\s/?#@:'\"<>]*+:(?P<secret>(?:[^\s/'\"<>]++|/(?!/))++)",
        _url_password,
    ),
    CredentialRule(("://",), r"://(?P<secret>[^\s/?#@:'\"<>]{16,}+)(?=(?::[\w-]{0,40})?@)", _url_user),
    CredentialRule(("@tcp(", "@unix("), r"\b\w{1,60}:(?P<secret>[^\s'\"]{1,200}?)@(?:tcp|unix)\("),
    CredentialRule(("basic ",), r"\b[Bb]asic[ \t]{1,3}(?P<secret>[A-Za-z0-9+/_-]{6,400}+={0,2})", _is_basic),
    CredentialRule(("thin:",), r"thin:[\w.]{1,60}/(?P<secret>[^\s@'\"/]+)@"),
    CredentialRule(
        ("auth",),
        r"(?i:auth)\\?['\"]?(?:=|: ?)?\((?:\w{1,20}=)?['\"][^'\"\n]{0,80}['\"], ?(?:\w{1,20}=)?"
        r"['\"](?P<secret>[^'\"\n]+)['\"]\)",
        lambda match: not is_test_value(match["secret"]) and not is_placeholder(match["secret"]),
    ),
    CredentialRule(
        ("authorization",),
        r"(?i:authorization)\\?[\"']?[ \t]{0,3}[:=,][ \t]{0,3}(?:[bBuU](?=[\"']))?\\?[\"']?"
        r"(?P<scheme>[A-Za-z][A-Za-z-]{1,19}[ \t]{1,3}(?=[A-Za-z0-9._~+/=:-]))?"
        r"(?P<secret>[A-Za-z0-9._~+/=:-]++)",
        _authorization,
    ),
    CredentialRule(
        ("digest",),
        r"(?i:digest)[ \t][^\n]{0,300}?\bresponse=\\?[\"']?(?P<secret>[0-9a-fA-F]{32,}+)",
    ),
    CredentialRule(
        ("hawk ",), r"\bHawk[ \t][^\n]{0,300}?\bmac=\\?[\"']?(?P<secret>[A-Za-z0-9+/]{16,}+={0,2})"
    ),
    CredentialRule(("apikey ",), r"\bApiKey[ \t](?P<secret>[A-Za-z0-9+/_-]{40,}+={0,2})", random_looking),
    CredentialRule(("geniekey ",), rf"\bGenieKey[ \t](?P<secret>{UUID})"),
    CredentialRule(("ssws ",), r"\bSSWS[ \t](?P<secret>00[A-Za-z0-9_-]{40})"),
    CredentialRule(
        ("bearer",),
        r"\b[Bb](?:earer|EARER)(?:[ \t]{1,3}|%20|\+)(?P<secret>[A-Za-z0-9._~+/=-]{16,}+)",
        _has_digit,
    ),
    CredentialRule(
        ("hooks.slack.com",),
        rf"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>{_WORD}{{6,}}+/[A-Za-z0-9/]{{20,}}+)",
    ),
    CredentialRule(
        ("/webhooks/",),
        rf"/api/(?:v[0-9]{{1,2}}/)?webhooks/[0-9]{{8,22}}/(?P<secret>{_WORDS}{{50,}}+)",
    ),
    CredentialRule(("hooks.zapier.com",), r"hooks\.zapier\.com/hooks/catch/[0-9]{4,12}/(?P<secret>\w{6,}+)"),
    CredentialRule(("/hooks/",), r"/hooks/(?P<secret>[a-z0-9]{26})(?!\w)", _has_digit),
    # What signs a person in, in a query or in a link of a mail.
    CredentialRule(
        ("code=", "ticket=", "invite="),
        r"[?&](?:code|ticket|invite)=(?P<secret>[A-Za-z0-9._~%+/=-]{20,}+)",
        lambda match: (
            is_random(match["secret"]) and re.search("[A-Za-z0-9]{16}", match["secret"]) is not None
        ),
    ),
    CredentialRule(
        ("/reset", "reset/", "/activate", "/magic", "/verify"),
        r"/(?:[\w-]{0,20}reset|reset[\w-]{0,20}|activate|magic[\w-]{0,10}|verify[\w-]{0,10})/(?:\w{1,20}/)?"
        r"(?P<secret>(?:[a-z0-9]{3,13}-[a-z0-9]{32,64}|[A-Za-z0-9_-]{24,}+)(?![\w-]))",
        random_looking,
    ),
    CredentialRule(("webhookb2",), r"webhookb2/(?P<secret>[\w@/-]{36,}+)"),
    CredentialRule(
        ("x-hub-signature",),
        rf"(?i:x-hub-signature(?:-256)?)[\"']?: ?[\"']?sha(?:1|256)=(?P<secret>{_HEX}{{40,}}+)",
    ),
    CredentialRule(
        ("identified",),
        r"(?i:identified[ \t]+by)[ \t]+(?P<quote>['\"])(?P<secret>[^'\"\n]+)(?P=quote)",
    ),
    CredentialRule(
        ("securestring",),
        r"(?i:securestring)[ \t]+(?P<quote>['\"])(?P<secret>[^'\"\n$]+)(?P=quote)",
    ),
    CredentialRule(
        ("set_password(",),
        r"set_password\((?:[^,()\n]{1,80},\s{0,20}){2}[bBuU]?(?P<quote>['\"])(?P<secret>[^'\"\n]+)(?P=quote)",
        _is_password,
    ),
    CredentialRule(
        ("getpass",),
        r"(?i:getpass)['\"]?[.,][ \t]?return_value[ \t]?=[ \t]?(?P<quote>['\"])(?P<secret>[^'\"\n]+)(?P=quote)",
        lambda match: not is_test_value(match["secret"]),
    ),
    # An argument that is a key.
    CredentialRule(("fernet(",), r"Fernet\([bB]?['\"](?P<secret>[A-Za-z0-9+/_-]{43}=)['\"]"),
    CredentialRule(
        ("jwt.", "hmac.new("),
        r"(?:jwt\.(?:en|de)code\([^,()\n]{1,200},[ \t]?(?:key=)?|hmac\.new\((?:key=)?)[bB]?(?P<quote>['\"])"
        r"(?P<secret>[^'\"\n]+)(?P=quote)",
        _is_password,
    ),
    CredentialRule(("pwd={", "password={"), r"(?i:pwd|password)=\{(?P<secret>[^{}\n]{4,80})\}", _is_no_field),
    # Lines of /etc/shadow, of htpasswd and of network devices.
    CredentialRule(
        (":$", "secret 5 $", "secret 8 $", "secret 9 $"),
        r"(?:(?<=:)|(?<=secret [589] ))"
        r"(?P<secret>\$(?:1|2[abxy]|5|6|7|8|9|y|gy|apr1|sha1|argon2id?)\$[A-Za-z0-9./$,=+-]{16,}+)",
    ),
    CredentialRule(
        ("wpa_passphrase ",), r"wpa_passphrase[ \t]+\S{1,40}[ \t]+(?P<secret>[^\s'\"`]{8,})", _is_password
    ),
    CredentialRule(
        ("net use ",),
        r"(?i:net use)[ \t][^\n]{1,200}?/user:\S{1,80}[ \t]+(?P<secret>[^\s'\"/]+)",
        _is_password,
    ),
    CredentialRule(
        ("add-mask::",),
        r"(?i:add-mask)::(?P<secret>[^\n]+)",
        lambda match: not is_placeholder(match["secret"]),
    ),
    CredentialRule(
        ('"username', "'username"),
        r"[\"']username\\?[\"']:[ \t]?\\?[\"'][^\"'\n]{1,80}[\"'],[ \t]?"
        r"\\?[\"']key\\?[\"']:[ \t]?\\?[\"'](?P<secret>[a-f0-9]{32})(?!\w)",
    ),
    # Words of a wallet.
    CredentialRule(
        ("mnemonic", "seed", "recovery"),
        r"(?i:mnemonic|(?:seed|recovery)[ _-]?(?:phrase|words?))\\?[\"']?[ \t]{0,20}[:=][ \t]{0,20}\\?[\"']?"
        r"(?P<secret>[a-z]{3,8}(?: [a-z]{3,8}){11,23})(?![ \w])",
    ),
)

_BY_GUARD = [
    [(guard, rule) for rule in rules for guard in rule.guards] for rules in (TOKENS, _SYNTAXES, _COMMANDS)
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
        spans = _without_marks(text, _unwrapped(text, _merged(_spans(text))))
        if not spans:
            break
        text = _hide(text, spans, hidden, first)
    return _numbered(text, hidden, {} if numbers is None else numbers, first) if hidden else text


def mark(value: str, numbers: MutableMapping[str, int]) -> str:
    """The placeholder of a part of a credential, which alone does not look like one."""
    return f"<redacted {numbers.setdefault(value, max(numbers.values(), default=0) + 1)}>"


def redact_known(text: str, numbers: MutableMapping[str, int]) -> str:
    """Replace the credentials that other texts showed with their names, also what pytest or unittest left of them.

    A short value, and a word without digits and signs, are only replaced where they are a whole literal or a whole
    line of a diff. The lines of a value of several lines are replaced, too.

    :param numbers: the numbers of these credentials; those of shortened ones are added.
    """
    known = [value for value in numbers if len(value) >= _KNOWN_LENGTH][-_KNOWN:]
    known += [line for value in known if "\\" in value for line in _lines_of(value)][-_KNOWN:]
    parts = compiled(_GAP).split(text) if known else [text]

    def hidden(left: re.Match[str]) -> str:
        ends = left[0][:_PART], left[0][-_PART:]
        return mark(left[0], numbers) if any(end in value for value in known for end in ends) else left[0]

    for place in range(1, len(parts), 2):
        before, after = parts[place - 1], parts[place + 1]
        size = max((_left_of(value, before, is_start=True) for value in known), default=0)
        if size:
            parts[place - 1] = before[:-size] + mark(before[-size:], numbers)
        size = max((_left_of(value, after, is_start=False) for value in known), default=0)
        if size:
            parts[place + 1] = mark(after[:size], numbers) + after[size:]
        parts[place - 1] = compiled(_BEFORE_GAP).sub(hidden, parts[place - 1])
        parts[place + 1] = compiled(_AFTER_GAP).sub(hidden, parts[place + 1])
    text = "".join(parts)
    for value in sorted(known, key=len, reverse=True):  # one may be a part of another
        if value in text:
            word = re.escape(value)
            whole = rf"(?<=['\"]){word}(?=['\"])|(?m:(?<=[-+] ){word}$)"
            is_sure = is_mixed(value) and len(value) >= _REPEATED_LENGTH
            text = re.sub(_anywhere(value) if is_sure else whole, mark(value, numbers), text)
    return text


def _left_of(value: str, text: str, *, is_start: bool) -> int:
    """How many characters of a text beside a gap are the start or the end of a value; 0 for a part of a word."""
    edge = text[-_FEWEST_LEFT:] if is_start else text[:_FEWEST_LEFT]
    if edge not in value:  # most often, and much faster
        return 0
    for size in range(min(len(value), len(text), _MOST_LEFT), _FEWEST_LEFT - 1, -1):
        beside = text[-size - 1 : -size] if is_start else text[size : size + 1]
        # Between spaces, so few characters are a word; pytest shortens what is in quotes or brackets.
        if (
            not beside.isalnum()
            and not (size < _SURELY_LEFT and beside in ("", " ", "\n"))
            and (text.endswith(value[:size]) if is_start else text.startswith(value[-size:]))
        ):
            return size
    return 0


def _lines_of(value: str) -> Iterator[str]:
    """The lines of a value without the escapes of a literal, as a diff has them."""
    plain = re.sub(
        r"\\([\\'\"tnr])", lambda match: {"t": "\t", "n": "\n", "r": "\n"}.get(match[1], match[1]), value
    )
    for line in plain.split("\n"):
        if len(line) >= _REPEATED_LENGTH:
            yield line


def _anywhere(value: str) -> str:
    """The pattern of a value outside of marks; of a short one also outside of words."""
    if len(value) >= _IN_WORDS_LENGTH and sum(map(str.isdigit, value)) >= 2:
        return rf"(?<!<){re.escape(value)}"
    return rf"(?<![\w<]){re.escape(value)}(?!\w)"


def _next_number(text: str, numbers: MutableMapping[str, int] | None) -> int:
    taken = [int(number) for number in MARK.findall(text)] if "<redacted " in text else []
    return max((*taken, *(numbers or {}).values()), default=0) + 1


def _spans(text: str) -> Iterator[tuple[int, int]]:
    # A token is one long word: of most texts little is left to search for so many prefixes.
    words = " ".join(dict.fromkeys([word for word in text.split() if len(word) >= SHORTEST]))
    for rule in _guarded(_BY_GUARD[0], words) if words else ():
        if compiled(rule.pattern).search(words):
            yield from _matches(rule, text)
    folded = text.lower()
    if len(folded) != len(text):  # a few letters have two in lower case
        folded = re.sub("[A-Z]+", lambda match: match[0].lower(), text)
    rules = _guarded(_BY_GUARD[1], folded)
    if text[:1] == "-" or " -" in text or "'-" in text or '"-' in text or "pass:" in text:
        rules += _guarded(_BY_GUARD[2], folded)
    for rule in rules:
        yield from _matches(rule, text)
    yield from named_values(text, folded)
    if "where " in text:
        yield from introspected_values(text)
    if '"kty' in folded or "'kty" in folded:
        yield from jwk_values(text)
    if "cookie" in folded:
        yield from cookie_values(text)


def _guarded(rules: Sequence[tuple[str, CredentialRule]], text: str) -> list[CredentialRule]:
    """The rules of which the text holds a guard."""
    return list(dict.fromkeys([rule for guard, rule in rules if guard in text]))


def _matches(rule: CredentialRule, text: str) -> Iterator[tuple[int, int]]:
    regex, position = compiled(rule.pattern), 0
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
            position = max(start if end - start < LONG else end, match.start() + 1)


def _merged(spans: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif end > start:
            merged.append((start, end))
    return merged


def _unwrapped(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, each with the literals of the following lines that its string goes on in."""
    whole: list[tuple[int, int]] = []
    for start, end in spans:
        last = whole[-1][1] if whole else 0
        if start < last:  # found as well by itself
            start, end = whole.pop()[0], max(end, last)
        while end > last and (match := compiled(_NEXT_LITERAL).match(text, end)):
            if "<redacted " in match["more"]:
                break
            end = match.end("more")
        whole.append((start, end))
    return whole


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
    """The text with a mark of its own for each credential; ``hidden`` maps marks to values."""
    parts: list[str] = []
    done = 0
    for start, end in spans:
        number = first + len(hidden)
        hidden[number] = compiled(_BETWEEN_LITERALS).sub("", text[start:end])
        parts += (text[done:start], f"<redacted {number}>")
        done = end
    text = "".join((*parts, text[done:]))
    # The same value may be elsewhere without its name.
    values = [
        value
        for value in dict.fromkeys(hidden.values())
        if len(value) >= _REPEATED_LENGTH and is_mixed(value)
    ]
    for value in values[:_REPEATED]:
        if value in text:
            number = first + len(hidden)
            changed = re.sub(_anywhere(value), f"<redacted {number}>", text)
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


# --- untrusted text: sanitized, redacted, cut

_HEAD_SHARE = 0.6


def clean(text: str, limit: int | None = None, numbers: MutableMapping[str, int] | None = None) -> str:
    """Make a text fit to store and to show.

    :param limit: the most characters of the text to keep; None keeps all. Three fifths are from its start, the
        rest from its end. The line ``… N characters left out …`` between them does not count.
    :param numbers: the numbers of the credentials, shared with other texts.
    """
    # First visible, as escape sequences hide credentials; then redacted while each is still whole: half a
    # key no longer looks like one, and half a key is still a secret. Only then cut.
    shown = sanitize(text)
    # An invisible character in the middle hides them too: around a credential these characters are left out.
    bare = shown if text.isascii() else stripped(text)
    text = redact(bare if bare != shown and redact(bare) != bare else shown, numbers)
    if limit is None or len(text) <= limit:
        return text
    # The cut may put a CI command at the start of a line.
    return sanitize(_cut(text, max(limit, 0)))


def _cut(text: str, limit: int) -> str:
    head = int(limit * _HEAD_SHARE)
    tail = len(text) - (limit - head)
    return f"{text[:head]}\n… {tail - head} characters left out …\n{text[tail:]}"
