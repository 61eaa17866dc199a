"""Credentials out of text, before anything is stored or shown.

``secrets.txt`` has a line for each form of a credential: tokens of vendors, syntaxes such as headers and commands, and
what is assigned to a name such as ``password``. ``docs/secrets.md`` has the limits.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from functools import cache
from itertools import count
from typing import NamedTuple

from loop_close.text import compiled, guards, rows, sanitize, stripped

_compile = re.compile  # programs under test replace functions while we run

#: Replaces a credential: equal numbers are equal credentials, in the order in which they first appear.
MARK = re.compile(r"<redacted ([1-9][0-9]{0,8})>")

#: A refused match this long is passed over whole, so that nested refusals cannot add up to quadratic time.
_LONG = 256
#: The most values that are looked for elsewhere, and the fewest characters of one; of a line of one.
_MOST_VALUES, _LEAST_VALUE, _LEAST_LINE = 200, 4, 6
#: A value this long is looked for within words, too.
_LONG_VALUE = 10
#: No token of a vendor is shorter.
_SHORTEST_TOKEN = 15
#: Hiding one credential may show another.
_ROUNDS = 4
#: How much of what is before a name is looked at.
_BEFORE_NAME = 250
#: Names of these kinds count within a longer word, too.
_WITHIN_WORDS = frozenset(("strong", "weak", "session", "none"))
# What a name may go on with.
_TAIL = r"(?:s|[kK]ey|KEY)?[0-9]{0,4}(?>(?:[_-][\w-]{0,40}|(?<=[a-z0-9])[A-Z]\w{0,40}|ID|id)?)(?!\w)"
# pprint and formatters wrap a long string over literals of several lines.
_BETWEEN_LITERALS = r"['\"][ \t]{0,3}\\?\n[ \tE>+|-]{0,200}[bBuUrRfF]{0,2}['\"]"
_NEXT_LITERAL = (
    r"['\"][ \t]{0,3}\\?\n[ \tE>+|-]{0,200}[bBuUrRfF]{0,2}(?P<quote>['\"])"
    r"(?P<more>(?>(?:(?!(?P=quote)|<redacted )(?:\\[^\n]|[^\\\n]))+))(?=(?P=quote)(?![ \t]{0,3}[:=]))"
)
# What pytest and unittest write for the middle of a long value. So few characters beside it are hidden at least, so
# many outside of quotes, so many of the middle of a value; so many are looked at.
_FEWEST_LEFT, _SURELY_LEFT, _PART, _MOST_LEFT = 2, 4, 6, 200
_GAP = r"(\.\.\.|\[[0-9]{1,9} chars\])"


class Form(NamedTuple):
    """One way to write a credential.

    :ivar shapes: what its value must look like. ``guards``: a text that holds none of them is not searched.
    :ivar pattern: has a group ``secret``; ``scope``: another pattern, within whose matches it is searched for.
    :ivar before: only for values of names: what is before, up to the end of the name.
    """

    shapes: tuple[Callable[[str], bool], ...]
    guards: tuple[str, ...]
    pattern: str
    scope: str = r"(?s)\A.*"
    before: str = ""

    def accepts(self, match: re.Match[str]) -> bool:
        """Whether the secret of a match looks like one."""
        return match["secret"] != "" and all(is_like(match["secret"]) for is_like in self.shapes)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where its credentials are in a text."""
        for scope in compiled(self.scope).finditer(text):
            start, end = scope.span()
            while start < end and (match := compiled(self.pattern).search(text, start, end)):
                first, last = match.span("secret")
                is_secret = self.accepts(match)
                if is_secret:
                    yield first, last
                # What was refused may hold another name and its value.
                start = max(last if is_secret or last - first >= _LONG else first, match.start() + 1)


@cache
def tokens() -> list[tuple[str, Form]]:
    """The forms of tokens, each with the part that a text must hold to be searched."""
    table = rows("secrets.txt")
    forms = [_token(*row) for row in table["tokens"]]
    forms += [Form(_shapes(shapes), (part,), pattern) for shapes, part, pattern in table["parts"]]
    return [(guard, form) for form in forms for guard in form.guards]


