"""Credentials out of text, before anything is stored or shown.

One ordered table. What has a shape of its own (vendor tokens, keys, headers) is found by its shape;
everything else by the name it is assigned to. A name such as ``password`` is enough for a quoted value; an
ambiguous one such as ``token`` needs a value that looks like a credential, as parsers have tokens and dicts
have keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from loop_close.text import _assigned

REDACTED = "[redacted]"

# A refused match this long is passed over whole, so that nested refusals cannot add up to quadratic time.
_LONG = 256


class Secret(NamedTuple):
    """One way a credential is written.

    :ivar guards: lower case; a text that holds none of them is not searched at all.
    :ivar regex: with a group ``secret``, the part to hide.
    :ivar accept: has the last word on a match.
    """

    name: str
    guards: tuple[str, ...]
    regex: re.Pattern[str]
    accept: Callable[[re.Match[str]], bool] = lambda match: True


def _is_random(match: re.Match[str]) -> bool:
    # "sk-" also starts the CSS classes of scikit-learn's HTML reprs.
    value = match["secret"]
    mixed = bool(re.search("[0-9]", value) and re.search("[A-Z]", value) and re.search("[a-z]", value))
    return mixed or bool(re.search("[A-Za-z0-9]{20}", value) and re.search("[0-9]", value))


def _has_digit(match: re.Match[str]) -> bool:
    return re.search("[0-9]", match["secret"]) is not None


def _is_password(match: re.Match[str]) -> bool:
    # Not a placeholder, and not "host:8080?mail=a@b".
    return re.match(r"\*+$|\[redacted\]$|[{$<%]|[0-9]+[?#]", match["secret"]) is None


# The prefixes are those of the vendors' documentation and of GitHub's list of supported secret scanning
# patterns. A left boundary keeps each pattern from starting again inside what it just refused; it is written
# after the prefix, as "re" searches fast only for a pattern that starts with its literal.
# Ordered: names before shapes, and shapes without boundaries before those that another secret can touch.
SECRETS: tuple[Secret, ...] = (
    Secret(
        "private_key",
        ("private key-----",),
        # Without its END line a key goes as far as there are lines of base64, or to the end of a quoted run.
        re.compile(
            r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY-----"
            r"(?P<secret>(?:[^-]|-(?!----))*+(?=-----END )"
            r"|[^\s-]*+(?:\n[ \tE>+|]*+[A-Za-z0-9+/=]{16,}+(?=\s|$))*+)"
        ),
        lambda match: match["secret"].strip("\\nr \n") not in ("", REDACTED),
    ),
    Secret(
        "private_key_tail",
        ("private key-----",),
        # The start was cut off, perhaps within a line: the lines of base64 before END. Without END it matches
        # too, to be refused at once.
        re.compile(
            r"^(?P<secret>(?:\A[A-Za-z0-9+/=]++\n)?(?:[ \tE>+|]*+[A-Za-z0-9+/=]{16,}+\n)*+"
            r"(?:[ \tE>+|]*+[A-Za-z0-9+/=]++\n)?)"
            r"(?P<end>[ \tE>+|]*+-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY-----)?",
            re.MULTILINE,
        ),
        lambda match: bool(match["secret"] and match["end"]),
    ),
    Secret(
        "url_password", ("://",), re.compile(r"://[^\s/?#@:'\"<>]*+:(?P<secret>[^\s/'\"<>]+)@"), _is_password
    ),
    Secret(
        "authorization",
        ("authorization",),
        re.compile(
            r"(?i:authorization)\\?[\"']?[ \t]{0,3}[:=,][ \t]{0,3}[bBuU]?\\?[\"']?"
            r"(?i:bearer|basic|token|digest|negotiate|apikey)[ \t]{1,3}(?P<secret>[A-Za-z0-9._~+/=:-]+)"
        ),
    ),
    Secret(
        "bearer",
        ("bearer",),
        re.compile(r"\b[Bb](?:earer|EARER)[ \t]{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,}+)"),
        _has_digit,
    ),
    Secret("quoted", _assigned.GUARDS, _assigned.QUOTED, _assigned.is_quoted_secret),
    Secret("bare", _assigned.GUARDS, _assigned.BARE, _assigned.is_bare_secret),
    Secret("ambiguous", _assigned.AMBIGUOUS_GUARDS, _assigned.AMBIGUOUS, _assigned.is_shaped_secret),
    Secret(
        "github",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(
            r"(?P<secret>gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_[A-Za-z0-9]{20,}+(?:_[A-Za-z0-9]++)?)"
        ),
    ),
    Secret(
        "stripe",
        ("_live_", "_test_", "whsec_"),
        re.compile(r"(?P<secret>(?:[srp]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}+)"),
    ),
    Secret("npm", ("npm_",), re.compile(r"(?P<secret>npm_[A-Za-z0-9]{36,}+)")),
    Secret("pypi", ("pypi-agei",), re.compile(r"(?P<secret>pypi-AgEI(?:(?!pypi-AgEI)[A-Za-z0-9_-])++)")),
    Secret(
        "aws_access_key_id",
        ("akia", "asia", "aroa", "aida"),
        re.compile(r"(?P<secret>A(?<![A-Za-z0-9]A)(?:KI|SI|RO|ID)A[A-Z2-7]{16})(?![A-Za-z0-9])"),
    ),
    Secret(
        "gitlab", ("glpat-",), re.compile(r"(?P<secret>glpat-(?<![A-Za-z0-9_-]glpat-)[A-Za-z0-9_.-]{20,}+)")
    ),
    Secret("hugging_face", ("hf_",), re.compile(r"(?P<secret>hf_(?<![A-Za-z0-9]hf_)[A-Za-z0-9]{30,}+)")),
    Secret(
        "sendgrid",
        ("sg.",),
        re.compile(r"(?P<secret>SG\.(?<![A-Za-z0-9]SG\.)[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+)"),
    ),
    Secret("google_oauth", ("ya29.",), re.compile(r"(?P<secret>ya29\.[A-Za-z0-9_-]{20,}+)")),
    Secret("digitalocean", ("_v1_",), re.compile(r"(?P<secret>do[opr]_v1_[a-f0-9]{64})")),
    Secret(
        "slack_webhook",
        ("hooks.slack.com",),
        re.compile(
            r"hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9]{6,}+/[A-Za-z0-9]{6,}+/[A-Za-z0-9]{16,}+)"
        ),
    ),
    Secret("slack", ("xox",), re.compile(r"(?P<secret>xox(?<![A-Za-z0-9-]xox)[a-z]-[A-Za-z0-9-]{10,}+)")),
    Secret(
        "sk", ("sk-",), re.compile(r"(?P<secret>sk-(?<![A-Za-z0-9_-]sk-)[A-Za-z0-9_-]{20,}+)"), _is_random
    ),
    Secret("google", ("aiza",), re.compile(r"(?P<secret>AIza(?<![A-Za-z0-9_-]AIza)[A-Za-z0-9_-]{35,}+)")),
    Secret(
        "jwt",
        ("eyj",),
        # RFC 7519: header and payload are JSON objects, so base64url of '{"'. An unsigned one ends in its
        # dot.
        re.compile(
            r"(?P<secret>eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{6,}+\.eyJ[A-Za-z0-9_-]{2,}+\.[A-Za-z0-9_-]*+)"
        ),
    ),
)


def _shortest(guards: Iterable[str]) -> tuple[str, ...]:
    """Stems of which every guard holds one: a text without them holds none, and most texts are without."""
    kept: list[str] = []
    for guard in sorted((_stem(guard) for guard in guards), key=len):
        if not any(shorter in guard for shorter in kept):
            kept.append(guard)
    return tuple(kept)


def _stem(guard: str) -> str:
    stem = guard.rstrip("=:'\"] \t_-\\")
    return stem if len(stem) > 2 else guard  # "sk" alone is in every task


_HINTS = _shortest(guard for secret in SECRETS for guard in secret.guards)


def redact(text: str) -> str:
    """Replace each credential by ``[redacted]``; the name it has stays.

    :param text: sanitized text; an escape sequence in the middle hides a credential.
    :returns: the text, longer or shorter. Clean text costs a few substring searches. Applied twice it changes
        nothing more.
    """
    folded = text.lower()
    if not any(map(folded.__contains__, _HINTS)):
        return text
    for secret in SECRETS:
        if any(map(folded.__contains__, secret.guards)):
            text = _hide(secret, text)
    return text


def _hide(secret: Secret, text: str) -> str:
    parts: list[str] = []
    done = position = 0
    # A position past the end would be taken for the end, and found again for ever.
    while position < len(text) and (match := secret.regex.search(text, position)):
        start, end = match.span("secret")
        if secret.accept(match):
            parts += (text[done:start], REDACTED)
            done = position = end
        else:
            # What was refused may hold another name and its value.
            position = max(start if end - start < _LONG else end, match.start() + 1)
    return "".join((*parts, text[done:]))
