import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.agent.completion import mentions, reading_of
from loop_close.agent.response import MAX_SENTENCE


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("all tests passing", ["all tests passing"]),
        ("all 12 unit tests are now passing", ["all tests passing"]),
        ("every test passed", ["all tests passing"]),
        ("12/12 tests pass", ["all tests passing"]),
        ("the whole test suite is green", ["all tests passing"]),
        ("11/12 tests pass", ["tests passing"]),
        ("there are no remaining issues", ["no remaining issues"]),
        ("no issues remain", ["no remaining issues"]),
        ("nothing is left to do", ["no remaining issues"]),
        ("ready for your final review", ["ready for review"]),
        ("it's done, completed and finished", ["done", "complete", "finished"]),
        ("this completes it", ["complete"]),
        ("undone, incomplete, unfinished, completely, completion", []),
        ("is_done, done(), done=1, x.done, auto-complete", []),
        ("tests pass", ["tests passing"]),
    ],
)
def test_keywords_are_found_by_words_and_inflections(sentence, names):
    assert [mention.keyword.name for mention in mentions(sentence)] == names


CLAIMS = [
    "the task is done",
    "done",
    "i've completed the migration",
    "completed the migration",
    "the work has been finished",
    "the implementation is complete",
    "task complete",
    "after fixing the parser, all tests pass",
    "when i ran them again, all tests passed",
    "it is not only done but documented",
    "3 of 3 steps are complete",
    "this completes the task",
    "all tests pass",
    "100% complete",
]
OPEN = [
    "the task is not done",
    "it isn't finished",
    "not all tests pass",
    "i haven't completed it",
    "nothing is done",
    "almost done",
    "90% complete",
    "done so far",
    "2 of 3 steps are complete",
]
NEITHER = [
    "is it done?",
    "are we done",
    "once this is done, i'll go on",
    "i'll get it done",
    "we're done once it is merged",
    "if all tests pass, we are done",
    "it should be done",
    "the complete list",
    "to complete the task",
    "the finished product",
    "a completed order",
    "this is done by the parser",
    "finished in 3.2s",
    "done deal",
    "you're done",
    "well done",
    "make sure all tests pass",
    "it wasn't done",
    "phase 1 is done",
    "either done or pending",
    "this completes the sentence",
    "let me verify that all tests pass and nothing is left",
]


@pytest.mark.parametrize(
    ("sentence", "reading"),
    [(s, "claim") for s in CLAIMS] + [(s, "open") for s in OPEN] + [(s, "none") for s in NEITHER],
)
def test_reading_of_the_first_keyword(sentence, reading):
    assert reading_of(sentence, mentions(sentence)[0]) == reading


PHRASES = (
    "done",
    "complete",
    "completed",
    "finished",
    "all tests",
    "pass",
    "passing",
    "no remaining issues",
    "3 of 4",
)
GLUE = (
    "not",
    "n't",
    "if",
    "once",
    ",",
    ".",
    "?",
    ":",
    "but",
    "or",
    "90%",
    "`…`",
    "the",
    "is",
    "will",
    "after",
    "ready for",
)
WORDS = st.sampled_from(PHRASES + GLUE)


@given(st.lists(WORDS, max_size=60))
def test_any_sentence_has_a_reading(words):
    sentence = " ".join(words)[:MAX_SENTENCE]
    readings = {reading_of(sentence, mention) for mention in mentions(sentence)}
    assert readings <= {"claim", "open", "none"}
    assert len(mentions(sentence)) <= 8
