"""Run checks in a process of their own, which outlives the one that asked for them: agents' shells end long commands.

One worker a project runs at a time: it holds a lock, which the system ends with it. All that a worker reads and writes
lies in ``.loop-close/checks``; its output is a file that any number of callers follow.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from loop_close import app, files, gate
from loop_close import baseline as baselines
from loop_close.baseline.objection import objection_to
from loop_close.checks import VARIABLE, checks_of, environment_of, variables, words_of
from loop_close.child import InterruptionError, Stop, not_started
from loop_close.child import run as run_child
from loop_close.conventions import PYTEST
from loop_close.parts import Part
from loop_close.process import OUR_CHECK, locked
from loop_close.readers import sum_of
from loop_close.records import Counts, Record, Run
from loop_close.store import Store
from loop_close.text import fault_text
from loop_close.tree import INSTALLED, Tree, changed, remove_stale_bytecode

if TYPE_CHECKING:
    from loop_close.baseline import Baseline

#: The exit status of a worker that found another one at work.
BUSY = 75
_FOLDER = f"{files.STATE_FOLDER}/checks"
#: Seconds that a worker waits for the lock: callers hold it for a moment, to see whether it is free.
_WAIT = 1.0
#: Seconds between two looks at what a worker does.
POLL = 0.05
#: The end of a check's output that is read, in bytes.
_MOST_OUTPUT = 4_000_000


class Work(Record, frozen=True):
    """What a worker does, and what came of it.

    :ivar id: of the worker; empty as long as it has not said what it does.
    :ivar names: the checks that it runs; ``tree`` the digest of the files that it began on.
    :ivar pid: its process.
    :ivar lines: what to show at its end; None before. ``prompt``: in place of the lines for an agent; empty if green.
    :ivar fault: one of ours.
    """

    id: str = ""
    names: tuple[str, ...] = ()
    tree: str = ""
    pid: int = 0
    lines: tuple[str, ...] | None = None
    prompt: str = ""
    fault: str = ""


# --- for the caller


def start(root: Path, names: Sequence[str]) -> str:
    """Start a worker in the background.

    :returns: its id; empty if another one is at work.
    :raises OSError: when it cannot be started.
    """
    files.state_folder(root)
    name = f"{time.time_ns():x}-{os.getpid()}"
    folder = root / _FOLDER / name
    folder.mkdir(parents=True)
    words = [*OUR_CHECK, *names, "--worker", name]
    with open(os.open(folder / "output", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "ab") as output:
        process = subprocess.Popen(
            words, cwd=root, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        code = process.wait()  # it goes on in the background once it has the lock
    except KeyboardInterrupt:
        process.kill()
        raise
    if code == BUSY:
        shutil.rmtree(folder, ignore_errors=True)
        return ""
    if code:
        raise OSError(
            f"the worker ended with {code}: {(folder / 'output').read_text(errors='replace')[-500:]}"
        )
    return name


def running(root: Path) -> Work | None:
    """What the worker does that is at work; None for none."""
    folder = root / _FOLDER
    with locked(folder / "lock", 0.0) as is_free:
        if is_free is not False:
            return None
    now = _read(folder, _name(folder))
    return now if now is not None and now.lines is None else Work()  # otherwise it is the one before


def follow(root: Path, name: str, show: Callable[[bytes], object], *, is_ours: bool) -> Work:
    """Wait for the end of a worker, and pass on what it prints. Ctrl-C stops one of ours, and is waited for."""
    folder = root / _FOLDER
    with contextlib.ExitStack() as stack:
        path = folder / name / "output"
        output = stack.enter_context(path.open("rb") if path.exists() else io.BytesIO())
        while True:
            try:
                # Asked first: what it wrote until then is there to be read.
                now = running(root)
                has_ended = now is None or now.id not in ("", name)
                found = _read(folder, name)
                while chunk := output.read(65_536):
                    show(chunk)
                if found is not None and found.lines is not None:
                    return found
                if has_ended:
                    return Work(lines=("the check was killed",))
                time.sleep(POLL)
            except KeyboardInterrupt:
                if not is_ours:
                    raise
                now = running(root)
                if now is not None and now.id == name:
                    with contextlib.suppress(OSError):
                        os.kill(now.pid, signal.SIGINT)


# --- the worker


def work(root: Path, name: str, checks: Sequence[str]) -> int:
    """Run checks in the background, and leave the answer.

    :returns: in the process that was started, as soon as the lock is held: 0, or :data:`BUSY`.
    """
    folder = root / _FOLDER
    with locked(folder / "lock", _WAIT) as is_held:
        if is_held is False:
            return BUSY
        files.write_bytes(folder / "running", name.encode())
        # Whoever ends the processes that a shell started, by their parents, does not find the worker.
        if hasattr(os, "fork") and os.fork():
            os._exit(0)
        now = Work(id=name, names=tuple(checks), pid=os.getpid(), lines=())
        try:
            now = _Worker(root, folder / name, now).run(checks)
        except Exception as fault:
            now = msgspec.structs.replace(now, fault=fault_text(fault))
        _write(folder, now)
    return 0


class _Worker:
    """What one worker does, from the request to the answer."""

    def __init__(self, root: Path, folder: Path, now: Work) -> None:
        self._root = root
        self._folder = folder
        self._targets = gate.targets_of(root)
        self._now = now

    def run(self, names: Sequence[str]) -> Work:
        """Run the checks, then the tests as they were; write the prompt.

        :returns: what to show at the end.
        """
        tree = gate.take_tree(self._targets)
        _write(self._folder.parent, msgspec.structs.replace(self._now, tree=tree.digest, lines=None))
        for other in {*self._folder.parent.iterdir()} - {self._folder}:
            shutil.rmtree(other, ignore_errors=True)  # not what is a file, or a link
        base = baselines.load(self._root) or baselines.take(self._root, tree, ())
        former = self._targets.announce()
        ran: list[app.Ran] = []
        if self._targets.history is None:
            raise ValueError("there is no history to keep results in")
        with Stop() as stop, Store(self._targets.history) as store:
            for check, command in checks_of(self._targets.settings).items():
                if check not in names:
                    continue
                done, tree = self._one(check, command, store, stop)
                store.finish(done.run)
                if done.run.exit_code is None:
                    break
                ran.append(done)
            if not ran:
                files.restore(former)
                return msgspec.structs.replace(self._now, lines=("interrupted",))
            ran = [app.Ran(self._compared(each, base, tree, store, stop), each.parts) for each in ran]
            facts = gate.facts_of(self._root)
            found = gate.judge(facts)
            if found.verdict == "done" and ran[-1].run.is_green and gate.is_result(ran[-1].run):
                ran[-1] = app.Ran(msgspec.structs.replace(ran[-1].run, is_done=True), ran[-1].parts)
            saved = app.conclude(ran, self._targets, store, state=found)
        base = baselines.load(self._root) or base  # a session may have begun meanwhile
        is_open = any(each.run.objection for each in ran) or (base.is_open and found.verdict != "done")
        lines = [*app.terminal_lines(saved, self._targets)]
        try:
            if found.verdict == "done" and not base.is_held:
                baselines.take(self._root, tree, facts.results)
            else:
                baselines.note(self._root, base, tree, facts.results, is_open=is_open)
        except OSError as error:  # as in the sandbox of an agent: the one of its session holds
            lines.append(f"the baseline of the tests stays as it was: {error}")
        shown = "" if saved.report.verdict == "green" else "\n".join((saved.prompt, *saved.problems))
        return msgspec.structs.replace(self._now, lines=tuple(lines), prompt=shown)

    def _one(self, check: str, command: Sequence[str], store: Store, stop: Stop) -> tuple[app.Ran, Tree]:
        """Run a check; its row, with what its processes reported, and the files after it."""
        root = self._root
        before = gate.take_tree(self._targets)
        store.keep_files(root, before)
        remove_stale_bytecode(root, before)
        folder = tempfile.mkdtemp(prefix="parts-", dir=self._folder)
        environ = {**variables(root, os.environ), VARIABLE: folder}
        words = words_of(command, environ)
        run = Run(id=uuid.uuid4().hex, check=check, command=words, began=time.time(), tree=before.digest)
        run = msgspec.structs.replace(run, number=store.begin(run))
        _say(f"loop-close: {check}: {shlex.join(command)}")
        output = self._folder / "output"
        begin = output.stat().st_size
        exit_code = self._exit_code(words, environ, stop)
        after = gate.take_tree(self._targets)
        store.keep_files(root, after)
        parts, lost = app.reported_in(Path(folder))
        if exit_code is not None:
            parts += app.printed([_end_of(output, begin)], exit_code, parts, root, check)
        run = msgspec.structs.replace(
            result_of(run, exit_code, parts, lost or _unlisted(root, parts, after)),
            seconds=time.time() - run.began,
            tree_after=after.digest,
            changed=changed(before, after),
        )
        return app.Ran(run, tuple(parts)), after

    def _exit_code(self, words: Sequence[str], environ: dict[str, str], stop: Stop) -> int | None:
        """Run a command to its end; None if we had to stop it."""
        try:
            return run_child(words, stop, root=self._root, environment=environ).exit_code
        except InterruptionError:
            return None
        except OSError as error:
            code, line = not_started(words[0], error)
            _say(line)
            return code

    def _compared(self, ran: app.Ran, base: Baseline, tree: Tree, store: Store, stop: Stop) -> Run:
        """The row of a green run with what the tests as they were say, if they are asked; it is written down.

        Without the digest of the baseline, as before that and if this is interrupted, it says nothing of changed tests.

        :param tree: the files after the last check.
        """
        run = ran.run
        is_green = run.is_green and gate.is_result(run) and run.tree == tree.digest
        if not is_green or not gate.asks(base, tree, run):
            return run
        contexts = [part.context for part in ran.parts if part.context is not None]
        counted = {each.check for each in store.results(tree.digest) if each.counts != Counts()}
        runs_tests = run.check in counted | base.functions.keys() or not (counted or base.functions)
        if runs_tests:
            _say("loop-close: what the tests demand may differ; running those of the baseline")
        try:
            objection = objection_to(self._root, base, tree, run, contexts if runs_tests else None, stop)
        except InterruptionError:
            return run
        later = gate.take_tree(self._targets)  # what the old tests ran on
        run = msgspec.structs.replace(
            run, baseline=base.digest, objection=objection, changed=changed(tree, later)
        )
        store.finish(run)
        return run


def result_of(run: Run, exit_code: int | None, parts: Sequence[Part], lost: str = "") -> Run:
    """The row of a run that ended.

    :param parts: what pytest reported, else what was read from the output.
    :param lost: why a report is missing, or says nothing; empty if none is.
    """
    contexts = [part.context for part in parts if part.context is not None]
    why = [lost, *(part.observation.incomplete for part in parts)]
    counts = sum_of([part.observation.counts for part in parts])
    is_pytest = os.path.basename(run.command[0]) in PYTEST or run.command[1:3] == ("-m", "pytest")
    if not contexts and exit_code == 0 and is_pytest and counts == Counts():
        why.append("pytest ended without a report and without a summary")
    if any(context.is_optimized for context in contexts):
        why.append("Python left out the assertions (-O or PYTHONOPTIMIZE)")
    incomplete = next(filter(None, why), "")
    programs = tuple(dict.fromkeys((run.command[0], *(context.executable for context in contexts))))
    is_green = exit_code == 0 and not incomplete and bool(parts) and all(map(_is_green, parts))
    return msgspec.structs.replace(
        run,
        programs=programs,
        environment=environment_of(programs),
        exit_code=exit_code,
        is_finished=True,
        incomplete=incomplete,
        is_green=is_green,
        contexts=tuple(msgspec.structs.replace(each, loaded=()) for each in contexts),
        counts=counts,
        outcomes=app.outcomes_of(parts),
    )


def _unlisted(root: Path, parts: Sequence[Part], tree: Tree) -> str:
    """Why a run says nothing of these files: what pytest loaded from the root is not among them."""
    loaded = {path for part in parts if part.context is not None for path in part.context.loaded}
    paths = filterfalse(os.path.isdir, map(os.path.realpath, loaded))  # an item may be in no file
    ours = {os.path.relpath(path, os.path.realpath(root)) for path in paths}
    found = sorted(p for p in ours - tree.files.keys() if {"..", *INSTALLED}.isdisjoint(Path(p).parts))
    return f"pytest loaded {found[0]}, which is none of the project's files" if found else ""


def _is_green(part: Part) -> bool:
    seen = part.observation
    is_failed = bool(seen.failures or seen.incomplete or seen.counts.failed or seen.counts.errors)
    return seen.exit_code == 0 and not is_failed


def _end_of(path: Path, begin: int) -> bytes:
    with path.open("rb") as file:
        file.seek(max(begin, path.stat().st_size - _MOST_OUTPUT))
        return file.read()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _write(folder: Path, work: Work) -> None:
    files.write_bytes(folder / work.id / "work", msgspec.json.encode(work))


def _read(folder: Path, name: str) -> Work | None:
    """What a worker does; None if it has not said so."""
    try:
        return msgspec.json.decode((folder / name / "work").read_bytes(), type=Work)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _name(folder: Path) -> str:
    """The worker that had the lock last; empty for none."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return (folder / "running").read_text(encoding="utf-8")
    return ""
