"""Cline: programs in a folder, each named after its event (https://docs.cline.bot/customization/hooks).

It asks after each tool and not at the agent's end, so there is nothing to send back: the agent reads the text with the
result of the tool. Texts are cut at 50,000 characters. The command line calls a tool that ran a success, whatever the
result of the command is: that is in the tool's output.
"""

from __future__ import annotations

from loop_close import hosts
from loop_close.hosts import Config, Host
from loop_close.records import Record

_LIMIT = 50_000
_SCRIPT = f"""\
#!/bin/sh
# Written by loop-close install --host cline; loop-close uninstall --host cline removes it.
command -v loop-close >/dev/null 2>&1 || exit 0
exec {hosts.command_line("cline")}
"""


class _Workspace(Record, frozen=True, rename="camel"):
    root_path: str = ""


class _Sent(hosts.Sent, frozen=True, rename="camel"):
    hook_name: str = ""
    task_id: str = ""
    workspace_roots: tuple[str, ...] = ()
    workspace_info: _Workspace = _Workspace()

    @property
    def event(self) -> str:
        """The extension and the command line name it differently, and the folder, too."""
        return self.hook_name

    def payload(self) -> hosts.Payload:
        """It asks after each tool only."""
        folder = next(iter(self.workspace_roots), self.workspace_info.root_path)
        return hosts.Payload(session=self.task_id, event=self.event, cwd=folder)


_context = hosts.answer_with(lambda text: {"cancel": False, "contextModification": text}, _LIMIT)

HOST = Host(
    name="cline",
    title="Cline",
    limit=_LIMIT,
    sent=_Sent,
    stops=(),
    others=("PostToolUse", "tool_result"),  # of the extension, and of the command line
    # The agent works on anyway, and reads the text. Without ``end``: the hook is asked after every tool, so that it
    # would end each task that a person starts to fix what is stuck.
    go_on=_context,
    inform=_context,
    config=Config(
        project=".clinerules/hooks/PostToolUse",
        user="Documents/Cline/Hooks/PostToolUse",
        script=_SCRIPT,
        note="Cline runs hooks only if its setting Enable Hooks is on.",
    ),
)
