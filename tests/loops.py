"""Records of the loop for tests: short to write, and as hypothesis draws them."""

from hypothesis import strategies as st
from records import SRC, TEST, any_text

from loop_close.records import Edit, Edits, FailingTest, FailureRecord, Loop, Step


def edited(function="total", file=SRC, diff="", **fields):
    return Edits(kind="effective", edits=(Edit(file=file, function=function, diff=diff, **fields),))


def edits(*found, omitted=0, kind="effective"):
    return Edits(kind=kind, edits=found, omitted=omitted)


def step(run, failing=1, *, edits=None, **fields):
    """A run of the loop; with edits it is an attempt."""
    fields.setdefault("is_attempt", edits is not None)
    return Step(run=run, failing=failing, edits=edits or Edits(kind="none"), **fields)


def known(
    test=f"{TEST}::test_total", since=1, ran=1, want="", values=(), source="pytest", phase="call", **fields
):
    record = FailureRecord(source=source, test=test, want=want, phase=phase)
    return FailingTest(record=record, since=since, ran=ran, values=tuple(enumerate(values, 1)), **fields)


def loop(*steps, failing=None, **fields):
    """The loop of these runs, in which one test fails."""
    return Loop(steps=steps, failing=(known(),) if failing is None else tuple(failing), **fields)


#: As hypothesis draws them.
edits_drawn = st.builds(
    lambda found: edits(*found),
    st.lists(
        st.builds(
            Edit,
            file=any_text,
            function=any_text,
            diff=any_text | st.builds("-{}\n+{}".format, any_text, any_text),
        ),
        min_size=1,
        max_size=3,
    ),
)
