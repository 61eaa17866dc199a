"""Map a function over any number of items in processes of their own, and reduce the results in bounded memory.

A process that dies, such as one that the system ends for want of memory, costs only the item it died of: the items
that were under way are given to new processes, alone. No process outlives the call, nor its own parent.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

#: Chunks under way for each process: one at work, and one that waits for it.
PER_PROCESS = 2
#: More processes than this cannot be waited for on Windows.
_MOST_ON_WINDOWS = 61
_PATIENCE = 0.5  # seconds


def usable_cpus() -> int:
    """The number of CPUs that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def map_in_processes(
    work: Callable[[Sequence[_Item]], _Result],
    items: Iterable[_Item],
    *,
    lost: Callable[[_Item], _Result],
    jobs: int,
    size: int,
) -> Generator[_Result, None, None]:
    """The results of the work on chunks of the items, in no order.

    An item is taken only when there is room for it, and a result is handed on at once: at most ``2 * jobs`` chunks
    are under way. When the generator is closed, or anything is raised, the processes are ended.

    :param work: a function of a module, as it is sent to processes that are started anew (``spawn``); what it raises
        is passed on.
    :param lost: the result for an item at which its process died.
    :param size: how many items make a chunk.
    :raises RuntimeError: when no process can be started.
    """
    runner = _Runner(work, min(jobs, _MOST_ON_WINDOWS) if sys.platform == "win32" else jobs)
    chunks = _chunks(items, size)
    try:
        while True:
            for chunk in islice(chunks, runner.room()):
                runner.submit(chunk)
            if not runner.pending:
                return
            results, broken = runner.finished()
            yield from results
            for chunk in broken:
                yield from _alone(runner, chunk, lost)
    finally:
        runner.end()


def _chunks(items: Iterable[_Item], size: int) -> Iterator[Sequence[_Item]]:
    rest = iter(items)
    while chunk := tuple(islice(rest, size)):
        yield chunk


def _alone(
    runner: _Runner[_Item, _Result], chunk: Sequence[_Item], lost: Callable[[_Item], _Result]
) -> Iterator[_Result]:
    """The chunk again, nothing beside it; if its process dies again, item by item."""
    parts: list[Sequence[_Item]] = [chunk, *((item,) for item in chunk)]
    for part in parts:
        runner.submit(part)
        results, broken = runner.finished()
        yield from results
        if broken and len(part) == 1:
            yield lost(part[0])
        if part is chunk and (results or len(chunk) == 1):
            return


class _Runner(Generic[_Item, _Result]):
    """A pool of processes that is replaced when one of them dies."""

    def __init__(self, work: Callable[[Sequence[_Item]], _Result], jobs: int) -> None:
        self.pending: dict[Future[_Result], Sequence[_Item]] = {}
        self._work = work
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._processes: set[BaseProcess] = set()

    def room(self) -> int:
        """How many more chunks may be under way."""
        return PER_PROCESS * self._jobs - len(self.pending)

    def submit(self, chunk: Sequence[_Item]) -> None:
        """Start to work on a chunk."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._jobs, multiprocessing.get_context("spawn"), initializer=_begin
            )
        # Processes that are started now inherit it: Ctrl-C is for the one that ends them.
        with _without_interrupts():
            others = {*multiprocessing.active_children()} - self._processes
            try:
                future = self._pool.submit(self._work, chunk)
            except BrokenProcessPool as broken:  # a process died since; the chunk will be tried again
                future = Future()
                future.set_exception(broken)
            self._processes = {*multiprocessing.active_children()} - others
        self.pending[future] = chunk

    def finished(self) -> tuple[list[_Result], list[Sequence[_Item]]]:
        """Wait until a chunk is done; the results, and the chunks whose processes died.

        :raises RuntimeError: when no process can be started.
        """
        done: set[Future[_Result]] = set()
        while not done:  # with a limit, as on Windows Ctrl-C does not end the waiting
            done, _ = wait(self.pending, _PATIENCE, FIRST_COMPLETED)
            if not done and not all(process.is_alive() for process in self._processes):
                self._kill()  # the pool waits for the rest of a result, in the middle of which its process died
        if any(isinstance(future.exception(), BrokenProcessPool) for future in done):
            done, _ = wait(self.pending)  # all of the pool are broken now, or have their result
        results, broken = [], []
        for future in done:
            chunk = self.pending.pop(future)
            if isinstance(future.exception(), BrokenProcessPool):
                broken.append(chunk)
            else:
                results.append(future.result())
        if broken:
            self.end()
            self._check()
        return results, broken

    def end(self) -> None:
        """End all processes at once, whatever they do."""
        pool, self._pool = self._pool, None
        self.pending = {}
        if pool is None:
            return
        self._kill(pool)
        pool.shutdown(wait=True, cancel_futures=True)
        self._processes = set()

    def _kill(self, pool: ProcessPoolExecutor | None = None) -> None:
        """End all processes, and let the pool not wait for what they would still have sent.

        While its own end of the pipe for results is open, a result that was cut off has no end. The attributes are
        private: where a Python names them otherwise, only this protection is lost.
        """
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
        results = getattr(pool or self._pool, "_result_queue", None)
        writer = getattr(results, "_writer", None)
        if writer is not None:
            writer.close()

    def _check(self) -> None:
        """Whether processes can be started at all: else every item would be found to be deadly."""
        with _without_interrupts(), contextlib.suppress(BrokenProcessPool):
            pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_begin)
            with pool:
                pool.submit(int).result()
                return
        raise RuntimeError("no process can be started")


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """SIGINT waits; processes that are started meanwhile never get it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """In a new process: leave Ctrl-C to the parent, and end when the parent is gone, however it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
