"""Cline: programs in a folder, each named after its event (https://docs.cline.bot/customization/hooks).

It asks after each tool and not at the agent's end, so there is nothing to send back: the agent reads the text with the
result of the tool. Texts are cut at 50,000 characters. The command line calls a tool that ran a success, whatever the
result of the command is: that is in the tool's output.
"""

from __future__ import annotations

from loop_close.hosts import Config, ConfigError, HookInput, Host, Payload, answer_with, command_line

_LIMIT = 50_000
_NAME = "cline"
_SCRIPT = f"""\
#!/bin/sh
# Written by loop-close install --host cline; loop-close uninstall --host cline removes it.
command -v loop-close >/dev/null 2>&1 || exit 0
exec {command_line(_NAME)}
"""


def payload_of(sent: HookInput) -> Payload:
    """What Cline sends to a hook: the extension and the command line name events differently."""
    return Payload(
        session=sent.needed("taskId"),
        cwd=sent.first_folder("workspaceRoots") or sent.inner("workspaceInfo").folder("rootPath"),
        event=sent.event("hookName", ("PostToolUse", "tool_result")),
        is_stop=False,
    )


def added(content: str) -> str:
    """The program as it is, if it calls us.

    :raises ConfigError: when it does not: only its author knows where in it that would belong.
    """
    if _calls_us(content):
        return content
    raise ConfigError(
        "this hook is not from loop-close; to use both, make it pass its standard input to"
        f" `{command_line(_NAME)}` and print that command's output"
    )


def removed(content: str) -> str | None:
    """None for our program; another as it is, if it does not call us.

    :raises ConfigError: when it does: only its author knows what in it to take out.
    """
    if content == _SCRIPT:
        return None
    if _calls_us(content):
        raise ConfigError(f"edited since loop-close wrote it; remove `{command_line(_NAME)}` by hand")
    return content


def _calls_us(content: str) -> bool:
    from loop_close.hosts.config_file import runs_hook  # late: not needed to answer a hook

    lines = (line for line in content.splitlines() if not line.lstrip().startswith("#"))
    return any(runs_hook(_NAME, line) for line in lines)


_context = answer_with(lambda text: {"cancel": False, "contextModification": text}, _LIMIT)

HOST = Host(
    name=_NAME,
    title="Cline",
    limit=_LIMIT,
    payload_of=payload_of,
    # The agent works on anyway, and reads the text. Without ``end``: the hook is asked after every tool, so that it
    # would end each task that a person starts to fix what is stuck.
    go_on=_context,
    inform=_context,
    config=Config(
        project=".clinerules/hooks/PostToolUse",
        user="Documents/Cline/Hooks/PostToolUse",
        fresh=_SCRIPT,
        added=added,
        removed=removed,
        is_program=True,
        note="Cline runs hooks only if its setting Enable Hooks is on.",
    ),
)
