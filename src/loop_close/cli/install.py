"""``loop-close install`` and ``uninstall``: our hook in an agent's configuration, or our section in ``AGENTS.md``."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from loop_close import files
from loop_close.checks import root_of
from loop_close.cli import Streams, UsageError, as_usage_error, project_at
from loop_close.hosts import NAMES, ConfigError, Host, command_line, host_named
from loop_close.provenance import agent_of
from loop_close.text import code, reason_of
from loop_close.text.redact import redact


def install(options: argparse.Namespace, streams: Streams) -> int:
    """Put the hook or the section in, once, and print what that changes; always 0."""
    host, base, name = _asked_for(options)
    if host is None:
        _edit(base, name, partial(with_section, file=project_at(base).settings.file), options, streams)
    elif _edit(base, name, partial(added, host), options, streams):
        tell_the_rest(host, streams, is_user=options.user)
    return 0


def uninstall(options: argparse.Namespace, streams: Streams) -> int:
    """Take the hook or the section out, and print what that changes; 0 although there was none."""
    host, base, name = _asked_for(options)
    take_out = partial(removed, host) if host else without_section
    _edit(base, name, lambda old: take_out(old) if old else "", options, streams)
    return 0


def _asked_for(options: argparse.Namespace) -> tuple[Host | None, Path, str]:
    """The host, None for ``AGENTS.md``; the folder of the file to change, and the file's path below it.

    :raises UsageError: for options that name neither, an unknown host, or ``AGENTS.md`` of a user.
    """
    if options.agents_md == bool(options.host):
        agent, variable = agent_of(os.environ)
        known = f" ({variable} is set: --host {agent})" if agent in NAMES else ""
        raise UsageError(f"give --host NAME or --agents-md{known}")
    if options.agents_md and options.user:
        raise UsageError("--agents-md is for one project: leave --user out")
    if options.agents_md:
        return None, root_of(Path.cwd()), _AGENTS
    with as_usage_error(ValueError):
        host = host_named(options.host)
    if options.user:
        return host, Path(os.path.expanduser("~")), host.user_file or host.file
    return host, root_of(Path.cwd()), host.file


def _edit(
    base: Path,
    name: str,
    change: Callable[[str], str],
    options: argparse.Namespace,
    streams: Streams,
) -> bool:
    """Change the text of a file, and show the difference.

    :returns: whether it had to be changed.
    :raises UsageError: when that cannot be done; the file is then as it was.
    """
    shown = f"~/{name}" if options.user else name
    planned = plan(base, name, change, shown)
    if planned.new == planned.old:
        streams.say(difference(planned))
        return False
    if not options.dry_run:
        carry_out(planned)
    streams.say(difference(planned))
    streams.say("nothing was written (--dry-run)" if options.dry_run else f"{options.name}ed: {shown}")
    return True


class Plan(NamedTuple):
    """What is to become of a file.

    :ivar name: its path below the base; ``path`` where that leads, and ``shown`` its name in messages.
    :ivar old: its text; ``new`` the one that it is to have. Empty for no file.
    """

    base: Path
    name: str
    path: Path
    shown: str
    old: str
    new: str


def plan(base: Path, name: str, change: Callable[[str], str], shown: str) -> Plan:
    """What a change makes of a file's text. Nothing is written.

    :raises UsageError: when the file cannot be changed.
    """
    with _refused(shown):
        path = Path(os.path.realpath(base / name))  # links stay links
        if not path.is_relative_to(os.path.realpath(base)):
            raise ConfigError(f"a symbolic link points outside {base}: edit {path} by hand")
        old = _content_of(path)
        return Plan(base, name, path, shown, old, change(old))


def carry_out(planned: Plan) -> None:
    """Write what was planned.

    :raises UsageError: when that cannot be done; the file is then as it was.
    """
    with _refused(planned.shown, "it is as it was"):
        if _content_of(planned.path) != planned.old:
            raise ConfigError("it changed meanwhile")
        _write(planned.base, planned.name, planned.path, planned.new)


@contextlib.contextmanager
def _refused(shown: str, left: str = "nothing was changed") -> Iterator[None]:
    try:
        yield
    except (ConfigError, UnicodeDecodeError) as error:
        raise UsageError(f"{shown}: {error} ({left})") from None
    except OSError as error:
        raise UsageError(f"{shown}: cannot be changed: {reason_of(error)} ({left})") from None


def _content_of(path: Path) -> str:
    """The file's text, line ends as they are; empty if there is no such file."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return ""
    if not stat.S_ISREG(mode):
        raise ConfigError("not a regular file of a configuration; move it away")
    if not mode & 0o222:  # the mode counts for the superuser, too: it was set for a reason
        raise ConfigError("read-only; make it writable first")
    return path.read_bytes().decode()


def _write(base: Path, name: str, path: Path, text: str) -> None:
    """Write the text; for none remove the file, and the folders below the base that it leaves empty."""
    if not text:
        os.unlink(path)
        with contextlib.suppress(OSError):  # something else is in it
            for folder in list(Path(name).parents)[:-1]:
                (base / folder).rmdir()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, [text])
    if text.startswith("#!"):
        os.chmod(path, path.stat().st_mode | 0o111)


