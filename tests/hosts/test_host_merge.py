"""Our hook in a host's JSON file: put in once, taken out to the byte, all else as it was."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loop_close.hosts import ConfigError, all_hosts, config_file, host_named
from loop_close.hosts.config_file import is_ours, runs_hook

JSON_HOSTS = [host for host in all_hosts() if not host.config.is_program]
CLAUDE = host_named("claude").config
OURS = {"type": "command", "command": "loop-close hook --host claude", "timeout": 10}
THEIRS = {"type": "command", "command": "./check.sh"}

every_json_host = pytest.mark.parametrize("host", JSON_HOSTS, ids=lambda host: host.name)

# Files as people have them: of any layout, with hooks or without.
FILES = [
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "\n{\n\n}",
    '{"model":"opus"}',
    '{"model": "opus", "env": {"A": "1"}}\n',
    '{\n  "model": "opus"\n}\n',
    '{\n    "permissions": {"allow": ["Bash(ls:*)", "Read"]}\n}',
    '{\n\t"model": "opus"\n}\n',
    '{\r\n  "model": "opus"\r\n}\r\n',
    '\ufeff{\n  "model": "opus"\n}\n',
    '{\n  "a": 1,\n\n  "b": 1.50, "c": 1e400, "d": "\\u00fc\u00fc\\/"}',
    '{"hooks":{}}',
    '{\n  "hooks": {\n  }\n}\n',
    '{"hooks":{"Stop":[]}}',
    '{\n  "hooks": {"Stop": []}\n}\n',
    '{\n  "hooks": {"Stop": [\n  ]}\n}\n',
    '{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./check.sh"}]}]}}',
    '{\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": [\n          {"type": "command", "command": "./a.sh"}\n'
    '        ]\n      }\n    ]\n  },\n  "z": null\n}\n',
    '{"hooks":{"Stop":[7, null, "x", [], {}, {"hooks": 7}, {"hooks": [7, {"command": 7}]}]}}',
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=8,
)
EVENTS = st.dictionaries(st.sampled_from(["Stop", "stop", "AfterAgent", "Other"]), st.lists(VALUES))
DOCUMENTS = st.fixed_dictionaries({"version": st.just(1)}, optional={"hooks": EVENTS, "more": VALUES})
INDENTS = st.none() | st.integers(0, 5) | st.just("\t")


def stop_hooks(text):
    return json.loads(text.removeprefix("\ufeff"))["hooks"]["Stop"]


@every_json_host
def test_fresh_file_is_ours_whole(host):
    text = host.config.fresh
    assert f'"loop-close hook --host {host.name}"' in text
    assert text.endswith("}\n")
    assert host.config.added(text) == text
    assert host.config.removed(text) is None


def test_fresh_file_is_what_the_documentation_of_the_host_says():
    assert json.loads(CLAUDE.fresh) == {"hooks": {"Stop": [{"hooks": [OURS]}]}}
    assert json.loads(host_named("cursor").config.fresh) == {
        "hooks": {"stop": [{"command": "loop-close hook --host cursor", "loop_limit": 5}]},
        "version": 1,
    }


@pytest.mark.parametrize("text", FILES)
def test_hook_comes_and_goes_without_a_trace(text):
    there = CLAUDE.added(text)
    assert stop_hooks(there)[-1] == {"hooks": [OURS]}
    assert CLAUDE.added(there) == there
    assert CLAUDE.removed(there) == text
    assert CLAUDE.removed(text) == text


@pytest.mark.parametrize("text", FILES)
def test_all_else_stays_in_its_order(text):
    before = json.loads(text.removeprefix("\ufeff"))
    after = json.loads(CLAUDE.added(text).removeprefix("\ufeff"))
    after["hooks"]["Stop"].pop()
    assert list(after)[: len(before)] == list(before)
    assert {**after, "hooks": {"Stop": [], **before.get("hooks", {})}} == {
        **before,
        "hooks": {"Stop": [], **before.get("hooks", {})},
    }
    assert after["hooks"] == {"Stop": [], **before.get("hooks", {})}


@pytest.mark.slow
@every_json_host
@given(
    document=DOCUMENTS,
    indent=INDENTS,
    newline=st.sampled_from(["\n", "\r\n"]),
    ending=st.sampled_from(["", "\n"]),
)
def test_whatever_the_file_holds_it_comes_back(host, document, indent, newline, ending):
    text = (json.dumps(document, indent=indent, ensure_ascii=False) + ending).replace("\n", newline)
    try:
        there = host.config.added(text)
    except ConfigError:
        assert host.name == "openhands"  # both spellings of an event
        return
    assert there != text
    assert host.config.added(there) == there
    assert host.config.removed(there) == text
    assert json.loads(text) == document


def test_style_of_the_file_is_kept():
    assert CLAUDE.added('{\r\n\t"a": 1\r\n}\r\n') == (
        '{\r\n\t"a": 1,\r\n\t"hooks": {\r\n\t\t"Stop": [\r\n\t\t\t{\r\n\t\t\t\t"hooks": [\r\n\t\t\t\t\t{\r\n'
        '\t\t\t\t\t\t"type": "command",\r\n\t\t\t\t\t\t"command": "loop-close hook --host claude",\r\n'
        '\t\t\t\t\t\t"timeout": 10\r\n\t\t\t\t\t}\r\n\t\t\t\t]\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}\r\n'
    )
    assert CLAUDE.added('{"a": 1}').count("\n") == 0


@pytest.mark.parametrize(
    ("hooks", "left"),
    [
        ({"Stop": [{"hooks": [THEIRS, OURS]}]}, {"Stop": [{"hooks": [THEIRS]}]}),
        ({"Stop": [{"hooks": [OURS, THEIRS]}]}, {"Stop": [{"hooks": [THEIRS]}]}),
        ({"Stop": [{"hooks": [OURS, THEIRS, OURS]}]}, {"Stop": [{"hooks": [THEIRS]}]}),
        ({"Stop": [{"hooks": [OURS]}, {"hooks": [THEIRS]}]}, {"Stop": [{"hooks": [THEIRS]}]}),
        ({"Stop": [{"matcher": "", "hooks": [OURS]}], "Other": []}, {"Other": []}),
        (
            {"PostToolUseFailure": [{"matcher": "Bash", "hooks": [OURS]}], "Stop": [{"hooks": [THEIRS]}]},
            {"Stop": [{"hooks": [THEIRS]}]},
        ),
    ],
)
@pytest.mark.parametrize("indent", [1, "\t"])
def test_ours_goes_wherever_a_person_has_put_it(hooks, left, indent):
    assert json.loads(CLAUDE.removed(json.dumps({"hooks": hooks}, indent=indent)))["hooks"] == left


def test_list_that_may_have_been_there_before_stays():
    text = json.dumps({"hooks": {"Stop": [{"hooks": [OURS]}]}})
    assert CLAUDE.removed(text) == '{"hooks": {"Stop": []}}'


def test_nothing_is_left_of_what_others_have_reformatted():
    assert CLAUDE.removed(CLAUDE.fresh.replace("  ", "    ")) == "{}\n"


@pytest.mark.parametrize(
    "command",
    [
        "loop-close hook --host claude",
        ".venv/bin/loop-close hook --host claude",
        "'/a b/loop-close' hook --host=claude",
        r'"C:\tools\loop-close.exe" hook --host "claude"',
        "uv run loop-close hook --host claude",
        "uvx --from pytest-loop-close loop-close hook --host claude || true",
        "python -m loop_close hook --host claude",
        "cd sub && loop-close hook --host claude",
        "cd 'a;b' ; . .venv/bin/activate && exec loop-close hook --host claude",
        "A=1 B='x y' loop-close hook --host claude 2>&1",
        "export A=1; loop-close hook --host claude 2>/dev/null || exit 0",
        "command -v loop-close >/dev/null || exit 0; loop-close hook --host claude &>log",
        "A=1; loop-close hook --host claude;",
    ],
)
def test_our_hook_is_known_however_it_is_run(command):
    assert is_ours("claude", command)
    assert runs_hook("claude", command)
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}})
    assert CLAUDE.added(text) == text
    assert stop_hooks(CLAUDE.removed(text)) == []


@pytest.mark.parametrize(
    "command",
    [
        "",
        7,
        None,
        "loop-close status",
        "loop-close hook --host codex",
        "loop-close hook --host claude2",
        "my-loop-close hook --host claude",
        "loop-close run -- hook",
        "hook --host claude loop-close",
    ],
)
def test_other_commands_are_of_others(command):
    assert not is_ours("claude", command)
    assert not runs_hook("claude", command)


@pytest.mark.parametrize(
    "command",
    [
        "./notify.sh; loop-close hook --host claude",
        "loop-close hook --host claude && ./notify.sh",
        "loop-close hook --host claude | tee log",
        "tee log | loop-close hook --host claude",
        "./check.sh || loop-close hook --host claude",
        "./server & loop-close hook --host claude",
        "cd x\n./check.sh\nloop-close hook --host claude",
        "sh -c './notify.sh; loop-close hook --host claude'",
        "A='1;2' loop-close hook --host claude",
    ],
)
def test_who_does_more_is_not_asked_twice_and_not_taken_out(command):
    assert runs_hook("claude", command)
    assert not is_ours("claude", command)
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}, OURS]}]}})
    assert CLAUDE.added(text) == text
    with pytest.raises(ConfigError, match='"Stop" has a command that does more than run the hook'):
        CLAUDE.removed(text)


@given(st.text(alphabet="loop-close hook --host claude;&|'\"\\\n<>2$", max_size=80))
def test_no_command_is_too_odd_to_be_looked_at(command):
    assert is_ours("claude", command) <= runs_hook("claude", command)


HANDLERS = st.lists(st.sampled_from([OURS, THEIRS, 7]), max_size=5)
ENTRIES = st.builds(lambda h, m: {**m, "hooks": h}, HANDLERS, st.sampled_from([{}, {"matcher": "x"}]))
MANY = st.dictionaries(
    st.sampled_from(["Stop", "SubagentStop", "Other"]),
    st.lists(ENTRIES | st.sampled_from([OURS, 1, {}]), max_size=6),
)


def places_of_ours(text):
    """Each handler of ours, as the containers around it: their offsets, and the index of the part within."""
    parts, root = config_file.parts, config_file.root(text)
    for at_hooks, hooks in enumerate(parts(text, root)):
        for at_event, event in enumerate(parts(text, hooks.at) if hooks.name == "hooks" else ()):
            way = (root, at_hooks), (hooks.at, at_event)
            for at_entry, entry in enumerate(parts(text, event.at)):
                if entry.value == OURS:
                    yield (*way, (event.at, at_entry))
                for at_group, group in enumerate(
                    parts(text, entry.at) if isinstance(entry.value, dict) else ()
                ):
                    handlers = parts(text, group.at) if group.name == "hooks" else ()
                    inner = (entry.at, at_group) if len(handlers) > 1 else None
                    for at_handler, handler in enumerate(handlers):
                        if handler.value == OURS:
                            more = (inner, (group.at, at_handler)) if inner else ()
                            yield (*way, (event.at, at_entry), *more)


def without(text, at, index):
    parts = config_file.parts(text, at)
    if index:
        return text[: parts[index - 1].end] + text[parts[index].end :]
    if len(parts) > 1:
        return text[: parts[0].start] + text[parts[1].start :]
    rest = text[parts[0].end :]
    return text[: at + 1] + (rest if config_file.is_filled(text, at) else rest.lstrip())


def one_after_the_other(text):
    while way := next(places_of_ours(text), None):
        stays = (
            (at, index)
            for at, index in reversed(way)
            if len(config_file.parts(text, at)) > 1 or config_file.is_filled(text, at)
        )
        text = without(text, *next(stays, way[0]))
    return text


@given(events=MANY, indent=INDENTS, more=st.booleans())
def test_many_of_ours_go_as_they_would_one_after_the_other(events, indent, more):
    text = json.dumps({"hooks": events, **({"model": 1} if more else {})}, indent=indent)
    assume(text != CLAUDE.fresh)
    assert CLAUDE.removed(text) == one_after_the_other(text)


@pytest.mark.large
@pytest.mark.parametrize("shape", [lambda n: [{"hooks": [OURS]}] * n, lambda n: [{"hooks": [OURS] * n}]])
def test_twice_as_many_take_twice_as_long(monkeypatch, shape):
    seen = []
    parts = config_file.parts
    monkeypatch.setattr(config_file, "parts", lambda body, at: seen.append(found := parts(body, at)) or found)

    def looked_at(number):
        seen.clear()
        assert json.loads(CLAUDE.removed(json.dumps({"hooks": {"Stop": shape(number)}})))["hooks"] == {
            "Stop": []
        }
        return sum(map(len, seen))

    assert looked_at(400) < 2.2 * looked_at(200)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the file is empty; fix it, or add the hook by hand: "),
        (" \n", "the file is empty; fix it"),
        ("{", "invalid JSON: Expecting property name enclosed in double quotes: line 1"),
        ('{"a": 1,}', "invalid JSON: "),
        ('{"a": NaN}', "invalid JSON: NaN is not JSON"),
        ('{"a": 1} x', "invalid JSON: Extra data: line 1 column 10"),
        ("[" * 100_000, "invalid JSON: nested too deeply"),
        ("// mine\n{}", "comment in line 1; JSON has no comments; fix it, or add the hook by hand: "),
        ('{\n  // mine\n  "a": 1\n}', "comment in line 2; JSON has no comments"),
        ('{\n  "a": 1 /* mine */\n}', "comment in line 2; JSON has no comments"),
        ("[]", "not a JSON object: {…}"),
        ("null", "not a JSON object: {…}"),
        ('{"hooks": []}', '"hooks" is not an object: {…}'),
        ('{"hooks": "x"}', '"hooks" is not an object: {…}'),
        ('{"hooks": null}', '"hooks" is not an object: {…}'),
        ('{"hooks": {"Stop": {}}}', '"hooks.Stop" is not a list: […]'),
        ('{"hooks": {"Stop": "x"}}', '"hooks.Stop" is not a list: […]'),
        ('{"hooks": {}, "hooks": {}}', '"hooks" appears twice; keep one'),
        ('{"hooks": {"Stop": [], "Stop": []}}', '"hooks.Stop" appears twice; keep one'),
    ],
    ids=lambda value: repr(value[:30]),
)
def test_what_cannot_hold_it_is_refused(text, why):
    with pytest.raises(ConfigError) as caught:
        CLAUDE.added(text)
    assert str(caught.value).startswith(why)


def test_refusal_gives_the_hook_to_add_by_hand():
    gemini = host_named("gemini").config
    with pytest.raises(ConfigError) as caught:
        gemini.added("{ // mine\n}")
    assert json.loads(str(caught.value).partition("by hand: ")[2]) == json.loads(gemini.fresh)


def counted(value):
    return len(value) if isinstance(value, list) else {key: counted(each) for key, each in value.items()}


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("{}", {"stop": 1}),
        ('{"pre_tool_use": []}', {"pre_tool_use": 0, "stop": 1}),
        ('{"Stop": []}', {"Stop": 1}),
        ('{"hooks": {}}', {"hooks": {"Stop": 1}}),
        ('{"hooks": {"stop": []}}', {"hooks": {"stop": 1}}),
    ],
)
def test_openhands_gets_it_in_the_form_of_its_file(text, there):
    config = host_named("openhands").config
    assert counted(json.loads(config.added(text))) == there
    assert config.removed(config.added(text)) == text


def test_cursor_file_that_had_only_a_version_stays():
    config = host_named("cursor").config
    text = '{\n  "version": 1\n}\n'
    assert config.removed(config.added(text)) == text


def test_ours_is_removed_from_both_places_of_a_host_that_has_two():
    openhands = host_named("openhands").config
    hook = json.loads(openhands.fresh)
    events = hook.get("hooks", hook)
    both = json.dumps({**events, "hooks": events, "other": 1})
    assert "loop-close" not in (openhands.removed(both) or "")
