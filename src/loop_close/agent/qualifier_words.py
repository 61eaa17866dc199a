"""What agents write when a completion is none: the patterns, each asked of one clause in lower case."""

from __future__ import annotations

from loop_close.agent.patterns import any_of

_WORK = r"(?:work|tasks?|items?|steps?|todos?|issues?|failures?|errors?|problems?|tests?|bugs?|parts?|files?)"
_SOME = r"(?:[1-9]\d{0,6}|one|two|three|four|five|six|some|several|a few|a couple of|many|most|half of)"
_LEFT = r"(?:remaining|outstanding|open|unresolved|incomplete|unfinished)"
_DO = r"(?:fix|finish|complete|implement|resolve|address|add|update|do|investigate|handle|write|migrate|port|debug)"
_DONE = (
    r"(?:done|fixed|solved|completed|implemented|finished|added|updated|addressed|resolved|handled|migrated|written"
    r"|ported|investigated|tested|wired)"
)
_ME = r"(?:\bi|\bwe|^) ?(?:\w+ )?"
_COULD_NOT = r"(?:could ?n[o']t|could not|cannot|can't|can not|did(?:n't| not) manage to|failed to)"
_DID_NOT = r"(?:did|do|have)(?:n't| not)"
_CHECKS = (
    r"(?:build|ci|pipeline|lint(?:er|ing)?|type ?check(?:s|er|ing)?|mypy|pyright|ruff|tests?|specs?|suite|compilation"
    r"|job|test_\w+|`…`)"
)
_CONDITION = r"\b(?:if|when|whenever|unless|in case)\b"
_PAST = r"\b(?:(?:was|were)(?:n't)?|previously|before|initially|originally|at first|used to|no longer)\b"


