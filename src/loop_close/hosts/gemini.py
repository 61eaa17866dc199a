"""Gemini CLI: hooks of ``settings.json`` (https://geminicli.com/docs/hooks/reference).

Timeouts are milliseconds. ``block`` would be taken for ``deny``, too. ``stop_hook_active`` is false again once the
agent that was sent back has used a tool.
"""

from __future__ import annotations

import msgspec

from loop_close import hosts
from loop_close.hosts import START, Config, Host, Payload


class _Sent(hosts.Sent, frozen=True):
    def payload(self) -> Payload:
        """That it was sent back is known only if the flag is set."""
        return msgspec.structs.replace(super().payload(), is_again=self.stop_hook_active or None)


HOST = Host(
    name="gemini",
    title="Gemini CLI",
    sent=_Sent,
    stops=("AfterAgent",),
    go_on=hosts.answer_with(
        lambda text: {"decision": "deny", "reason": text}
    ),  # the reason is the next prompt
    end=hosts.end_run,
    config=Config(
        project=".gemini/settings.json",
        events=(START, "AfterAgent"),
        entry={"hooks": [{"name": "loop-close", **hosts.handler_of("gemini", timeout=10_000)}]},
    ),
)
