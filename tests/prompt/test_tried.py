import pytest
import records as made
from loop_close.prompt.tried import named, tried

from loop_close.judge import close
from loop_close.memory import Edit, Edits, Step
from loop_close.model import Suspect


def lines(*steps):
    from dataclasses import replace

    report = close(made.observed(made.failure(made.raised())))
    return list(tried(replace(report, progress=made.progress(*steps)), 400))


FIRST = Step(run=1, unresolved=2)


def test_nothing_was_tried_before_the_second_run():
    assert lines(FIRST) == []


def test_a_line_a_run_and_the_diff():
    step = Step(run=2, unresolved=1, fixed=1, edits=made.edited(diff="-a\n+b"))
    assert lines(FIRST, step) == [
        "- Run 2: edited `total` in `src/shop/cart.py`: 1 fixed; 1 failing after it.",
        *("```diff", "-a", "+b", "```"),
    ]


def test_several_edits_share_the_room_the_likeliest_suspect_first():
    from dataclasses import replace

    edits = [
        Edit(file=made.SRC, function=name, diff="\n".join(f"+{name} {n}" for n in range(9)))
        for name in "abcd"
    ]
    steps = FIRST, Step(run=2, unresolved=2, edits=Edits(kind="effective", edits=tuple(edits)))
    report = close(made.observed(made.failure(made.raised())))
    suspects = tuple(Suspect(file=made.SRC, line=1, function=name) for name in "cac")
    report = replace(report, causes=(replace(report.causes[0], suspects=suspects),))
    found = list(tried(replace(report, progress=made.progress(*steps)), 400))
    assert found[1:] == [
        "```diff",
        *("@@ c @@", "+c 0", "+c 1"),
        *("@@ a @@", "+a 0", "+a 1"),
        *("@@ b @@", "+b 0", "+b 1"),
        "… 30 more lines",
        "```",
    ]


def test_only_the_last_two_edits_show_their_diff():
    steps = [Step(run=n, unresolved=1, edits=made.edited(diff=f"+{n}")) for n in range(2, 6)]
    assert [line for line in lines(FIRST, *steps) if line.startswith("+")] == ["+4", "+5"]


def test_runs_before_the_last_six_are_counted():
    steps = [Step(run=n, unresolved=1, edits=made.edited()) for n in range(2, 12)]
    assert lines(FIRST, *steps)[0] == "… 4 more runs before these"


def test_the_first_run_is_told_where_it_is_known_what_was_edited():
    begun = Step(run=1, unresolved=1, edits=made.edited())
    assert lines(begun, Step(run=2, unresolved=1))[0].startswith("- Run 1: edited `total`")


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Step(run=2, unresolved=1, edits=Edits(kind="none")), "nothing edited"),
        (Step(run=2, unresolved=1, edits=Edits(kind="ineffective")), "only comments, formatting"),
        (Step(run=2, unresolved=1, is_killed=True), "killed before its end"),
    ],
)
def test_runs_without_an_edit_that_counts(step, said):
    assert said in lines(FIRST, step)[0]


def test_the_code_of_an_earlier_run_is_known_again():
    first, other = (
        Step(run=1, unresolved=1, code="a"),
        Step(run=2, unresolved=1, code="b", edits=made.edited()),
    )
    back = Step(run=3, unresolved=1, code="a", edits=made.edited())
    found = lines(first, other, back)
    assert "back to" not in found[0]
    assert found[1].startswith("- Run 3: edited `total` in `src/shop/cart.py`, back to the code of run 1: ")


def test_the_same_code_twice_in_a_row_is_no_return():
    steps = [Step(run=n, unresolved=1, code="a", edits=Edits(kind="none")) for n in (1, 2, 3)]
    assert not any("back to" in line for line in lines(*steps))


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit(file="a.py", function="f"), "edited `f` in `a.py`"),
        (Edit(file="a.py", function="<module>"), "edited `a.py`"),
        (Edit(file="data.json", change="removed"), "removed `data.json`"),
        (Edit(file="a.py", function="f", change="moved", moved_to=("b.py", "g")), "moved `f` to `b.py:g`"),
        (Edit(file="`\n# h.py", function="\x1b[1mf"), "edited `f` in `` ` # h.py ``"),
    ],
)
def test_edit_in_words(edit, expected):
    assert named(edit) == expected


def test_a_long_diff_is_cut():
    step = Step(run=2, unresolved=1, edits=made.edited(diff="\n".join(f"+{n}" for n in range(30))))
    assert lines(FIRST, step)[-2:] == ["… 22 more lines", "```"]


def test_a_diff_cannot_end_its_fence():
    step = Step(run=2, unresolved=1, edits=made.edited(diff="+```\n+# h"))
    assert lines(FIRST, step)[1] == "````diff"