#: It is not finished, and nothing said elsewhere makes it so.
OPEN = any_of(
    r"(?:^|\b(?:is|are|remains?|still|left|currently|it|status:|but|:)\W+(?:\w+ly )?)"
    r"(?:incomplete|unfinished|unresolved)\b",
    r"\b(?:incomplete|unfinished) (?:work|task|implementation|feature|fix|migration|solution|refactor\w*)",
    r"\b(?:i|we|i've|we've|have|been|task|work|fix|attempt|effort|migration|refactor\w*)\b.{0,30}"
    r"\babandon(?:ed|ing)\b(?! (?:the|my|that|an?) (?:first|initial|original|old|previous|earlier|other))",
    r"(?:: abandoned\b|^abandon(?:ed|ing)\W*(?:$|the (?:task|work|fix|attempt|effort)))",
    r"\b(?:work in progress|wip|in[ _]progress|half-done|half-finished|halfway (?:through|there))\b",
    r"\bpartial(?:ly)? (?:complete\w*|done|finished|implement\w*|fix\w*|work\w*|success|progress|solution)",
    rf"(?:\bnot|n't) (?:yet |been |fully |completely |quite )*(?:{_DONE}|working|passing|there yet|started|begun)\b",
    r"(?<!which )(?<!that )\b(?:is|are) (?:still )?missing\b",
    r"\b(?:ran|run|running) out of (?:time|context|tokens|budget)\b",
    rf"\b(?:left|remain(?:s|ing)?|needs?|still|yet|have|has) to be {_DONE}\b",
    r"\bstill (?:need|have|has|must|requires?|missing|todo|pending|open|outstanding|unresolved|to do|being|left)",
    rf"\b{_SOME} (?:\w+ ){{0,3}}?{_WORK} (?:still |are |is |that )*"
    r"(?:remain(?:s|ing)?|left|outstanding|pending|to go)\b",
    rf"\bthere (?:is|are|remains?) (?:still )?(?:{_SOME} |an? )?(?:\w+ )?{_LEFT} {_WORK}",
    r"^(?:remaining|outstanding|still to do|to ?do|left to do|not done|pending|still open|open items?|unfinished)"
    rf"(?: {_WORK})?\W*:",
    r"^known (?:issues?|bugs?|problems?)\W*:",
    r"\b(?:left|marked) as (?:an? )?(?:todo|follow-?up|stub)|\bleft for (?:an? )?(?:later|follow|another|next)",
    r"\b(?:is|are|remains?) (?:a )?stub(?:bed)?\b|\b(?:unimplemented|untested)\b(?! (?:methods?|functions?))",
    r"\bmost (?:of (?:the |these )?)?(?:\w+ )?tests? (?:now )?pass(?:ing)?\b",
    r"\b(?:is|am|i'm|are|still|currently|got|we're) (?:\w+ )?blocked\b|^blocked\b",
    r"\b(?:will|i'll|we'll) (?:continue|finish|complete|tackle|fix|do the rest|address)\b",
)
#: The clause tells of the past, of what is no longer open, or of what the program does.
NOT_OPEN = any_of(
    _PAST,
    _CONDITION,
    r"\b(?:had been|none|nothing|zero|any more|anymore|instead of)\b",
    rf"\b(?:fixed|resolved|completed|finished|closed|addressed|cleared) (?:\w+ ){{0,3}}{_LEFT}",
    rf"\b(?:no|without) (?:\w+ ){{0,3}}(?:{_LEFT}|left|todo)",
    r"\b(?:raises?|returns?|ensur\w+|so that)\b",
)
#: What the agent itself did not get done, in whatever tense.
ADMITTED = any_of(
    r"\b(?:gave|giving|have given|had to give) up\b",
    r"(?:\b(?:i|we|i'm|we're|i've)|^)\b ?(?:was |were |am |are |been )?(?:not able|unable) to (?!reproduce)\w+",
    rf"{_ME}{_COULD_NOT} (?:\w+ )?(?:{_DO}|run|verify|make|get|solve|test|figure|build|install|access)\b",
    rf"{_ME}{_DID_NOT} (?:yet )?(?:\w+ )?"
    rf"(?:{_DO}|{_DONE}|g[eo]t(?:ten)? (?:to|around)|run|verify|verified|test|start(?:ed)?|touched|begun)\b",
    r"\bskipped (?:\w+ ){0,3}(?:failing|failed|broken|flaky) tests?\b",
)
NOT_ADMITTED = any_of(
    _CONDITION,
    r"\b(?:previously|before|initially|originally|at first|used to)\b",
    r"\bany (?:remaining|other|more)\b|\bneed to\b",
)
#: Something fails now; later news may settle it.
FAILING = any_of(
    r"\b(?:still|currently|keeps?|remains?) (?:fail\w*|broken|red|erroring|crash\w*|hang\w*)\b",
    r"(?:\b(?:is|are|am)|'s|'re) (?:still |now |currently |also |all |both )*"
    r"(?:failing|broken|red|erroring|crashing|hanging)\b",
    rf"\b{_CHECKS}(?: \w+)?(?: is| are)?(?: still| now)?:? (?:fails?|failing|broken|red)\b",
    rf"\b{_SOME} (?:of (?:the |them )?)?(?:\w+ ){{0,2}}?(?:tests?|specs?|checks?|cases?) (?:\w+ )?"
    r"(?:fail(?:s|ing|ed)?|error(?:s|ing)?)\b",
    rf"\b{_SOME} (?:of (?:them|these|those) )?(?:still |now )?fails?\b",
    r"\b[1-9]\d{0,6} (?:failing|failed|failures?|errors?)\b",
    r"\b(?:does|do|did)(?:n't| not) (?:yet |all |even )*(?:pass|compile|build|work)\b",
    r"\bwon't (?:build|compile|pass)\b",
    rf"\b(?:i|we) (?:still |now )*(?:need|have) to {_DO}\b",
    rf"\bneeds? (?:to be {_DONE}|more work|further work|another)\b",
    r"\bunfortunately\b|\bmak(?:es|ing) .{1,40} fail\b",
)
NOT_FAILING = any_of(
    _PAST,
    _CONDITION,
    r"\b(?:been|earlier|had|no more|now pass\w*|raises?|returns?|would|should|so that)\b",
    r"\b(?:fixe[ds]|resolv(?:ed|es)|repair\w+|address(?:ed|es)|correct(?:ed|s)|solved|cleared)\b",
    r"(?:\b(?:no|none|nothing|zero|not|never|without|instead of)|n't) (?:\w+ ){0,3}(?:fail\w*|broken|red|errors?)\b",
)
#: An exception to a claim; asked of the whole sentence.
EXCEPT = any_of(
    r"\b(?:done|complete[ds]?|finished|pass(?:ed|es|ing)?|green|review|everything|all)\b.{0,80}?"
    r"\b(?:except|apart from|aside from|other than|save for|excluding|with the exception of|minus|modulo)\b",
    r"^\W*(?:apart from|aside from|other than|except for|except) (?!\w+ing\b)",
)
#: What failed before does no longer; asked of the whole sentence.
GOOD_NEWS = any_of(
    r"\b(?:now|all|everything) (?:\w+ )?"
    r"(?:pass(?:es|ing|ed)?|green|work(?:s|ing)?|fixed|succeeds?|builds?|compiles?|resolved)\b",
    r"\b(?:pass(?:es|ed)?|green|works|fixed|resolved) now\b",
)
