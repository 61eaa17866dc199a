"""Whether a keyword is a report of completion, or a wish, a question, a description, small talk."""

from __future__ import annotations

from typing import Literal, NamedTuple

from loop_close.agent import claim_words as words
from loop_close.agent.sentences import clause_at, is_question
from loop_close.agent.words import Mention

#: ``claim``: it says so. ``open``: it says the contrary. ``none``: it says neither.
Reading = Literal["claim", "open", "none"]


class Around(NamedTuple):
    """A keyword with what stands around it.

    :ivar before: the rest of its clause to the left; ``after`` to the right.
    :ivar earlier: the sentence before the clause; ``later`` the sentence after the keyword.
    """

    keyword: str
    before: str
    after: str
    earlier: str
    later: str


def reading_of(sentence: str, mention: Mention) -> Reading:
    """What the keyword says where it stands.

    :param sentence: in lower case.
    """
    around = _around(sentence, mention)
    if is_question(sentence) or words.QUESTION_FIRST.match(sentence) or _is_hypothetical(around):
        return "none"
    is_high = mention.keyword.level == "high"
    if is_high and (words.AFTER.search(around.before) or words.WHEN.match(around.after)):
        return "none"
    if words.BARELY.search(around.before) or words.SO_FAR.match(around.later):
        return "open"
    if words.NEGATED.search(around.before):
        is_told = words.NEGATED_PAST.search(around.before) or mention.keyword.level == "tests"
        return "none" if is_told else "open"
    if _is_of_fewer(around):
        return "open"
    return "none" if is_high and (_is_other_sense(around, mention) or _is_of_a_part(around)) else "claim"


def _around(sentence: str, mention: Mention) -> Around:
    left, right = clause_at(sentence, mention.start, mention.end)
    return Around(
        keyword=sentence[mention.start : mention.end],
        before=sentence[left : mention.start],
        after=sentence[mention.end : right],
        earlier=sentence[:left],
        later=sentence[mention.end :],
    )


def _is_hypothetical(around: Around) -> bool:
    before, earlier = words.RAN.sub("", around.before), words.RAN.sub("", around.earlier)
    found = (
        words.HYPOTHETICAL.search(before)
        or words.CONDITION_AFTER.match(around.after)
        or words.CONDITION_LATER.match(around.later)
        or words.CONDITION_FIRST.match(earlier)
        or words.CARRIED.search(earlier)
        or words.LISTED.search(before)
        or words.LISTED_AFTER.match(around.later)
    )
    return found is not None


def _is_of_fewer(around: Around) -> bool:
    """``3 of 7 are done``, ``half of the work is done``."""
    if words.OF_PART.search(around.before):
        return True
    text = words.NUMBER_WORD.sub(
        lambda found: words.NUMBERS[found[0]], around.before + around.keyword + around.after
    )
    counts = words.OF_HOW_MANY.search(text)
    return counts is not None and int(counts[1]) < int(counts[2])


def _is_of_a_part(around: Around) -> bool:
    """``Phase 1 is done``, and nobody says of how many."""
    text = around.before + around.after
    return words.PART.search(text) is not None and words.OF_HOW_MANY.search(text) is None


def _is_other_sense(around: Around, mention: Mention) -> bool:
    before, after = around.before, around.after
    if words.YOU.search(before) or words.IDIOM.search(before) or words.PRINTED.match(after):
        return True
    if mention.keyword.name == "done":
        is_described = words.IS.search(before) and words.HOW.match(after)
        return bool(is_described or words.IDIOM_AFTER.match(after))
    if around.keyword == "completes":
        return words.COMPLETES.match(after) is None
    if around.keyword == "complete" and not words.NOTHING_FOLLOWS.match(after):
        return not (words.PREDICATE.search(before) and words.PREDICATE_AFTER.match(after))
    return mention.keyword.name != "ready for review" and words.OF_A_THING.search(before) is not None
