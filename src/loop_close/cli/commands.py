"""The commands that read no run: ``install``, ``uninstall``, ``demo``, ``detectors``, ``drive`` and ``mcp``."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import loop_close
from loop_close import files
from loop_close.cli import Streams, UsageError
from loop_close.cli.hook import host_called
from loop_close.cli.project import is_root, project_at, root_of, settings_of
from loop_close.hosts import NAMES, Config, ConfigError, Host
from loop_close.hosts.config_file import agents_md
from loop_close.lazy import dataclass
from loop_close.provenance import agent_of
from loop_close.text.redact import redact

_PACKAGE = Path(loop_close.__file__).parent
#: In an installed package, and in a clone.
_PLACES = (_PACKAGE / "examples" / "shop", _PACKAGE.parents[1] / "examples" / "shop")
#: How the lines of the plugin begin.
_OURS = "loop-close: "
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "nextprompt.md")


#: What an agent might edit in the example, one step before each run after the first: file, old text, new text.
_STEPS = (
    (
        "src/shop/receipts.py",
        "money.times(product.cents, quantity)\n",
        "money.times(product.cents, quantity))\n",
    ),
    ("tests/conftest.py", 'Inventory(warehouse="Hamburg"', 'Inventory(location="Hamburg"'),
    (
        "src/shop/pricing.py",
        "    goods = cart",
        "    # The goods, before tax and delivery.\n    goods = cart",
    ),
    (
        "src/shop/customers.py",
        "    if not customer.addresses:\n",
        "    if kind == 'delivery':\n        kind = 'billing'\n    if not customer.addresses:\n",
    ),
    ("src/shop/customers.py", "        kind = 'billing'\n", "        kind = 'invoice'\n"),
    (
        "src/shop/customers.py",
        'has no address")\n',
        'has no address")\n    return next(iter(customer.addresses.values()))\n',
    ),
    ("src/shop/coupons.py", "(?P<percent>\\d)", "(?P<percent>\\d{1,2})"),
    ("src/shop/money.py", "return cents * percent // 100", "return (cents * percent + 99) // 100"),
    ("src/shop/money.py", "percent + 99", "percent + 50"),
    ("src/shop/payments.py", "from shop_gateway_sdk import", "from shop.gateway import"),
)


def demo(options: argparse.Namespace, streams: Streams) -> int:
    """Run ``pytest --loop-close`` on the example, and print the prompt that it writes.

    With ``--html``, run it again after each of some edits, and write the page of these runs.
    """
    source = next((place for place in _PLACES if place.is_dir()), None)
    if source is None:
        streams.complain("the example project is not part of this installation")
        return 70
    from loop_close.cli.recorded import (  # late: no other command here reads a history
        check_target,
        write_report,
    )

    if options.html is not None:
        check_target("--html", options.html)
    with tempfile.TemporaryDirectory(prefix="loop-close-demo-") as folder:
        shop = Path(folder) / "shop"
        shutil.copytree(source, shop, ignore=_LEFT_OUT)
        streams.say(f"$ cd {source.name} && pytest --loop-close -q --tb=no")
        shown = _tested(shop)
        if options.html is None:
            streams.say(shown)
            prompt = shop / "nextprompt.md"
            if not prompt.is_file():
                streams.complain("pytest gave no result; see above")
                return 70
            streams.say(prompt.read_text(encoding="utf-8"))
            return 0
        streams.say(f"run 1: {_in_short(shown)}")
        for number, (name, old, new) in enumerate(_STEPS, 2):
            file = shop / name
            file.write_text(file.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
            streams.say(f"run {number}, after an edit of {name}: {_in_short(_tested(shop))}")
        write_report(project_at(shop), html=options.html, streams=streams)
    streams.say(f"written: {options.html}")
    return 0


def _tested(shop: Path) -> str:
    """What the tests of the example print; with what pytest complains of only where there is no result.

    Nothing of them reaches the CI system or the shared history of the user. No bytecode is written: Python takes it as
    current after an edit of the same size within the same second.
    """
    words = ["--loop-close", "--loop-close-ci=off", "--loop-close-source=pytest", "-q", "--tb=no"]
    kept = {k: value for k, value in os.environ.items() if not k.startswith(("PYTEST_", "LOOP_CLOSE_"))}
    command = [sys.executable, "-B", "-m", "pytest", *words]
    done = subprocess.run(command, cwd=shop, env=kept, capture_output=True, text=True, check=False)
    return done.stdout if _OURS in done.stdout else f"{done.stdout}{done.stderr}"


def _in_short(shown: str) -> str:
    """What our first line says of a run."""
    lines = (line for line in shown.splitlines() if line.startswith(_OURS))
    return next(lines, f"no result: {shown[-500:]}").removeprefix(_OURS)


# --- ``loop-close detectors``: what can be found, most blocking first


def detectors(options: argparse.Namespace, streams: Streams) -> int:
    """Print a line for each detector: its place in the order, id, description."""
    from loop_close.detectors import DEFAULT_DETECTORS

    if options.json:
        import json

        listed = [
            {"id": d.id, "kind": d.kind, "priority": d.priority, "description": d.description, "hint": d.hint}
            for d in DEFAULT_DETECTORS
        ]
        streams.say(json.dumps(listed, indent=2))
        return 0
    width = max(len(d.id) for d in DEFAULT_DETECTORS)
    for number, detector in enumerate(DEFAULT_DETECTORS, 1):
        streams.say(f"{number:2}  {detector.id:{width}}  {detector.description}")
    return 0


# --- ``loop-close drive``: let tests and an agent take turns


def drive(options: argparse.Namespace, streams: Streams) -> int:
    """Give back 0 for a loop that is done, 3 stuck, 4 at a limit, 130 interrupted."""
    # By its name: the driver is built on the commands, and no command is built on the driver.
    code: int = import_module("loop_close.drive").drive(options, streams)
    return code


# --- ``loop-close mcp``: the server that hosts of agents speak to, on standard input and output

_INSTALL = "pip install 'pytest-loop-close[mcp]'"


def mcp(options: argparse.Namespace, streams: Streams) -> int:
    """Serve until the input ends.

    :raises UsageError: where the packages of the extra are not there.
    """
    try:
        # By its name: the server is built on the commands, and no command is built on the server.
        server = import_module("loop_close.mcp_server.server")
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "loop_close":
            raise
        raise UsageError(f"mcp is not installed: {_INSTALL} ({error})") from None
    if streams.input.isatty():
        streams.complain("waiting for an MCP client on standard input; press Ctrl-C to stop")
    code: int = server.serve(streams)
    if code:
        # A thread still waits for input, and Python would wait for the thread.
        os._exit(code)
    return code


# --- ``loop-close install`` and ``uninstall``: add or remove our hook in an agent's configuration, or our section in
# ``AGENTS.md``

_DRY = "nothing was written (--dry-run)"


def install(options: argparse.Namespace, streams: Streams) -> int:
    """Put the hook or the section in, once, and print what that changes; always 0."""
    host, config = _asked_for(options, _agents_md_of_settings)
    file = _file(config, options)
    old = content_of(file)
    try:
        new = config.fresh if old is None else config.added(old)
    except ConfigError as error:
        raise file.refusal(error) from None
    if new == old and (not config.is_program or is_executable(file)):
        streams.say(f"already installed: {file.shown}")
        return 0
    if not options.dry_run:
        _write(config, file, None if new == old else new)
    _show(difference(file, old, new), streams)
    streams.say(_DRY if options.dry_run else f"installed: {file.shown}")
    if host is not None:
        _tell_the_rest(host, file, options, streams)
    return 0


def uninstall(options: argparse.Namespace, streams: Streams) -> int:
    """Take the hook or the section out, and print what that changes; 0 although there was none."""
    _, config = _asked_for(options, lambda: agents_md("", ""))  # what is removed does not depend on settings
    file = _file(config, options)
    old = content_of(file)
    try:
        new = None if old is None else config.removed(old)
    except ConfigError as error:
        raise file.refusal(error) from None
    if old is not None and new is None and (file.base / file.name).is_symlink():
        new = config.emptied  # install makes no link, and no file behind one
    if new == old:
        streams.say(f"not installed: {file.shown}")
        return 0
    if not options.dry_run:
        remove(file) if new is None else save(file, new)
    _show(difference(file, old, new), streams)
    streams.say(_DRY if options.dry_run else f"uninstalled: {file.shown}")
    return 0


def _asked_for(options: argparse.Namespace, section: Callable[[], Config]) -> tuple[Host | None, Config]:
    """The host, if it is about one, and the configuration to change.

    :param section: makes the configuration of ``AGENTS.md``.
    :raises UsageError: for options that name neither, an unknown host, or ``AGENTS.md`` of a user.
    """
    if options.host is not None:
        host = host_called(options.host)
        return host, host.config
    if not options.agents_md:
        agent, variable = agent_of(os.environ)
        known = f" ({variable} is set: --host {agent})" if agent in NAMES else ""
        raise UsageError(f"give --host NAME or --agents-md{known}")
    if options.user:
        raise UsageError("--agents-md is for one project: leave --user out")
    return None, section()


def _agents_md_of_settings() -> Config:
    settings = settings_of(_project())
    return agents_md(settings.test_command, settings.file)


def _file(config: Config, options: argparse.Namespace) -> ConfigFile:
    if not options.user:
        return ConfigFile(base=_project(), name=config.project, shown=config.project)
    try:
        home = Path.home()
    except RuntimeError:
        raise UsageError("no home folder found: set HOME") from None
    if not home.is_dir():
        raise UsageError(f"the home folder {home} does not exist: set HOME")
    return ConfigFile(base=home, name=config.user, shown=f"~/{config.user}")


def _project() -> Path:
    """The root of the project that the working directory belongs to: that of ours, else of its repository."""
    here = Path.cwd()
    root = root_of(here)
    if root != here or is_root(here):
        return root
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def _write(config: Config, file: ConfigFile, text: str | None) -> None:
    if text is not None:
        save(file, text, is_program=config.is_program)
        return
    try:
        make_executable(file)
    except OSError as error:
        raise file.refusal(f"cannot be made executable: {error.strerror or error}") from None


def _show(text: str, streams: Streams) -> None:
    if text:
        streams.say(text)


def _tell_the_rest(host: Host, file: ConfigFile, options: argparse.Namespace, streams: Streams) -> None:
    """What a person has to know or do before the hook works."""
    if host.config.note:
        streams.complain(host.config.note)
    moved = os.environ.get(host.config.home) if host.config.home else None
    if (
        options.user
        and moved
        and os.path.realpath(moved) != os.path.realpath(file.base / Path(file.name).parts[0])
    ):
        streams.complain(
            f"{host.config.home} is set: {host.title} reads its configuration from {moved}, not from here"
        )
    if shutil.which("loop-close") is None:
        streams.complain("loop-close is not on the PATH; the agent needs it on its PATH")


# --- a configuration file of the host: read, changed or removed whole, never where a link leads
# astray

_MAX_SIZE = 10_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigFile:
    """A file below a folder.

    :ivar base: the folder, which is there.
    :ivar name: the file's path below it.
    :ivar shown: how to name the file to a person.
    """

    base: Path
    name: str
    shown: str

    @property
    def path(self) -> Path:
        """Where the file is, or would be, links followed: they stay links.

        :raises UsageError: when that is not below the folder.
        """
        path = Path(os.path.realpath(self.base / self.name))
        if not path.is_relative_to(os.path.realpath(self.base)):
            raise self.refusal(
                f"a symbolic link points outside {self.base}, to {path}; edit that file by hand"
            )
        return path

    def refusal(self, why: object) -> UsageError:
        """The error that says why nothing was done."""
        return UsageError(f"{self.shown}: {why} (nothing was changed)")


def content_of(file: ConfigFile) -> str | None:
    """The file's text, line ends as they are; None if there is no such file.

    :raises UsageError: when it cannot be read, or could not be written.
    """
    try:
        state = os.stat(file.path)
    except FileNotFoundError:
        _check_absent(file)
        return None
    except NotADirectoryError:
        raise file.refusal("a file is in the place of its folder; move that file away") from None
    except OSError as error:
        raise file.refusal(f"cannot be read: {error.strerror or error}") from None
    if not stat.S_ISREG(state.st_mode):
        raise file.refusal("not a regular file; move it away")
    if not state.st_mode & 0o222:  # the mode counts for the superuser, too: it was set for a reason
        raise file.refusal("read-only; make it writable first")
    if state.st_size > _MAX_SIZE:
        raise file.refusal(f"larger than {_MAX_SIZE:,} bytes; that is not a configuration file")
    return _text(file)


def _check_absent(file: ConfigFile) -> None:
    if os.path.lexists(file.base / file.name):
        raise file.refusal("a broken symbolic link; remove it or create its target")


def _text(file: ConfigFile) -> str:
    try:
        return file.path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise file.refusal(f"invalid UTF-8 at byte {error.start}; save it as UTF-8") from None
    except OSError as error:
        raise file.refusal(f"cannot be read: {error.strerror or error}") from None


def save(file: ConfigFile, text: str, *, is_program: bool = False) -> None:
    """Write the file whole, its folders with it where they are not there.

    :param is_program: make it executable.
    :raises UsageError: when it cannot be written; it is then as it was.
    """
    made = _made_folders(file)
    try:
        files.write(file.path, [text])
        if is_program:
            make_executable(file)
    except OSError as error:
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise file.refusal(f"cannot be written: {error.strerror or error}") from None


def _made_folders(file: ConfigFile) -> list[Path]:
    missing = [each for each in reversed(file.path.parents) if not os.path.exists(each)]
    for folder in missing:
        try:
            folder.mkdir()
        except OSError as error:
            raise file.refusal(f"{folder} cannot be created: {error.strerror or error}") from None
    return missing


def is_executable(file: ConfigFile) -> bool:
    """Whether it can be run."""
    return bool(os.stat(file.path).st_mode & 0o100)


def make_executable(file: ConfigFile) -> None:
    """Let those who may read it run it.

    :raises OSError: when that cannot be.
    """
    mode = stat.S_IMODE(os.stat(file.path).st_mode)
    os.chmod(file.path, mode | (mode & 0o444) >> 2)


def remove(file: ConfigFile) -> None:
    """Remove the file, a link to it, and the folders below the base that it leaves empty.

    :raises UsageError: when it cannot be removed.
    """
    named, path = file.base / file.name, file.path
    try:
        if named.is_symlink():
            os.unlink(path)
        os.unlink(named)
    except OSError as error:
        raise file.refusal(f"cannot be removed: {error.strerror or error}") from None
    for folder in (file.base / file.name).parents:
        if folder == file.base:
            return
        try:
            folder.rmdir()
        except OSError:  # something else is in it
            return


def difference(file: ConfigFile, old: str | None, new: str | None) -> str:
    """A unified diff; empty if the texts are the same.

    :param old: None if there is no file yet; ``new``: None if there is none any more.
    :returns: safe to show: without the credentials that such files hold, and without control characters.
    """
    before, after = ("/dev/null" if text is None else file.shown for text in (old, new))
    lines = difflib.unified_diff(_lines(old), _lines(new), before, after, lineterm="")
    text = redact("\n".join(lines))
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def _lines(text: str | None) -> list[str]:
    if not text:
        return []
    lines = text.replace("\r\n", "\n").split("\n")
    last = lines.pop()
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines
