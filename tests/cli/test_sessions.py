import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.cli.hook import Session, keep, key_of, mark_of, new_in, sessions


def test_nothing_is_remembered_yet(tmp_path):
    assert sessions(tmp_path / "sessions.json") == {}


def test_what_is_kept_is_read(tmp_path):
    path = tmp_path / "sessions.json"
    keep(path, "a", Session(blocks=2, run="pytest 7", code="x"))
    keep(path, "b", Session())
    keep(path, "a", Session(blocks=3, run="pytest 8", code="y", began=("start", "7 1.5 pytest:a b")))
    assert list(sessions(path).items()) == [
        ("b", Session()),
        ("a", Session(blocks=3, run="pytest 8", code="y", began=("start", "7 1.5 pytest:a b"))),
    ]


@pytest.mark.large
def test_the_oldest_are_forgotten(tmp_path):
    path = tmp_path / "sessions.json"
    for number in range(105):
        keep(path, str(number), Session(blocks=number))
    assert [*sessions(path)] == [str(number) for number in range(5, 105)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"sessions": []}',
        '{"sessions": {"a": 1}}',
        '{"sessions": {"a": {"blocks": "1", "run": "p 1", "code": ""}}}',
        '{"sessions": {"a": {"run": 1}}}',
        '{"sessions": {"a": {"blocks": 1, "run": "", "code": "", "turns": "1"}}}',
        '{"sessions": {"a": {"blocks": 1, "run": "", "code": "", "errors": "x"}}}',
        '{"sessions": {"a": {"blocks": 1, "run": "", "code": "", "is_back": 1}}}',
        '{"sessions": {"a": {"blocks": 1, "run": "", "code": "", "earlier": 7}}}',
        '{"sessions": {"a": {"blocks": 1, "run": "", "code": "", "earlier": "x y"}}}',
        '{"sessions": {"a": {"blocks": 1, "run": "", "code": "", "responses": [1]}}}',
        '{"sessions": {"a": {"blocks": 1, "run": "", "code": "", "asked": "x"}}}',
        '{"sessions": {"a": {"blocks": 1, "run": "", "code": "", "began": ["start", "pytest 1"]}}}',
        '{"sessions": {"a": {"blocks": 1, "run": "", "code": "", "began": "start"}}}',
        "[" * 100_000,
        "\x00" * 2_000_000,
    ],
)
def test_a_damaged_file_is_as_if_there_were_none(tmp_path, text):
    path = tmp_path / "sessions.json"
    path.write_text(text)
    assert sessions(path) == {}
    keep(path, "a", Session(blocks=1))
    assert sessions(path) == {"a": Session(blocks=1)}


def test_where_nothing_can_be_written(tmp_path):
    assert not keep(tmp_path / "gone" / "sessions.json", "a", Session())
    (tmp_path / "taken").mkdir()
    assert not keep(tmp_path / "taken", "a", Session())
    (tmp_path / "link").symlink_to(tmp_path)
    assert not keep(tmp_path / "link" / "sessions.json", "a", Session())


def test_what_would_keep_a_reader_waiting_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "sessions.json")
    assert sessions(tmp_path / "sessions.json") == {}
    (tmp_path / "zero").symlink_to("/dev/zero")
    assert sessions(tmp_path / "zero") == {}


@pytest.mark.parametrize("session", ["", "../../etc", "\ud800", "x" * 100_000])
def test_a_key_says_nothing_of_the_session(tmp_path, session):
    assert len(key_of("claude", session)) == 16
    assert key_of("claude", session) != key_of("codex", session)
    keep(tmp_path / "sessions.json", key_of("claude", session), Session())
    assert json.loads((tmp_path / "sessions.json").read_text())["schema"] == "loop-close.sessions/1"


def test_what_an_earlier_version_kept_is_read(tmp_path):
    path = tmp_path / "sessions.json"
    path.write_text('{"sessions": {"a": {"blocks": 3, "run": "pytest 1", "code": "x"}}}')
    assert sessions(path) == {"a": Session(blocks=3, run="pytest 1", code="x")}


@pytest.mark.parametrize(
    ("before", "message", "new"),
    [
        ("One.", "One.\nTwo.", "Two."),
        ("One.", "One.\n\nTwo.\nThree.", "\nTwo.\nThree."),
        ("One.\n", "One.\n\nTwo.", "Two."),
        ("One.", "One.", ""),
        ("One.", "One. Two.", "One. Two."),
        ("One.", "Two.", "Two."),
        ("One.\nTwo.", "One.", "One."),
        ("One.", "", ""),
        ("", "One.", "One."),
        ("", "\nOne.", "One."),
        ("naïve \ud800", "naïve \ud800\nTwo.", "Two."),
    ],
)
def test_what_was_added_since(before, message, new):
    assert new_in(message, mark_of(before)) == new
    assert new_in(message, "") == message


@given(st.text(), st.text())
def test_what_was_added_is_what_comes_after(before, more):
    assert new_in(f"{before}\n{more}", mark_of(before)) == more


@pytest.mark.large
def test_what_was_said_is_kept_and_never_more_than_can_be_read_again(tmp_path):
    path = tmp_path / "sessions.json"
    long = Session(
        turns=2,
        is_back=True,
        earlier=mark_of("x" * 10_000_000),
        responses=("\ue000" * 500,) * 2,
        errors=("\ue000" * 300,) * 10,
    )
    for number in range(100):
        assert keep(path, str(number), long)
    found = sessions(path)
    assert 20 < len(found) < 100
    assert found["99"] == long
