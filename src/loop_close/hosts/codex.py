"""Codex: hooks of ``hooks.json`` (https://developers.openai.com/codex/hooks).

The schema of an answer to ``Stop`` takes no key but those used here, and with ``decision`` a reason that is not
blank. From about 2,500 tokens on a text is moved into a file, and the agent is shown its ends.
"""

from __future__ import annotations

from loop_close import hosts
from loop_close.hosts import START, Config, Host

HOST = Host(
    name="codex",
    title="Codex",
    stops=("Stop", "SubagentStop"),
    go_on=hosts.answer_with(lambda text: {"decision": "block", "reason": text}),
    end=hosts.end_run,  # without ``inform``: what Codex shows the agent at its end sends it on
    config=Config(
        project=".codex/hooks.json",
        events=(START, "Stop"),
        entry=hosts.group_of("codex"),
        home="CODEX_HOME",
        note="Codex silently skips hooks that you have not trusted: start codex, type /hooks, and trust these.",
    ),
)
