"""A copy of the project in which the tests are as they were, and a run of pytest in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from loop_close.baseline import Baseline, is_of_tests, is_shared, old_content, read, tables_of
from loop_close.checks import VARIABLE, variables
from loop_close.child import NEVER, Channel, Stop, run
from loop_close.records import PytestContext, Record
from loop_close.text import one_line
from loop_close.tree import Tree, is_loaded

_BOOT = Path(__file__).parent / "boot"
#: A file that is larger than this is linked: data, and not what tests write.
_LARGE = 64_000_000
_MOST = 300_000
_LEFT_OUT = frozenset((".git", ".hg", ".svn", ".jj", ".loop-close", "__pycache__"))
#: How pytest ends when it was interrupted, broke, or was called wrongly.
_BROKEN = (2, 3, 4)
#: Names of folders that are linked, as environments are.
_LINKED = ("node_modules", ".tox", ".nox")


class CannotIsolateError(Exception):
    """The tests as they were cannot be run apart from the present ones; the text says why."""


class _Note(Record, frozen=True):
    """What a process of the run noted: its pytest, or what it read and wrote in the project."""

    outcomes: Mapping[str, tuple[str, str]] = {}
    outside: tuple[str, ...] = ()
    is_main: bool = False
    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


def run_copy(
    root: Path,
    baseline: Baseline,
    tree: Tree,
    contexts: Sequence[PytestContext],
    *,
    changed: Collection[str],
    seconds: float = float("inf"),
    functions: Collection[str] | None = None,
    stop: Stop = NEVER,
    put: Mapping[str, bytes | None] = {},
    due: float = float("inf"),
) -> dict[str, tuple[str, str]]:
    """Run each pytest as the check did, one after the other, in a copy of the project.

    :param baseline: whose test files are there.
    :param seconds: that each may take.
    :param changed: files that must not be read where they are.
    :param functions: the test functions and modules to run; None for all.
    :param put: other contents for files of the copy; None for a file that is not there.
    :param due: when all has to be over, by the monotonic clock.
    :returns: by node id the outcome and why, of a module that could not be collected by its path; ``missing`` for a
        test that was to run and did not.
    :raises CannotIsolateError: when pytest did not report its end, or a file outside of the copy was loaded.
    """
    top = Path(os.path.realpath(root))
    # The name stays: the root may be a package.
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="loop-close-")))
    try:
        copy = folder / "copy" / top.name
        environments = _make(top, baseline, tree, copy, due)
        (folder / "parts").mkdir()
        for path, content in put.items():
            _write(_placed(copy, path), content)
        (folder / "wanted.json").write_text(json.dumps(None if functions is None else sorted(functions)))
        for number, context in enumerate(contexts, 1):
            channel, left = Channel(), min(seconds, due - time.monotonic())
            more = ["--continue-on-collection-errors"] * bool(put)  # of each module it is asked what it says
            words, folder_of_run, environ = _command(root, top, folder, copy, environments, context, more)
            ended = run(
                words, stop, root=folder_of_run, environment=environ, channels=(channel,), seconds=left
            )
            if ended.is_late:
                raise CannotIsolateError(f"they did not end within {max(left, 0.0):.0f} s")
            paths = sorted(folder.glob("note-*.json"))
            notes = [msgspec.json.decode(path.read_bytes(), type=_Note) for path in paths]
            has_failed = any(outcome == "failed" for each in notes for outcome, _ in each.outcomes.values())
            if ended.exit_code in _BROKEN and not has_failed:
                raise CannotIsolateError(f"pytest ended with {ended.exit_code}: {_why(channel.tail.text())}")
            if sum(each.is_main for each in notes) < number:
                raise CannotIsolateError(f"pytest did not report its end: {_why(channel.tail.text())}")
        return _found(notes, top, changed)
    except (OSError, msgspec.MsgspecError) as error:
        raise CannotIsolateError(f"they cannot be run: {error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _command(
    root: Path,
    top: Path,
    folder: Path,
    copy: Path,
    environments: list[str],
    context: PytestContext,
    more: Sequence[str],
) -> tuple[tuple[str, ...], Path, dict[str, str]]:
    """The words of a pytest in the copy, the folder in which it runs, and its environment."""
    names = "|".join(re.escape(each) for each in sorted({str(root), str(top)}, key=len, reverse=True))
    places = [re.sub(rf"^(?:{names})", "", each) for each in environments]
    inside = "".join(f"(?!{re.escape(each)}(?:/|$))" for each in places)
    pattern = re.compile(rf"(?<![^=:])(?:{names})(?=/|$|:){inside}")

    def moved(text: str) -> str:
        return pattern.sub(lambda _: str(copy), text)

    cwd = Path(os.path.realpath(context.cwd or root))
    for name, each in (("folder", cwd), ("root", Path(os.path.realpath(context.rootdir or root)))):
        if not each.is_relative_to(top):
            raise CannotIsolateError(f"the {name} of pytest, {each}, is not in the project")
    environ = variables(root, os.environ)
    environ = {name: value if name == "PATH" else moved(value) for name, value in environ.items()}
    paths = [moved(each) for each in context.pythonpath.split(os.pathsep) if each]
    environ |= {
        "PYTHONPATH": os.pathsep.join((str(_BOOT), *paths)),
        "LOOP_CLOSE_ROOT": os.pathsep.join(dict.fromkeys((os.path.abspath(root), str(top)))),
        "LOOP_CLOSE_COPY": str(copy),
        "LOOP_CLOSE_RUN": str(folder),
        "LOOP_CLOSE_ENVIRONMENTS": os.pathsep.join(environments),
        VARIABLE: str(folder / "parts"),  # where the plugin may report, and nowhere else
    }
    words = [moved(each) for each in context.words or ("-m", "pytest") if each not in ("-O", "-OO")]
    args = [moved(each) for each in context.args]
    executable = context.executable or sys.executable
    command = executable, *words, "-p", "loop_close_copy", *args, "--maxfail=0", *more
    return command, copy / cwd.relative_to(top), environ


def _found(notes: Sequence[_Note], top: Path, changed: Collection[str]) -> dict[str, tuple[str, str]]:
    """Join what the processes of the run noted.

    :raises CannotIsolateError: when the copy was left.
    """
    files = {str(top / path) for path in changed}
    outside = [name for each in notes for name in (*each.outside, *sorted(files.intersection(each.read)))]
    if outside:
        raise CannotIsolateError(f"a file was read outside of the copy: {outside[0]}")
    if written := [name for each in notes for name in each.written]:
        raise CannotIsolateError(f"they write into the project: {os.path.relpath(written[0], top)}")
    outcomes: dict[str, tuple[str, str]] = {}
    for test, outcome in (item for each in notes for item in each.outcomes.items()):
        outcomes[test] = max(outcomes.get(test, outcome), outcome, key=_rank)
    return outcomes


def _rank(outcome: tuple[str, str]) -> int:
    """Of several outcomes of a test the highest counts; the lowest is ``missing``."""
    return {"skipped": 1, "xfailed": 1, "xpassed": 2, "passed": 2, "failed": 3}.get(outcome[0], 0)


def _why(output: str) -> str:
    """The last error that pytest printed, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"E  |ERROR|\w*Error\b", line)]
    return one_line(((errors or lines)[-1:] or ["it printed nothing"])[0], 300)


