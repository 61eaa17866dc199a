"""What stands around a keyword of completion that is no report: the patterns, for text in lower case.

Those that end in ``$`` are asked of what comes before the keyword, those that begin with ``^`` of what comes after it.
"""

from __future__ import annotations

import re

from loop_close.agent.patterns import any_of

NEGATED = re.compile(
    r"(?:\bnot(?! (?:only|just|to mention)\b)|n't|\bnever|\bcannot|\bnothing|\bnone|\bnobody|\bhardly|\bbarely"
    r"|\bfar from|\bno longer|\byet to be|\bwithout|\bneither|\bnor|\bno)\b[ \w'`…]{0,40}$"
)
#: A negation of the past says nothing of today.
NEGATED_PAST = re.compile(r"\b(?:was|were|had)(?:n't| not)\b[ \w'`…]{0,40}$")
BARELY = re.compile(
    r"(?:\b(?:almost|nearly|mostly|partially|partly|largely|half(?:way)?|just about|practically|virtually|basically"
    r"|essentially|more or less)|(?<![\d.])\d{1,2} ?(?:%|percent)) (?:all )?$"
)
SO_FAR = re.compile(r"^\W*(?:so far|for the most part|partially|in part|mostly)\b")

#: Somewhere before it in its clause: a wish, a plan, a condition, a guess.
HYPOTHETICAL = any_of(
    r"\b(?:will|won't|shall|going to|gonna|about to|i'd)\b|\w'll\b",
    r"\b(?:once|whenever|when|until|till|before|if|unless|as soon as|whether|in order to|so that)\b",
    r"\b(?:to (?:be|have|consider|keep|make|see|confirm)|get(?:ting)?|mak(?:e|es|ing))\b",
    r"\b(?:should|must|would|could|might|may|needs?|wants?|wanted|asked|hope(?:fully)?|expect\w*|supposed)\b",
    r"\b(?:ensur(?:e|es|ing)|verify(?:ing)?|check(?:ing)? (?:that|if|whether)|see if|let(?:'s| me| us))\b",
    r"\b(?:plan(?:s|ning)? to|try(?:ing)? to|aim\w*|wait\w*|working|towards?|continue|keep going|don't stop)\b",
    r"\b(?:my|your|our|the) (?:goal|aim|objective|task|job) (?:is|was) (?:to|that)\b|\bgoal:",
    r"\b(?:probably|likely|perhaps|maybe|i think|i believe|i guess|seems?|appears?)\b",
    r"\b(?:pretend\w*|imagine|suppose|assum\w+|claim\w*|definition of|mark(?:s|ed|ing)? .{0,30}\bas)\b",
)
#: In the clause before, joined by "and": its wish goes on.
CARRIED = re.compile(
    r"(?:\b(?:until|ensur(?:e|es|ing)|mak(?:e|es|ing) sure|once|let(?:'s| me| us)|must|will|goal|need to|verify|want)\b"
    r"|\w'll\b)[^,;]*\b(?:and|or)\s*$"
)
AFTER = re.compile(r"\bafter (?!\w+ing\b)")
#: "When I ran the tests" tells of the past.
RAN = re.compile(r"\b(?:when|once) (?:i|we) (?:re-?)?(?:ran|run|\w+ed)\b")
CONDITION_FIRST = re.compile(
    r"^\W*(?:and |so |but |then |now )?(?:if|unless|once|until|when|whenever|as soon as|assuming|provided)\b"
)
CONDITION_AFTER = re.compile(r"^\W*(?:\w+ ){0,3}?(?:if|once|as soon as|unless|until|provided)\b")
CONDITION_LATER = re.compile(r"^[\s,—–-]*(?:once|as soon as|until|unless|provided|assuming|pending)\b")
WHEN = re.compile(r"^ when\b")
QUESTION_FIRST = re.compile(
    r"^\W*(?:and |so |but )?"
    r"(?:(?:is|are|am|was|were|do|does|did|has|have|can|could|should|shall|will|would|may)(?:n't)?"
    r" (?:it|this|that|we|you|i|they|the|all|everything|there|your|my|our)|why|how|who)\b"
)
#: "done, complete or finished": an enumeration of states.
LISTED, LISTED_AFTER = re.compile(r"\bor $"), re.compile(r"^,? or (?!i\b|we\b)")

_PARTS = (
    r"half|(?:a|one|two|three) (?:third|quarter|fifth)s?|some|most|many|several|a few|a couple|parts?|the bulk"
    r"|the majority|\d{1,2} ?(?:%|percent)"
)
#: "half of the work is", before the keyword: it is of a part.
OF_PART = re.compile(
    rf"(?:^|[^\w])(?:(?:only|about|around|roughly|nearly|almost|over|more than|at least) )*(?:{_PARTS})"
    r" of (?:the|my|our|your|this|that|these|those|it|all|them|what|everything)\b[\w '`…-]{0,60}$"
)
_WORDS = "one two three four five six seven eight nine ten"
NUMBERS = {word: str(number) for number, word in enumerate(_WORDS.split(), 1)}
NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(NUMBERS)})\b")
OF_HOW_MANY = re.compile(r"\b(\d{1,4}) ?(?:of|/|out of) ?(?:the |all )?(\d{1,4})\b")
PART = any_of(
    r"\b(?:step|phase|part|stage|milestone|section|item|chunk|round)s? (?:#?\d{1,4}|one|two|three|[ivx]+)\b",
    r"\b(?:first|second|initial|next|previous) (?:\w+ )?(?:step|part|half|phase|stage|pass|task|milestone|round)\b",
)

YOU = re.compile(r"\byou(?:'re|'ve| are| have| were| had| get)?(?: \w+)? $")
IDIOM = re.compile(
    r"\b(?:well|nicely|said than|good as|over and|easier|can be|being|gets?|getting|it'll be|have i|have you) $"
)
IDIOM_AFTER = re.compile(r"^ (?:deal|talking|waiting|with you)\b")
#: "It is done by the parser": how something works.
IS, HOW = (
    re.compile(r"\b(?:is|are|was|were|gets?|be|been|being|it's|that's) (?:\w+ )?$"),
    re.compile(
        r"^ (?:by|via|using|through|in|inside|at|on|when|where|per|lazily|automatically|only|first|before|after|to"
        r"|elsewhere)\b"
    ),
)
#: "the complete list", "of finished jobs": a property of a thing.
OF_A_THING = re.compile(
    r"\b(?:the|a|an|of|for|any|each|every|only|some|no|non|their|marks?|status|on|with|is_|to)[ -]$"
)
PREDICATE = re.compile(
    r"(?:^|\b(?:is|are|was|were|be|been|now|have|has|i|we|i've|we've|it's|that's|successfully|fully|all|also|just"
    r"|looks|everything|already|\w+:))\W*$"
)
PREDICATE_AFTER = re.compile(r"^\W*(?:$|[.!,;:)]|(?:and|with|for|now|as|on|in|again|\W)\b)")
#: "finished in 3s", "finished with exit code 1": what programs print.
PRINTED = re.compile(r"^ (?:in|after) \d|^ (?:with|at) (?:exit|code|\d)|^ (?:dev|release|test) ")
COMPLETES = re.compile(
    r"^ (?:the|this|all|my|our|both)\b.{0,40}\b(?:task|work|fix|implementation|feature|migration|change)"
)
NOTHING_FOLLOWS = re.compile(r"^[\s.!\"'`✅🎉]*$")
