"""Cursor: what it sends, and the exact answers."""

import pytest
from host_payloads import BLANK, REASON, recorded

from loop_close.hosts import ConfigError, Payload
from loop_close.hosts.cursor import HOST


def test_stop_is_read_behind_a_byte_order_mark():
    assert recorded("cursor-stop").startswith(b"\xef\xbb\xbf{")
    assert HOST.read(recorded("cursor-stop")) == Payload(
        session="cdefee2d", cwd="/home/me/shop", event="stop", is_stop=True, is_again=True, loop_count=2
    )


@pytest.mark.parametrize(("loop_count", "is_again"), [(0, False), (1, True), (..., False), (None, False)])
def test_first_stop_is_no_return(loop_count, is_again):
    assert HOST.read(recorded("cursor-stop", loop_count=loop_count)).is_again is is_again


@pytest.mark.parametrize(
    ("status", "is_interrupted"), [("completed", False), ("aborted", True), ("error", True), (..., False)]
)
def test_whoever_aborts_is_not_overruled(status, is_interrupted):
    assert HOST.read(recorded("cursor-stop", status=status)).is_interrupted is is_interrupted


@pytest.mark.parametrize(
    ("roots", "cwd"), [(["/a", "/b"], "/a"), ([], "/home/me"), (..., "/home/me"), (None, "/home/me")]
)
def test_first_root_is_the_project(roots, cwd):
    assert HOST.read(recorded("cursor-stop", workspace_roots=roots, cwd="/home/me")).cwd == cwd


def test_agent_is_sent_back():
    answer = HOST.go_on(HOST.read(recorded("cursor-stop")), "1 failed\nAll of it: nextprompt.md")
    assert answer == r'{"followup_message":"1 failed\nAll of it: nextprompt.md"}'


def test_end_and_information_are_nothing_as_both_would_send_it_back():
    payload = HOST.read(recorded("cursor-stop"))
    assert (HOST.end(payload, REASON), HOST.inform(payload, REASON)) == ("", "")


@pytest.mark.parametrize("text", BLANK)
def test_nothing_to_say_is_nothing(text):
    assert HOST.go_on(HOST.read(recorded("cursor-stop")), text) == ""


@pytest.mark.parametrize("text", ["{}", '{"hooks": {}}', '{"version": 2}', '{"version": "1"}'])
def test_file_without_the_version_is_refused(text):
    with pytest.raises(ConfigError, match='"version": 1'):
        HOST.config.added(text)
    assert HOST.config.removed(text) == text