@cache
def syntaxes() -> list[tuple[str, Form]]:
    """The forms of all else that is not assigned to a name, as :func:`tokens`; texts are searched in lower case."""
    table = rows("secrets.txt")
    forms = [
        Form(_shapes(shapes), guards(held), pattern, *scope)
        for shapes, held, *scope, pattern in (*table["forms"], *table["scoped"])
    ]
    return [(guard, form) for form in forms for guard in form.guards]


@cache
def _values() -> dict[str, list[Form]]:
    """The forms of what is assigned to a name, by the kind of the name."""
    found: dict[str, list[Form]] = {}
    for kinds, shapes, before, pattern in rows("secrets.txt")["values"]:
        form = Form(_shapes(shapes), (), pattern, before="" if before == "-" else f"(?:{before})$")
        for kind in kinds.split(","):
            found.setdefault(kind, []).append(form)
    return found


@cache
def _kinds() -> dict[str, str]:
    """The kind of each name of a credential, which is written without underscores."""
    table = rows("secrets.txt")["names"]
    return {name.replace("_", ""): kind for kind, names in table for name in names.split()}


@cache
def _names() -> re.Pattern[str]:
    """Finds the name of a credential in lower case."""
    words = (name for _, names in rows("secrets.txt")["names"] for name in names.split())
    names = sorted(words, key=len, reverse=True)
    return _compile("|".join(_starting_with(letter, names) for letter in {name[0] for name in names}))


def _shapes(names: str) -> tuple[Callable[[str], bool], ...]:
    return tuple(map(shape, names.split("+")))


def _starting_with(letter: str, names: Iterable[str]) -> str:
    rests = (name[1:].replace("_", "[_-]?") for name in names if name[0] == letter)
    return f"{letter}(?:{'|'.join(rests)})"


def _token(shapes: str, prefixes: str, rest: str) -> Form:
    # A token does not start within a word; a repr or a URL may have "\n" or "%20" in front. This is written after the
    # prefix, as "re" searches fast only for a pattern that starts with its literal.
    starts = (
        rf"{start}(?:(?<![A-Za-z0-9]{start})|(?<=\\[nrt]{start})|(?<=%[0-9A-Fa-f][0-9A-Fa-f]{start}))"
        for start in map(re.escape, prefixes.split())
    )
    return Form(_shapes(shapes), tuple(prefixes.split()), f"(?P<secret>(?:{'|'.join(starts)}){rest})")


# --- what a value looks like: random, a word, a sentence, a placeholder, or what tests use for any credential

_WORDS_THEN_NUMBER = r"[A-Za-z]++(?:(?>(?:[_.-][A-Za-z]++)+)[_.-]?[0-9]*|[0-9]{0,3})"


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


# --- credentials hidden


def redact(text: str, numbers: MutableMapping[str, int] | None = None) -> str:
    """Replace each credential by ``<redacted 1>`` wherever it occurs, equal ones by equal numbers; its name stays.

    :param text: sanitized text; an escape sequence in the middle hides a credential.
    :param numbers: the numbers of credentials of texts that are shown or compared together; those of this text are
        added. Without it each text counts for itself.
    :returns: the text, longer or shorter. Applied twice it changes nothing more.
    """
    numbers = {} if numbers is None else numbers
    for _ in range(_ROUNDS):
        spans = _whole_spans(text, _spans(text))
        if not spans:
            break
        values = [compiled(_BETWEEN_LITERALS).sub("", text[start:end]) for start, end in spans]
        counts = Counter(values)
        marked = _marker(text, numbers)
        hidden = _hider([value for value in counts if text.count(value) > counts[value]], marked)
        parts, position = [], 0
        for (start, end), value in zip(spans, values, strict=True):
            parts += [hidden(text[position:start]), marked(value)]
            position = end
        text = "".join([*parts, hidden(text[position:])])
    return text


def mark(value: str, numbers: MutableMapping[str, int]) -> str:
    """The placeholder of a part of a credential, which alone does not look like one."""
    return _marker("", numbers)(value)


