"""What a value looks like: random, a word, a sentence, a placeholder, or what tests use for any credential."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from functools import cache

#: Patterns are compiled when they are first needed: most texts need few of them.
compiled = cache(re.compile)


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as text."""
    return frozenset(text.split())


_PLACEHOLDER = (
    r"\*+|\[redacted\]|<[^<>]*>|\{[^{}]*\}|\$\w+|\$\{[^{}]*\}|\$\([^()]*\)|%s|%\(\w+\)s|None|null"
    r"|\.{2,}|…|\W*|(?i:x+)|\[[A-Z_ ]+\]|[a-z_.-]+[=:]|[A-Z_]+[=:]|[ ),\]].*"
)
_WORDS_THEN_NUMBER = r"[A-Za-z]++(?:(?:[_.-][A-Za-z]++)++[_.-]?[0-9]*|[0-9]{0,3})"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_CODE = (
    r"(?s)[/~.$%*:\\?-].*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)++|[A-Za-z]:.*|None|True|False|null|true|false|\W+"
    r"|.*aws4_request"
)
_PATH = r"(?:[A-Za-z]:)?[/\\~.][^/\\]*[/\\].*|/\w*|~"
# Words of values that tests use for any credential.
_TEST_WORDS = words(
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
# Words that sentences have, and names do not.
_SENTENCE_WORDS = words(
    """
    is are was were be been must should shall can cannot may might will would not no this that these the a an your
    field required invalid incorrect wrong too at least most than characters does do did don't doesn't has have had
    please enter forgot for of to with in on from by it its must match matches need needs provide missing expected
    got
    """
)


def _is_placeholder(value: str) -> bool:
    """Whether the value is hidden already, or to be filled in."""
    rest = compiled(r"%\(\w+\)s|%[sdr]|\{[^{}]*\}").sub("", value[:256])  # fields to be filled in
    return compiled(_PLACEHOLDER).fullmatch(value) is not None or compiled(r"\W*").fullmatch(rest) is not None


def _is_test_value(value: str) -> bool:
    """Too short for a credential, or nothing but words that tests use for any."""
    if len(value) <= 3 or (len(value) == 4 and value.isdigit()):
        return True
    if len(value) > 60 or compiled(r"[0-9][A-Za-z]|[0-9]{4}|[^\w .:/-]").search(value):
        return False
    found = re.findall("[a-z]+", compiled("(?<=[a-z])(?=[A-Z])").sub(" ", value).lower())
    return bool(found) and _TEST_WORDS.issuperset(found)


def _is_sentence(value: str) -> bool:
    """Whether it has several words, and one that sentences have."""
    return " " in value and not _SENTENCE_WORDS.isdisjoint(re.findall("[a-z']+", value[:256].lower()))


def _is_value(value: str) -> bool:
    """Whether it may be a credential if its name says so."""
    return not (_is_placeholder(value) or _is_test_value(value) or _is_sentence(value))


def _is_mixed(value: str) -> bool:
    """Whether it has letters, and digits or signs besides."""
    is_padded = "=" in value[-2:] and _is_of_both_cases(value)
    return compiled("[A-Za-z]").search(value) is not None and (
        is_padded or compiled("[0-9!@#$%^&*?+~]").search(value) is not None
    )


def _is_of_both_cases(value: str) -> bool:
    return value.lower() != value != value.upper()


def _is_random(value: str) -> bool:
    """Letters of both cases and digits, or many digits and letters in a row: no word, no name of a CSS class."""
    has_digit = compiled("[0-9]").search(value) is not None
    return has_digit and (_is_of_both_cases(value) or compiled("[A-Za-z0-9]{20}").search(value) is not None)


def _is_shaped(value: str) -> bool:
    """Letters mixed with digits beyond words and their number, base64 with its padding, or letters in no order."""
    is_hash = compiled("(?:sha[0-9]{1,3}|md5)[-=:]?").match(value) is not None
    if value.endswith("=") and not is_hash and _is_of_both_cases(value):
        return "." not in value[:-1] and "=" not in value[:-2]
    runs = re.findall("[a-z]+", value)
    if len(value) >= 20 and value.isalnum() and _is_of_both_cases(value):
        # In ``camelCase`` words have three small letters, and vowels.
        is_cut_short = len(runs) >= 4 and sum(len(run) < 3 for run in runs) * 2 > len(runs)
        if is_cut_short or compiled("(?i)[b-df-hj-np-tv-xz]{6}").search(value):
            return True
    is_path = "/" in value and not (_is_of_both_cases(value) and "." not in value and value[0] != "/")
    has_digits = len(re.findall("[0-9]", value)) > 1 and _is_mixed(value)
    is_word = compiled(_WORDS_THEN_NUMBER).fullmatch(value) is not None
    return has_digits and not (is_word or is_path or is_hash)


def _is_of_basic(value: str) -> bool:
    """Whether it is the base64 of ``user:password``."""
    try:
        user, colon, password = a2b_base64(value + "=" * (-len(value) % 4)).decode().partition(":")
    except ValueError:
        return False
    return bool(user and colon and password) and (user + password).isprintable()


def _has(pattern: str) -> Callable[[str], bool]:
    return lambda value: compiled(pattern).search(value) is not None


def _has_not(pattern: str) -> Callable[[str], bool]:
    return lambda value: compiled(pattern).fullmatch(value) is None


#: What ``secrets.txt`` may ask of a value.
SHAPES: Mapping[str, Callable[[str], bool]] = {
    "any": lambda value: True,
    "word": _is_value,
    "mixed": _is_mixed,
    "shaped": _is_shaped,
    "random": _is_random,
    "cased": lambda value: _is_of_both_cases(value) and len(re.findall("[0-9]", value)) > 1,
    "digit": _has("[0-9]"),
    "run": _has("[A-Za-z0-9]{16}"),
    "six": lambda value: len(value) >= 6,
    "long": lambda value: len(value) >= 8,
    "lone": _has_not(r"(?s).*[\s/].*"),
    "bare": _has_not(_CODE),
    "constantless": _has_not("[A-Z_]+"),
    "data": lambda value: "(" not in value and not compiled(_PATH).fullmatch(value),
    "undigested": _has_not("[0-9a-f]+|[0-9A-F-]+"),
    "keyed": lambda value: (
        _is_shaped(value)
        and compiled("[A-Za-z0-9]{16}").search(value) is not None
        and compiled(f"{_UUID}|[0-9a-f]+").fullmatch(value) is None
    ),
    "userinfo": _is_of_basic,
}
