"""Whether a sentence tells of work on a program, or is talk."""

from __future__ import annotations

import re


def _words(*words: str) -> str:
    return rf"\b(?:{'|'.join(' '.join(words).split())})\b"


_SUFFIX = "py|pyi|js|jsx|ts|tsx|go|rs|java|kt|c|h|cc|cpp|cs|rb|php|sh|sql|md|rst|toml|ya?ml|json|html|css|cfg|ini|txt"
#: A file named in a text.
FILE = re.compile(rf"(?<![\w@:/.\\-])[\w./\\-]{{1,200}}\.(?:{_SUFFIX})\b")
_EDIT = re.compile(
    _words(
        "added adjusted bumped cached changed cleaned converted corrected covered created deleted documented dropped",
        "edited extracted fixed guarded handled implemented inlined introduced merged migrated modified moved patched",
        "ported refactored registered removed renamed repaired replaced resolved restored reverted rewritten rewrote",
        "simplified split switched tightened updated wired wrote",
    )
)
_TOPIC = re.compile(
    _words(
        "api branch bugs? build changes? class(?:es)? cleanup cli code criteria deployment docs? documentation",
        "endpoints? everything feature files? fix(?:es)? functions? handler implementation issues? migration modules?",
        "parser patch plan pr refactor(?:ing)? regression requirements? review rewrite schema setup specs? status",
        "steps? subtasks? suite tasks? tests? todos? update upgrade work",
    )
    + r"|`…`|\b\w+_\w+\b"
)
_POLITE = (
    r"^\W*(?:thanks|thank you|thx|hi|hey|hello|haha|lol|yay|phew|glad|cheers|welcome|congrat\w*|sorry|bye|well"
    r"|good (?:morning|evening|day)|sure thing|no problem)\b"
)
# "That's done!", with or without an interjection before it.
_EXCLAIMED = (
    r"^\W*(?:great|nice|cool|awesome|good|perfect|ok(?:ay)?|alright|sure|right|yes|yep|yeah|oh|ah|wow)?\W*"
    r"(?:and |so |now )?(?:that|this|it)(?:'s| is| was) (?:all |now |finally )?(?:done|complete|finished)\W*!"
)
_PRIVATE = _words(
    "breakfast chat coffee conversation day dinner homework joke lunch meeting shift talking vacation weekend"
)
_ASIDE = re.compile(f"{_POLITE}|{_EXCLAIMED}|{_PRIVATE}")


def is_about_work(sentence: str) -> bool:
    """Whether a sentence in lower case is about a program or a task."""
    return bool(_TOPIC.search(sentence) or _EDIT.search(sentence) or FILE.search(sentence))


def tells_of_an_edit(sentence: str) -> bool:
    """Whether it says, in the past tense, that something was changed."""
    return _EDIT.search(sentence) is not None


def is_aside(sentence: str) -> bool:
    """Whether it is the polite or chatty kind that surrounds work."""
    return _ASIDE.search(sentence) is not None