def redact_known(text: str, numbers: MutableMapping[str, int]) -> str:
    """Replace the credentials that other texts showed with their names, also what pytest or unittest left of them.

    The lines of a value of several lines are replaced, too.

    :param numbers: the numbers of these credentials; those of shortened ones are added.
    """
    known = [value for value in numbers if len(value) >= _LEAST_VALUE][-_MOST_VALUES:]
    known += [line for value in known if "\\" in value for line in _lines_of(value)][-_MOST_VALUES:]
    if not known:
        return text
    marked = _marker(text, numbers)
    parts = re.split(_GAP, text)
    for place in range(1, len(parts), 2):
        before, after = parts[place - 1], parts[place + 1]
        if size := max(_size_at_gap(value[::-1], before[::-1]) for value in known):
            parts[place - 1] = before[:-size] + marked(before[-size:])
        if size := max(_size_at_gap(value, after) for value in known):
            parts[place + 1] = marked(after[:size]) + after[size:]
    return _hider(known, marked)("".join(parts))


def _marker(text: str, numbers: MutableMapping[str, int]) -> Callable[[str], str]:
    """The function from values to their marks; new numbers follow those of the text."""
    taken = (int(found[1]) for found in MARK.finditer(text))
    following = count(max((*taken, *numbers.values()), default=0) + 1)

    def marked(value: str) -> str:
        if value not in numbers:
            numbers[value] = next(following)
        return f"<redacted {numbers[value]}>"

    return marked


def _hider(values: Sequence[str], marked: Callable[[str], str]) -> Callable[[str], str]:
    """The function that hides these values in a text: short ones as whole words, and none within a mark."""
    chosen = [value for value in values if len(value) >= _LEAST_VALUE][:_MOST_VALUES]
    if not chosen:
        return str
    patterns = (
        re.escape(value) if len(value) >= _LONG_VALUE else rf"(?<!\w){re.escape(value)}(?!\w)"
        for value in sorted(chosen, key=len, reverse=True)  # one may be a part of another
    )
    regex = _compile("|".join([MARK.pattern, *patterns]))
    return lambda text: regex.sub(lambda found: found[0] if found[1] else marked(found[0]), text)


def _size_at_gap(value: str, text: str) -> int:
    """How many characters at the start of a text are the end of a value, or a part of it; 0 for a part of a word."""
    if text[:_FEWEST_LEFT] not in value:  # most often, and much faster
        return 0
    for size in range(min(len(value), len(text), _MOST_LEFT), _FEWEST_LEFT - 1, -1):
        beside = text[size : size + 1]
        # Between spaces, so few characters are a word; pytest shortens what is in quotes or brackets.
        is_word = beside.isalnum() or (size < _SURELY_LEFT and beside in ("", " ", "\n"))
        if not is_word and (value.endswith(text[:size]) or (size >= _PART and text[:size] in value)):
            return size
    return 0


def _lines_of(value: str) -> Iterator[str]:
    """The lines of a value without the escapes of a literal, as a diff has them."""
    escapes = {"t": "\t", "n": "\n", "r": "\n"}
    plain = re.sub(r"\\([\\'\"tnr])", lambda found: escapes.get(found[1], found[1]), value)
    return (line for line in plain.split("\n") if len(line) >= _LEAST_LINE)


# --- credentials found


def _spans(text: str) -> Iterator[tuple[int, int]]:
    folded = text.lower()
    if len(folded) != len(text):  # a few letters have two in lower case
        folded = re.sub("[A-Z]+", lambda found: found[0].lower(), text)
    # A token is one long word: of most texts little is left to search for so many prefixes.
    long_words = " ".join(dict.fromkeys(word for word in text.split() if len(word) >= _SHORTEST_TOKEN))
    for form in _guarded(tokens(), long_words):
        if any(form.spans(long_words)):
            yield from form.spans(text)
    for form in _guarded(syntaxes(), folded):
        yield from form.spans(text)
    yield from _named_spans(text, folded)
    for found in compiled(_WHERE).finditer(text) if "where " in text else ():
        if any(_is_value_of(name, found["secret"]) for name in _names_of_call(found["call"].rstrip())):
            yield found.span("secret")


def _guarded(guarded: Sequence[tuple[str, Form]], text: str) -> Iterable[Form]:
    """The forms of which the text holds a guard."""
    return dict.fromkeys([form for guard, form in guarded if guard in text])