def difference(planned: Plan) -> str:
    """A unified diff, safe to show: without the credentials that such files hold, and without control characters."""
    old, new = planned.old, planned.new
    if old == new:
        return f"nothing to change: {planned.shown}"
    before, after = (planned.shown if text else "/dev/null" for text in (old, new))
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm="")
    text = redact("\n".join(lines))
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def tell_the_rest(host: Host, streams: Streams, *, is_user: bool = False) -> None:
    """What a person has to know or do before the hook, perhaps in the home folder, works."""
    if host.note:
        streams.complain(host.note)
    moved = os.environ.get(host.home)
    if is_user and moved:
        streams.complain(f"{host.home} is set: {host.title} reads its configuration from {moved}")
    if shutil.which("loop-close") is None:
        streams.complain("loop-close is not on the PATH; the agent needs it on its PATH")


# --- our hook in a host's configuration file: texts in, texts out

_INDENTED = re.compile(r'\n([ \t]+)"')


def added(host: Host, text: str) -> str:
    """The text with our hook under every event; one that has it already is returned unchanged.

    :param text: empty for no file yet.
    :raises ConfigError: when it cannot be added.
    """
    if host.script:
        if not text or _runs_hook(host.name, text):
            return text or host.script
        raise ConfigError(
            "this hook is not from loop-close; to use both, make it pass its standard input to"
            f" `{command_line(host.name)}` and print that command's output"
        )
    document = _parsed(host, text) if text else dict(host.beside)
    host.check(document)
    hooks = _typed(document.setdefault("hooks", {}), dict, "hooks")
    missing = [event for event in host.events if not _runs_hook(host.name, json.dumps(hooks.get(event)))]
    for event in missing:
        _typed(hooks.setdefault(event, []), list, f"hooks.{event}").append(host.entry)
    return _written(document, text) if missing else text


def removed(host: Host, text: str) -> str:
    """The text without the entries that we added; empty if nothing else is in it.

    :raises ConfigError: when the text is invalid, or a person edited our hook.
    """
    if host.script:
        left = "" if text == host.script else text
    else:
        document = _parsed(host, text)
        hooks = _typed(document.get("hooks", {}), dict, "hooks")
        ours = [event for event, entries in hooks.items() if host.entry in (entries or ())]
        for event in ours:
            hooks[event] = [entry for entry in hooks[event] if entry != host.entry]
            if not hooks[event]:
                del hooks[event]
        if not hooks:
            document.pop("hooks", None)
        is_ours = document in ({}, host.beside)
        left = text if not ours else "" if is_ours else _written(document, text)
    if _runs_hook(host.name, left):
        raise ConfigError(f"edited since loop-close wrote it; remove `{command_line(host.name)}` by hand")
    return left


def _runs_hook(host: str, text: str) -> bool:
    """Whether a line of a program, or of JSON, runs our hook for the host."""
    pattern = rf"(?m)^(?!\s*#).*(?<![\w-])loop[-_]close(\.exe)?\\?[\"']? +hook +--host[ =]{host}(?![\w-])"
    return re.search(pattern, text.replace("\\n", "\n")) is not None


def _parsed(host: Host, text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text.removeprefix("\ufeff"), type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        by_hand = json.dumps({"hooks": {event: [host.entry] for event in host.events}})
        raise ConfigError(f"not plain JSON ({error}); fix it, or add the hook by hand: {by_hand}") from None


def _typed(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind):
        raise ConfigError(f"{name} is not {'a list' if kind is list else 'an object'}")
    return value


def _written(document: Mapping[str, Any], like: str) -> str:
    """The document with the indent and line breaks of the text."""
    indented = _INDENTED.search(like)
    text = json.dumps(document, indent=indented[1] if indented else 2, ensure_ascii=False)
    return f"{text}\n".replace("\n", "\r\n" if "\r\n" in like else "\n")


# --- our section in ``AGENTS.md`` (https://agents.md)

_AGENTS = "AGENTS.md"
_BEGIN = "<!-- loop-close:begin (loop-close uninstall --agents-md removes this section) -->"
_END = "<!-- loop-close:end -->"
_SECTION = re.compile(r"<!-- loop-close:begin.*?<!-- loop-close:end -->\r?\n?", re.DOTALL)


def with_section(text: str, file: str) -> str:
    """The text of ``AGENTS.md`` with our section: in its place, else at the end.

    :param file: the path of the next prompt.
    """
    section = f"""\
{_BEGIN}
## Is the work done?

- After edits, run `loop-close check`. It runs all checks of this project. The work is done when it exits with 0.
- If it exits with 1, read the prompt that it prints, or {code(redact(file))}, before the next edit: each root cause,\
 the probable place, a failing statement with its values, what earlier edits changed. `loop-close prompt` prints it\
 again; no test has to run for that.
- 2: it could not tell; it says why. 3: the loop is stuck: say so, and ask a person. 4: tests were changed, and the old\
 ones do not pass: restore them, or ask a person.
{_END}
"""
    if _SECTION.search(text):
        return _SECTION.sub(lambda found: section, text)
    return f"{text.rstrip()}\n\n{section}".lstrip()


def without_section(text: str) -> str:
    """The text without our section; empty if nothing else is in it."""
    if not _SECTION.search(text):
        return text
    rest = _SECTION.sub("", text).rstrip()
    return f"{rest}\n" if rest else ""
