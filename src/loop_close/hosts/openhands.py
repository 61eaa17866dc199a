"""OpenHands: hooks of ``hooks.json`` (https://docs.openhands.dev/openhands/usage/customization/hooks).

Its input has other keys than that of the others, and ``block`` is none of its decisions. ``continue: false`` keeps the
agent at work: it cannot be ended, only allowed to stop. The input does not say whether the agent was sent back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from loop_close import hosts
from loop_close.hosts import START, Config, ConfigError, Host, Payload


class _Sent(hosts.Sent, frozen=True):
    event_type: str = ""
    working_dir: str = ""

    @property
    def event(self) -> str:
        """Its name."""
        return self.event_type

    def payload(self) -> Payload:
        """As others, with the folder below its own key."""
        return msgspec.structs.replace(super().payload(), cwd=self.working_dir)


def _check(document: Mapping[str, Any]) -> None:
    """OpenHands takes events at the top or below ``hooks``, in either spelling, and never both."""
    events = document.get("hooks", document)
    if events and ("hooks" not in document or any(name.islower() for name in events)):
        raise ConfigError('write its events below "hooks", and in the spelling "Stop"')


HOST = Host(
    name="openhands",
    title="OpenHands",
    sent=_Sent,
    stops=("Stop",),
    # Without ``inform``: a text is shown to the agent only with a denial. Without ``end``, too.
    go_on=hosts.answer_with(lambda text: {"decision": "deny", "additionalContext": text}),
    config=Config(
        project=".openhands/hooks.json",
        events=(START, "Stop"),
        entry=hosts.group_of("openhands", matcher="*"),
        check=_check,
    ),
)