def _whole_spans(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans merged, each with the literals of the following lines that its string goes on in.

    Those that hold a part of a mark are left out: what was hidden before is not hidden again.
    """
    whole: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        last = whole[-1][1] if whole else 0
        if start < last:
            start = whole.pop()[0]
        end = max(end, last)
        while end > last and (found := compiled(_NEXT_LITERAL).match(text, end)):
            end = found.end("more")
        whole.append((start, end))
    marks = [found.span() for found in MARK.finditer(text)]
    ends = [end for _, end in marks]
    return [
        (start, end)
        for start, end in whole
        if (after := bisect_right(ends, start)) == len(marks) or marks[after][0] >= end
    ]


def _named_spans(text: str, folded: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that are values of secret names."""
    position = 0
    while word := _names().search(folded, position):
        position = word.start() + 1
        tail = compiled(_TAIL).match(text, word.end())
        kind = _kinds()[word[0].replace("_", "").replace("-", "")]
        if tail is None or not (kind in _WITHIN_WORDS or _starts(text, word.start())):
            continue
        position, begin = word.end(), max(0, word.start() - _BEFORE_NAME)
        if any(compiled(pattern).search(tail[0]) for (pattern,) in rows("secrets.txt")["harmless"]):
            continue
        for form in _values().get(kind if _is_same(tail[0]) else "like", ()):
            after = compiled(form.pattern).match(text, tail.end())
            before = after and compiled(form.before).search(text, begin, tail.end())
            if after is None or before is None:
                continue
            found = after if "secret" in after.re.groupindex else before
            start, end = found.span("secret")
            is_secret = form.accepts(found)
            # What was refused may hold another name and its value.
            if is_secret or end - start >= _LONG:
                position = max(position, end)
            if is_secret:
                yield start, end
                break


def _starts(text: str, start: int) -> bool:
    """Whether a word starts there, also a capital one of ``camelCase``."""
    before = text[start - 1 : start]
    return not before.isalpha() or (before.islower() and text[start].isupper())


def _is_same(tail: str) -> bool:
    parts = re.findall("[A-Z]?[a-z]+|[A-Z]+|[0-9]+", tail)
    return all(
        len(word) == 1 or word.lower() in vocabulary("same") or (word.isdigit() and len(word) < 5)
        for word in parts
    )


# --- values that pytest shows apart from their names: ``where 'x' = user.password``

_WHERE = (
    r"(?:where |and   )[bB]?(?P<quote>['\"])(?P<secret>[^'\"\n]{4,200})(?P=quote) = (?P<call>[^\n]{1,300})"
)
_CALL = r"(?P<function>[^()]*+)\((?:['\"](?P<argument>[\w.-]{1,60})['\"])?.*\)"
_AFTER_PREPOSITION = r"(?:^|_)(?:with|by|from|without|using|via|in|to)_+$"


def name_of_result(function: str) -> str:
    """The name by which the return value of a function counts: its own (``get_password``) or none (``check_password``).

    Of ``change_password`` it is ``token``: only the shape of the value tells whether it is a credential.
    """
    plain = re.sub(r"^<(?:\S*function|built-in method) | (?:at|of) .*", "", function)
    name = plain.rpartition(".")[2].lstrip("_")
    first = re.split("_|(?<=[a-z0-9])(?=[A-Z])", name)[0].lower()
    if first in vocabulary("query"):
        return ""
    found = _names().search(name.lower())
    kind = found and _kinds()[found[0].replace("_", "")]
    if found is None or found.start() == 0 or kind not in ("strong", "short"):
        return name
    is_given = re.search(_AFTER_PREPOSITION, name[: found.start()].lower())
    return "token" if is_given or first in vocabulary("action") or kind == "short" else name


def _names_of_call(call: str) -> list[str]:
    found = compiled(_CALL).fullmatch(call)
    if found is None:
        return re.findall(r"(\w+)(?:['\"]\])?$", call)
    return [name_of_result(found["function"]), found.expand(r"\g<argument>")]


def _is_value_of(name: str, value: str) -> bool:
    text = f"{name} = '{value}'"
    return any(_named_spans(text, text.lower()))


# --- untrusted text: sanitized, redacted, cut


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
    head = max(limit, 0) * 3 // 5
    tail = len(text) - (max(limit, 0) - head)
    # The cut may put a CI command at the start of a line.
    return sanitize(f"{text[:head]}\n… {tail - head} characters left out …\n{text[tail:]}")
