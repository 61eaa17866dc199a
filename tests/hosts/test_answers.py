"""Answers: one line of ASCII, within the limit, the last line of the text kept."""

import json

import pytest
from host_payloads import FOLDER, recorded
from hypothesis import given
from hypothesis import strategies as st

from loop_close.hosts import LIMIT, fitted, host_named

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


TEXT = '1 failed: "na\u00efve"\nAll of it: nextprompt.md'
SHOWN = r"1 failed: \"na\u00efve\"\nAll of it: nextprompt.md"
BLOCK = f'"decision":"block","reason":"{SHOWN}"'


def context(event):
    return f'{{"hookSpecificOutput":{{"hookEventName":"{event}","additionalContext":"{SHOWN}"}}}}'


ENDED = f'{{"continue":false,"stopReason":"{SHOWN}"}}'
CLINE = f'{{"cancel":false,"contextModification":"{SHOWN}"}}'


@pytest.mark.parametrize(
    ("name", "go_on", "inform", "end"),
    [
        ("claude-Stop", f"{{{BLOCK}}}", context("Stop"), ENDED),
        ("claude-SubagentStop", f"{{{BLOCK}}}", context("SubagentStop"), ENDED),
        ("codex-Stop", f"{{{BLOCK}}}", "", ENDED),
        ("gemini-AfterAgent", f'{{"decision":"deny","reason":"{SHOWN}"}}', "", ENDED),
        ("openhands-Stop", f'{{"decision":"deny","additionalContext":"{SHOWN}"}}', "", ""),
        ("cursor-stop", f'{{"followup_message":"{SHOWN}"}}', "", ""),
        (
            "copilot-Stop",
            f'{{{BLOCK},"hookSpecificOutput":{{"hookEventName":"Stop",{BLOCK}}}}}',
            "",
            ENDED,
        ),
        ("cline-PostToolUse", CLINE, CLINE, ""),
    ],
)
def test_exact_answers(name, go_on, inform, end):
    host = host_named(name.partition("-")[0])
    payload = host.read(recorded(name))
    assert (host.go_on(payload, TEXT), host.inform(payload, TEXT), host.end(payload, TEXT)) == (
        go_on,
        inform,
        end,
    )
    for blank in ("", "  \n\t"):
        assert (host.go_on(payload, blank), host.inform(payload, blank)) == ("", "")


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("a\nb", 3, "a\nb"),
        ("one\ntwo\nthree\npath", 15, "one\n…\npath"),
        ("one\ntwo\nthree\npath", 18, "one\ntwo\nthree\npath"),
        ("a long line without end\npath", 20, "a long lin\n…\npath"),
        ("äöü\npath", 9, "path"),
        ("x\n" * 9 + "päth", 3, "pä"),
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
            assert len(shown.encode()) <= LIMIT
