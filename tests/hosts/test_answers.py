"""Answers: one line of ASCII, within the limit, the last line of the text kept."""

import json

import pytest
from host_payloads import FOLDER
from hypothesis import given
from hypothesis import strategies as st

from loop_close.hosts import all_hosts, answer_line, fitted, host_named

LAST = "All of it: nextprompt.md"


def _told(path):
    host = host_named(path.stem.partition("-")[0])
    return host, host.read(path.read_bytes())


EVERY = {path.stem: _told(path) for path in sorted(FOLDER.glob("*.json"))}
every_payload = pytest.mark.parametrize(("host", "payload"), EVERY.values(), ids=EVERY)
TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("\n`~ \ud800"))


def strings(value):
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else ()
    return [text for each in inside for text in strings(each)]


def test_line_is_compact_ascii():
    assert answer_line({"a": "ü\n\u2028", "b": False}) == r'{"a":"\u00fc\n\u2028","b":false}'


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("a\nb", 3, "a\nb"),
        ("\na\nb\n\n", 3, "a\nb"),
        ("one\ntwo\nthree\npath", 15, "one\n…\npath"),
        ("one\ntwo\nthree\npath", 16, "one\n…\npath"),
        ("one\ntwo\nthree\npath", 18, "one\ntwo\nthree\npath"),
        ("a long line without end\npath", 20, "a long lin\n…\npath"),
        ("äöü\npath", 9, "path"),
        ("path/of/a/file", 4, "path"),
        ("x\n" * 9 + "päth", 3, "pä"),
        ("päth", 2, "p"),
        ("", 0, ""),
        ("a\ud800b", 9, "a?b"),
    ],
)
def test_cut_keeps_the_last_line(text, limit, shown):
    assert fitted(text, limit) == shown


@pytest.mark.parametrize("marks", ["```", "`````", "~~~"])
def test_cut_code_block_is_ended(marks):
    text = "\n".join(["facts", f"{marks}python", *["x = 1"] * 50, marks, LAST])
    shown = fitted(text, 100)
    assert shown.endswith(f"x = 1\n{marks}\n…\n{LAST}")
    assert len(shown.encode()) <= 100


def test_cut_behind_a_code_block_needs_no_end():
    text = "\n".join(["```", "x", "```", *["fact"] * 50, LAST])
    assert fitted(text, 80).count("```") == 2


@given(text=TEXTS, limit=st.integers(0, 60))
def test_limit_is_kept(text, limit):
    shown = fitted(text, limit)
    assert len(shown.encode()) <= limit
    last = text.strip("\n").rpartition("\n")[2].encode("utf-8", "replace").decode()
    assert last.startswith(shown) or shown.endswith(last)


@every_payload
@pytest.mark.parametrize("piece", ["fact\n", 'ü"\\\n', "\U0001f600", "\x00\x1b[31m\n"])
def test_long_texts_fit(host, payload, piece):
    text = piece * 30_000 + f"\n{LAST}"
    for answer in (host.go_on(payload, text), host.inform(payload, text), host.end(payload, text)):
        assert answer.isascii()
        assert "\n" not in answer
        for shown in strings(json.loads(answer or "{}")):
            assert len(shown.encode()) <= host.limit


@every_payload
def test_path_survives(host, payload):
    shown = max(strings(json.loads(host.go_on(payload, "fact\n" * 30_000 + LAST))), key=len)
    assert shown.endswith(f"…\n{LAST}")
    assert host.limit - 20 < len(shown.encode()) <= host.limit


def test_limits_are_below_what_hosts_let_through():
    assert {host.name: host.limit for host in all_hosts() if host.limit != 9_000} == {"cline": 50_000}


def test_every_payload_is_of_a_host():
    assert {host.name for host, _ in EVERY.values()} == {host.name for host in all_hosts()}
