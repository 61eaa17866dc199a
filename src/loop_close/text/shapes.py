"""What a value looks like: random, a word, a sentence, a placeholder, or what tests use for any credential."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable
from functools import cache

from loop_close.text.tables import compiled, rows

_WORDS_THEN_NUMBER = r"[A-Za-z]++(?:(?:[_.-][A-Za-z]++)++[_.-]?[0-9]*|[0-9]{0,3})"


@cache
def vocabulary(name: str) -> frozenset[str]:
    """The words of this name in ``secrets.txt``."""
    return frozenset(dict(rows("secrets.txt")["words"])[name].split())


@cache
def shape(name: str) -> Callable[[str], bool]:
    """Whether a value looks like what ``secrets.txt`` calls so."""
    if name in _SHAPES:
        return _SHAPES[name]
    regex = re.compile(dict(rows("secrets.txt")["shapes"])[name], re.DOTALL)
    return lambda value: regex.match(value) is not None


def _is_value(value: str) -> bool:
    """Whether it may be a credential if its name says so: no placeholder, no sentence, no value of a test."""
    is_sentence = " " in value and not vocabulary("sentence").isdisjoint(re.findall("[a-z']+", value.lower()))
    return shape("filled")(value) and not (is_sentence or _is_test_value(value))


def _is_test_value(value: str) -> bool:
    """Too short for a credential, or nothing but words that tests use for any."""
    if len(value) <= 3 or (len(value) == 4 and value.isdigit()):
        return True
    if len(value) > 60 or compiled(r"[0-9][A-Za-z]|[0-9]{4}|[^\w .:/-]").search(value):
        return False
    found = re.findall("[a-z]+", compiled("(?<=[a-z])(?=[A-Z])").sub(" ", value).lower())
    return bool(found) and vocabulary("test").issuperset(found)


def _is_shaped(value: str) -> bool:
    """Letters mixed with digits beyond words and their number, base64 with its padding, or letters in no order."""
    is_hash = compiled("(?:sha[0-9]{1,3}|md5)[-=:]?").match(value) is not None
    has_both = value.lower() != value != value.upper()
    if value.endswith("=") and not is_hash and has_both:
        return "." not in value[:-1] and "=" not in value[:-2]
    if len(value) >= 20 and value.isalnum() and has_both:
        # In ``camelCase`` words have three small letters, and vowels.
        runs = re.findall("[a-z]+", value)
        is_cut_short = len(runs) >= 4 and sum(len(run) < 3 for run in runs) * 2 > len(runs)
        if is_cut_short or compiled("(?i)[b-df-hj-np-tv-xz]{6}").search(value):
            return True
    is_path = "/" in value and not (has_both and "." not in value and value[0] != "/")
    has_digits = len(re.findall("[0-9]", value)) > 1 and shape("mixed")(value)
    is_word = compiled(_WORDS_THEN_NUMBER).fullmatch(value) is not None
    return has_digits and not (is_word or is_path or is_hash)


def _is_userinfo(value: str) -> bool:
    """Whether it is the base64 of ``user:password``."""
    try:
        user, colon, password = a2b_base64(value + "=" * (-len(value) % 4)).decode().partition(":")
    except ValueError:
        return False
    return bool(user and colon and password) and (user + password).isprintable()


_SHAPES = {"word": _is_value, "shaped": _is_shaped, "userinfo": _is_userinfo}
