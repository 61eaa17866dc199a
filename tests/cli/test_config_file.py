"""Our hook in a host's file, and our section in AGENTS.md: put in once, taken out, all else stays."""

import json

import pytest

from loop_close.cli.install import added, removed, with_section, without_section
from loop_close.hosts import ConfigError, host_named

HOOK = "loop-close hook --host claude"
OURS = {"type": "command", "command": HOOK, "timeout": 10}
THEIRS = {"type": "command", "command": "./check.sh"}
BOTH = {"SessionStart": [{"hooks": [OURS]}], "Stop": [{"hooks": [OURS]}]}


def put(text, name="claude"):
    return added(host_named(name), text)


def take(text, name="claude"):
    return removed(host_named(name), text)


def test_a_new_file_is_what_the_documentation_of_the_host_says():
    assert json.loads(put("")) == {"hooks": BOTH}
    assert json.loads(put("", "cursor")) == {
        "version": 1,
        "hooks": {"stop": [{"command": "loop-close hook --host cursor", "loop_limit": 5}]},
    }


@pytest.mark.parametrize(
    "document",
    [
        {"model": "opus", "env": {"A": "ü", "b": 1.5, "c": None}},
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [THEIRS]}]}, "z": []},
        {"hooks": {"Stop": [{"hooks": [THEIRS]}]}},
        {"hooks": {"Stop": [7, None, "x", [], {}, {"hooks": 7}, {"hooks": [7, {"command": 7}]}]}},
    ],
)
@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
def test_all_else_stays_in_its_order(document, indent):
    text = json.dumps(document, indent=indent)
    there = put(text)
    assert put(there) == there
    hooks = json.loads(there)["hooks"]
    assert hooks["Stop"][-1] == hooks["SessionStart"][-1] == {"hooks": [OURS]}
    assert list(json.loads(there))[: len(document)] == list(document)
    assert json.loads(take(there)) == document
    assert take(text) == text


def test_indent_and_line_breaks_are_those_of_the_file():
    there = put('\ufeff{\r\n\t"a": "ü"\r\n}\r\n')
    assert there.startswith('{\r\n\t"a": "ü",\r\n\t"hooks": {\r\n\t\t"SessionStart": [\r\n')
    assert there.endswith("}\r\n")


@pytest.mark.parametrize(
    "command",
    [
        f".venv/bin/{HOOK}",
        "'/a b/loop-close' hook --host=claude",
        r'"C:\tools\loop-close.exe" hook --host claude',
        "python -m loop_close hook --host claude",
        f"./a.sh; {HOOK}",
    ],
)
def test_our_hook_is_known_however_it_is_run_and_left_to_who_edited_it(command):
    hooks = {event: [{"hooks": [{**OURS, "command": command}]}] for event in BOTH}
    text = json.dumps({"hooks": hooks})
    assert put(text) == text
    with pytest.raises(ConfigError, match="edited since loop-close wrote it; remove `"):
        take(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": NaN}', "not plain JSON ("),
        ('{"a": "\\ud83d"}', "not plain JSON ("),
        ("[" * 100_000, "not plain JSON ("),
        ("// mine\n{}", "not plain JSON ("),
        ("[]", "not plain JSON (Expected `object`, got `array`)"),
        ('{"hooks": []}', "hooks is not an object"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop is not a list"),
    ],
    ids=lambda value: repr(value[:30]),
)
def test_what_cannot_hold_it_is_refused(text, why):
    with pytest.raises(ConfigError) as caught:
        put(text)
    assert str(caught.value).startswith(why)


@pytest.mark.parametrize("text", ['{"hooks": {}}', '{"version": 2}', '{"version": "1"}'])
def test_a_file_of_cursor_without_the_version_is_refused(text):
    with pytest.raises(ConfigError, match='"version": 1'):
        put(text, "cursor")
    assert take(text, "cursor") == text


@pytest.mark.parametrize("text", ["# Agents\n", "# Agents\r\n\r\nUse tabs.", "# Agents\n\n\nmore\n\n\n"])
def test_section_of_agents_md_comes_and_goes(text):
    there = with_section(text, "nextprompt.md")
    assert there.startswith(text.rstrip())
    assert "- After edits, run `loop-close check`." in there
    assert with_section(there, "nextprompt.md") == there
    assert without_section(there) == f"{text.rstrip()}\n"
    other = with_section(f"{there}\n## More\n", "build/next.md")
    assert "`build/next.md`" in other
    assert "`nextprompt.md`" not in other
    assert without_section(other) == f"{text.rstrip()}\n\n\n## More\n"
