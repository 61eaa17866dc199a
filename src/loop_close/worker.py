"""Run checks in a process of their own, which outlives the one that asked for them: agents' shells end long commands.

One worker a project runs at a time: it holds a lock, which the system ends with it. All that a worker reads and writes
lies in ``.loop-close/checks``; its output is a file that any number of callers follow.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from loop_close import app, files, gate
from loop_close import baseline as baselines
from loop_close.checks import VARIABLE, Check, checks_of, digests_of, joined, variables, words_of
from loop_close.child import Child, InterruptionError, Stop, code_of, end_leftover
from loop_close.child import run as run_child
from loop_close.environ import OUR_CHECK
from loop_close.parts import Part, PytestContext
from loop_close.process import birth_of, is_alive, locked
from loop_close.readers import sum_of
from loop_close.readers.streams import observe_texts
from loop_close.records import Objection, Record, Run
from loop_close.store import Store
from loop_close.text import fault_text
from loop_close.tree import Tree, changed, remove_stale_bytecode

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
_PYTEST = ("pytest", "py.test")

_Kind = TypeVar("_Kind", bound=Record)


class Running(Record, frozen=True):
    """What a worker is doing.

    :ivar tree: the digest of the files that it began on.
    :ivar pid: its process, ``group`` that of the command; with their births, as numbers come round again.
    """

    id: str
    names: tuple[str, ...] = ()
    tree: str = ""
    pid: int = 0
    birth: str = ""
    group: int = 0
    group_birth: str = ""


class Answer(Record, frozen=True):
    """What came of it: lines to show, and a fault of ours."""

    lines: tuple[str, ...] = ()
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
    with open(folder / "output", "ab", opener=_private) as output:
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


def running(root: Path) -> Running | None:
    """The worker that is at work, without an id as long as it has not said what it does; None for none."""
    folder = root / _FOLDER
    if not (folder / "lock").exists():
        return None
    with locked(folder / "lock", 0.0) as is_free:
        if is_free is not False:
            return None
    now = _read(folder / "running", Running)  # perhaps of the one before
    if now is None or (folder / now.id / "answer").exists() or not is_alive(now.pid, now.birth):
        return Running(id="")
    return now


def follow(root: Path, name: str, show: Callable[[bytes], object]) -> Answer | None:
    """Wait for the end of a worker, and pass on what it prints. Ctrl-C stops the worker, and is waited for.

    :returns: None if it was killed.
    """
    folder = root / _FOLDER / name
    with contextlib.ExitStack() as stack:
        output = stack.enter_context(open(folder / "output", "rb")) if (folder / "output").exists() else None
        while True:
            try:
                # Asked first: what it wrote until then is there to be read.
                found = _read(folder / "answer", Answer)
                now = running(root) if found is None else None
                has_ended = now is None or now.id not in ("", name)
                while output is not None and (chunk := output.read(65_536)):
                    show(chunk)
                if has_ended:
                    return found or _read(folder / "answer", Answer)
                time.sleep(POLL)
            except KeyboardInterrupt:
                stop(root, name)


def stop(root: Path, name: str) -> None:
    """Ask a worker to stop its command and to end."""
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
        before = _read(folder / "running", Running)
        _write(folder / "running", Running(id=name))
        # Whoever ends the processes that a shell started, by their parents, does not find the worker.
        if hasattr(os, "fork") and os.fork():
            os._exit(0)
        try:
            answer = Answer(lines=tuple(_Worker(root, folder, name).run(checks, before)))
        except Exception as fault:
            answer = Answer(fault=fault_text(fault))
        _write(folder / name / "answer", answer)
    return 0


class _Worker:
    """What one worker does, from the request to the answer."""

    def __init__(self, root: Path, folder: Path, name: str) -> None:
        self._root = root
        self._top = folder
        self._folder = folder / name
        self._targets = gate.targets_of(root)
        self._now = Running(id=name, pid=os.getpid(), birth=birth_of(os.getpid()))

    def run(self, names: Sequence[str], before: Running | None) -> list[str]:
        """Run the checks, write the prompt.

        :param before: what the last worker did, whose command may still run if it was killed.
        :returns: lines to show.
        """
        if before is not None and before.group:
            end_leftover(before.group, before.group_birth)
        tree = gate.take_tree(self._targets)
        self._now = msgspec.structs.replace(self._now, names=tuple(names), tree=tree.digest)
        _write(self._top / "running", self._now)
        self._forget_others()
        every = checks_of(self._targets.settings)
        checks = [check for check in every if check.name in names]
        base = baselines.load(self._root) or baselines.take(self._root, tree, ())
        former = self._targets.announce()
        ran: list[app.Ran] = []
        if self._targets.history is None:
            raise ValueError("there is no history to keep results in")
        with Stop() as stop, Store.open(self._targets.history) as store:
            for check in checks:
                done, tree = self._one(check, base, store, stop)
                store.finish(done.run)
                if done.run.exit_code is None:
                    break
                ran.append(done)
                if gate.is_result(done.run):
                    base = baselines.learn(self._root, base, tree, done.run)
            if not ran:
                files.restore(former)
                return ["interrupted"]
            last = {each.run.number: each.run for each in ran}  # of a void one the reason is said
            runs = [*({each.number: each for each in store.results(tree.digest)} | last).values()]
            found = gate.judge(every, runs, tree, digests_of(p for run in runs for p in run.programs), base)
            if found.verdict == "done":
                ran[-1] = app.Ran(msgspec.structs.replace(ran[-1].run, is_done=True), ran[-1].parts)
            saved = app.conclude(ran, self._targets, store, state=found)
        if any(each.run.objection is not None for each in ran):
            base = baselines.note_objection(self._root, base, is_open=True)
        elif found.verdict == "done":
            base = baselines.note_objection(self._root, base, is_open=False)
        if found.verdict == "done" and not base.is_held:
            baselines.take(self._root, tree, runs)
        return app.terminal_lines(saved, self._targets)

    def _forget_others(self) -> None:
        for each in self._top.iterdir():
            if each.is_dir() and not each.is_symlink() and each != self._folder:
                shutil.rmtree(each, ignore_errors=True)

    def _one(self, check: Check, base: Baseline, store: Store, stop: Stop) -> tuple[app.Ran, Tree]:
        """Run a check; its row, with what its processes reported, and the files after it."""
        root = self._root
        before = gate.take_tree(self._targets)
        store.keep_files(root, before)
        remove_stale_bytecode(root, before)
        folder = self._folder / f"parts-{check.name}"
        folder.mkdir()
        environ = {**variables(root, os.environ), VARIABLE: str(folder)}
        words = words_of(check, environ)
        run = Run(
            id=uuid.uuid4().hex,
            check=check.name,
            command=words,
            began=time.time(),
            tree=before.digest,
            baseline=base.digest,
        )
        run = msgspec.structs.replace(run, number=store.begin(run))
        _say(f"loop-close: {check.name}: {shlex.join(check.command)}")
        output = self._folder / "output"
        begin = output.stat().st_size
        exit_code = self._exit_code(words, environ, stop)
        after = gate.take_tree(self._targets)
        store.keep_files(root, after)
        parts, lost = app.reported_in(folder)
        if exit_code is not None and not app.is_explained(parts, exit_code):
            seen = observe_texts((_end_of(output, begin),), exit_code, root=str(root), source=check.name)
            parts.append(Part(observation=seen))
        run = result_of(run, check, exit_code, parts, lost)
        run = msgspec.structs.replace(
            run,
            seconds=time.time() - run.began,
            tree_after=after.digest,
            changed=changed(before, after),
            environment=joined(run.programs, digests_of(run.programs)),
        )
        if run.is_green and gate.is_result(run):
            others = [each for each in store.results(after.digest) if each.check != check.name]
            try:
                objection = self._objection(base, after, run, parts, others, stop)
                later = gate.take_tree(self._targets)  # what the old tests ran on
                run = msgspec.structs.replace(run, objection=objection, changed=changed(after, later))
            except InterruptionError:
                run = msgspec.structs.replace(run, exit_code=None, is_green=False)
        return app.Ran(run, tuple(parts)), after

    def _exit_code(self, words: Sequence[str], environ: dict[str, str], stop: Stop) -> int | None:
        """Run a command to its end; None if we had to stop it."""
        child = Child(words=words, root=self._root, environment=environ, started=self._started)
        try:
            return run_child(child, stop).exit_code
        except InterruptionError:
            return None
        except OSError as error:
            _say(f"loop-close: cannot run {words[0]}: {error.strerror or error}")
            return code_of(error)

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        self._now = msgspec.structs.replace(self._now, group=process.pid, group_birth=birth_of(process.pid))
        _write(self._top / "running", self._now)

    def _objection(
        self, base: Baseline, tree: Tree, run: Run, parts: Sequence[Part], others: Sequence[Run], stop: Stop
    ) -> Objection | None:
        """What the tests as they were say, if a test file differs or a test of theirs did not run."""
        if not gate.asks(base, tree, run, others):
            return None
        _say("loop-close: what the tests demand may differ; running those of the baseline")
        contexts: list[PytestContext | None] = [part.context for part in parts if part.context is not None]
        runs_tests = gate.runs_tests(base, run, others)
        found = (
            baselines.objection(self._root, base, tree, run, context, stop, runs_tests=runs_tests)
            for context in contexts or [None]
        )
        return next(filter(None, found), None)


def result_of(run: Run, check: Check, exit_code: int | None, parts: Sequence[Part], lost: str = "") -> Run:
    """The row of a run that ended. Pure.

    :param parts: what pytest reported, else what was read from the output.
    :param lost: why a report is missing; empty if none is.
    """
    contexts = [part.context for part in parts if part.context is not None]
    why = [lost, *(part.observation.incomplete for part in parts)]
    if not contexts and exit_code == 0 and _is_pytest(check.command) and not any(map(_ran, parts)):
        why.append("pytest ended without a report and without a summary")
    if any(context.is_optimized for context in contexts):
        why.append("Python left out the assertions (-O or PYTHONOPTIMIZE)")
    incomplete = next(filter(None, why), "")
    is_green = exit_code == 0 and not incomplete and bool(parts) and all(map(_is_green, parts))
    return msgspec.structs.replace(
        run,
        programs=tuple(dict.fromkeys((run.command[0], *(context.executable for context in contexts)))),
        exit_code=exit_code,
        is_finished=True,
        incomplete=incomplete,
        is_green=is_green,
        started=tuple(sorted({shlex.join(("pytest", *context.args)) for context in contexts})),
        counts=sum_of([part.observation.counts for part in parts]),
        outcomes=app.outcomes_of(parts),
    )


def _is_green(part: Part) -> bool:
    seen = part.observation
    is_failed = bool(seen.failures or seen.incomplete or seen.counts.failed or seen.counts.errors)
    return seen.exit_code == 0 and not is_failed


def _is_pytest(words: Sequence[str]) -> bool:
    return os.path.basename(words[0]) in _PYTEST or tuple(words[1:3]) == ("-m", "pytest")


def _ran(part: Part) -> bool:
    counts = part.observation.counts
    return bool(counts.passed or counts.skipped or counts.xfailed or counts.xpassed)


def _end_of(path: Path, begin: int) -> bytes:
    with path.open("rb") as file:
        file.seek(max(begin, path.stat().st_size - _MOST_OUTPUT))
        return file.read()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write(path: Path, record: Record) -> None:
    files.write_bytes(path, msgspec.json.encode(record))


def _read(path: Path, kind: type[_Kind]) -> _Kind | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
