"""What a value looks like: random, a word, a sentence, a placeholder, or what tests use for any credential."""

from __future__ import annotations

import re
from functools import cache

#: A refused match this long is passed over whole, so that nested refusals cannot add up to quadratic time.
LONG = 256
#: No token of a vendor is shorter.
SHORTEST = 15
#: Patterns are compiled when they are first needed: most texts need few of them.
compiled = cache(re.compile)


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as text."""
    return frozenset(text.split())


_PLACEHOLDER = (
    r"\*+|\[redacted\]|<[^<>]*>|\{[^{}]*\}|\$\w+|\$\{[^{}]*\}|\$\([^()]*\)|%s|%\(\w+\)s|None|null"
    r"|\.{2,}|…|\W*|(?i:x+)|\[[A-Z_ ]+\]"
)
_WORDS_THEN_NUMBER = r"[A-Za-z]++(?:(?:[_.-][A-Za-z]++)++[_.-]?[0-9]*|[0-9]{0,3})"
_DIGEST = r"[0-9a-f]+"
#: A UUID in letters of either case.
ANY_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
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
#: Words that sentences have, and names do not.
SENTENCE = words(
    """
    is are was were be been must should shall can cannot may might will would not no this that these the a an your
    field required invalid incorrect wrong too at least most than characters does do did don't doesn't has have had
    please enter forgot for of to with in on from by it its must match matches need needs provide missing expected
    got
    """
)


def is_random(value: str) -> bool:
    """Letters of both cases and digits, or many digits and letters in a row: no word, no name of a CSS class."""
    mixed = bool(re.search("[0-9]", value) and re.search("[A-Z]", value) and re.search("[a-z]", value))
    return mixed or bool(re.search("[A-Za-z0-9]{20}", value) and re.search("[0-9]", value))


def is_placeholder(value: str) -> bool:
    """Whether the value is hidden already, or to be filled in."""
    rest = re.sub(r"%\(\w+\)s|%[sdr]|\{[^{}]*\}", "", value[:LONG])  # fields to be filled in
    return compiled(_PLACEHOLDER).fullmatch(value) is not None or re.fullmatch(r"\W*", rest) is not None


def is_test_value(value: str) -> bool:
    """Too short for a credential, or nothing but words that tests use for any."""
    if len(value) <= 3 or (len(value) == 4 and value.isdigit()):
        return True
    if len(value) > 60 or re.search(r"[0-9][A-Za-z]|[0-9]{4}|[^\w .:/-]", value):
        return False
    words = re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", value).lower())
    return bool(words) and _TEST_WORDS.issuperset(words)


def _is_scrambled(value: str) -> bool:
    """Letters of both cases in no order: in ``camelCase`` words have three small letters, and vowels."""
    if len(value) < 20 or not value.isalnum() or value.islower() or value.isupper():
        return False
    runs = re.findall("[a-z]+", value)
    is_cut_short = len(runs) >= 4 and sum(len(run) < 3 for run in runs) * 2 > len(runs)
    return is_cut_short or re.search("(?i)[b-df-hj-np-tv-xz]{6}", value) is not None


def is_sentence(value: str) -> bool:
    """Whether it has several words, and one that sentences have."""
    return " " in value and not SENTENCE.isdisjoint(re.findall("[a-z']+", value[:LONG].lower()))


def is_mixed(value: str) -> bool:
    """Whether it has letters, and digits or signs besides."""
    if re.search("[A-Za-z]", value) is None:
        return False
    is_padded = re.search("[A-Za-z]{7}={1,2}$", value) is not None and value.lower() != value != value.upper()
    return is_padded or re.search("[0-9!@#$%^&*?+~]", value) is not None


def is_shaped(value: str, key: str) -> bool:
    """Letters mixed with digits beyond words and their number; for a mere ``key`` no digest and no UUID."""
    if value[-1] == "=" and value[:3] not in ("sha", "md5") and value.lower() != value != value.upper():
        return "." not in value[:-1] and "=" not in value[:-2]  # base64 with its padding
    if key != "key" and _is_scrambled(value):
        return True
    if (
        sum(map(str.isdigit, value)) < 2
        or not is_mixed(value)
        or compiled(_WORDS_THEN_NUMBER).fullmatch(value)
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
    is_digest = len(value) in (32, 40, 64, 128) and compiled(_DIGEST).fullmatch(value)
    return re.search("[A-Za-z0-9]{16}", value) is not None and not is_digest
