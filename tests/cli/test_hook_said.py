"""What is kept of what an agent says: little, bounded, and without credentials."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.cli.hook import Session, update_session

OUTPUT = "=== test session starts ===\ntest_a.py F\nE   assert 1 == 2\n=== 1 failed in 0.01s ===\n"
SECRET = "ghp_" + "aB3dE6gH9jK2" * 3


def after(*messages):
    session = Session()
    for message in messages:
        session = update_session(session, message)[1]
    return session


def test_nothing_said_is_nothing_kept():
    assert update_session(Session(turns=3), " \n") == (update_session(Session(), "")[0], Session(turns=3))


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("All is well.", ""),
        ("Still: the run ends in\n\nKeyError: 'a'\n", "KeyError: <str>"),
        ("I handled the KeyError.", ""),
    ],
)
def test_errors_are_kept_by_their_pattern(message, error):
    assert after(message).errors == (error,)


def test_values_do_not_tell_errors_apart():
    found = after(*(f"AssertionError: at 0x7f{number}8899aa took {number}.5s" for number in range(3)))
    assert len(set(found.errors)) == 1
    assert update_session(found, "AssertionError: at 0x7f18899aa took 9.5s")[0].stuck_signal.detected


def test_test_output_alone_is_kept_and_three_times_is_stuck():
    session = after(OUTPUT, OUTPUT)
    assert all("1 failed" in each for each in session.responses)
    assert update_session(session, OUTPUT)[0].stuck_signal.detected
    assert not update_session(after(OUTPUT, "I fixed the parser."), OUTPUT)[0].stuck_signal.detected


def test_prose_is_not_kept_however_much_output_follows():
    assert after("I changed the parser in shop.py.\n" + OUTPUT * 50).responses == ("",)


def test_credentials_are_not_kept():
    session = after(f"AuthError: {SECRET} was refused", f"{OUTPUT}token={SECRET}\n")
    assert SECRET not in repr(session)


@pytest.mark.slow
@given(st.lists(st.text() | st.sampled_from([SECRET, OUTPUT, "ValueError: x\n" * 500]), max_size=14))
def test_it_stays_small(messages):
    session = after(*messages)
    assert len(session.responses) <= 2
    assert len(session.errors) <= 10
    assert all(len(each) <= 600 for each in (*session.responses, *session.errors))