# --- the copy


def _make(root: Path, baseline: Baseline, tree: Tree, target: Path, due: float) -> list[str]:
    """Copy the project, with what git ignores, but without caches and bytecode. Environments are linked.

    :param baseline: its test files take the place of the present ones.
    :returns: the folders of environments.
    :raises CannotIsolateError: when a file of the baseline cannot be put there.
    """
    environments = _copy(root, baseline, tree, target, due)
    for path in sorted({*tree.files, *baseline.files}):
        if path in baseline.files or is_shared(path):
            _restore(root, baseline, tree, path, target)
    return environments


def _copy(root: Path, baseline: Baseline, tree: Tree, target: Path, due: float) -> list[str]:
    environments, folders, count = [], [""], 0
    of_project = {parent for path in tree.files for parent in _folders(path)}
    while folders:
        folder = folders.pop()
        (target / folder).mkdir(parents=True, exist_ok=True)
        try:
            entries = list(os.scandir(root / folder))
        except OSError:
            continue  # it may be private, or gone by now
        for entry in entries:
            path = f"{folder}{entry.name}"
            count += 1
            if entry.is_dir(follow_symlinks=False):
                # What holds a file of the project is copied: through a link the copy would write into it.
                if path not in of_project and _is_environment(entry.path):
                    environments.append(entry.path)
                    (target / path).symlink_to(entry.path)
                elif path in of_project or not (
                    entry.name in _LEFT_OUT or os.path.exists(f"{entry.path}/CACHEDIR.TAG")
                ):
                    folders.append(f"{path}/")
            elif not _is_replaced(path, baseline, tree):
                _put(Path(entry.path), target / path, root)
        if count > _MOST:
            raise CannotIsolateError(f"the project has more than {_MOST:,} files")
        if time.monotonic() > due:
            raise CannotIsolateError("there was no time to copy the project")
    return environments


def _folders(path: str) -> Iterator[str]:
    """The folders above a file."""
    while (path := path.rpartition("/")[0]) != "":
        yield path


def _is_environment(path: str) -> bool:
    names = ("pyvenv.cfg", "conda-meta")
    return os.path.basename(path) in _LINKED or any(os.path.exists(f"{path}/{name}") for name in names)


def _is_replaced(path: str, baseline: Baseline, tree: Tree) -> bool:
    """Whether the present file has no place in the copy: what the baseline has is put there later."""
    if path in baseline.files:
        return True
    if path in tree.files:
        return is_of_tests(path, baseline.patterns)
    return is_loaded(path) or path.endswith(".pyc")


def _put(source: Path, target: Path, root: Path) -> None:
    """Copy a file with its time, as build tools look at it; a link leads to the copy of what it led to."""
    if source.is_symlink():
        full = Path(os.path.normpath(source.parent / os.readlink(source)))
        target.symlink_to(os.path.relpath(full, source.parent) if full.is_relative_to(root) else full)
    elif source.is_file():
        if source.stat().st_size > _LARGE:
            target.symlink_to(source)
        else:
            shutil.copy2(source, target)


def _restore(root: Path, baseline: Baseline, tree: Tree, path: str, target: Path) -> None:
    """Put a file there as the baseline has it; one that others share if the tables of pytest in it differ."""
    digest, place = baseline.files.get(path, ""), _placed(target, path)
    is_same, content = tree.files.get(path) == digest, old_content(root, baseline, path)
    if content is None and digest and not is_same:
        raise CannotIsolateError(f"the content that {path} had is not kept")
    if is_shared(path) and not is_same:
        is_same = tables_of(path, content) == tables_of(path, read(root, path))
    if is_same:
        _put(root / path, place, root)
    elif content is not None:
        _write(place, content)
        place.chmod(0o755 if digest.endswith("+x") else 0o644)


def _placed(target: Path, path: str) -> Path:
    """The place of a file in the copy, whose folder is made.

    :raises CannotIsolateError: when a link on the way would lead out of the copy.
    """
    place = target / path
    if any(parent.is_symlink() for parent in place.parents if parent.is_relative_to(target)):
        raise CannotIsolateError(f"{path} lies in a folder that is linked")
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _write(place: Path, content: bytes | None) -> None:
    """Replace a file of the copy, which may be a link and keeps its mode; None removes it."""
    mode = place.stat().st_mode if place.exists() else 0o644
    place.unlink(missing_ok=True)
    if content is not None:
        place.write_bytes(content)
        place.chmod(mode)
