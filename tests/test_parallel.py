"""Work on many items in processes: in bounded memory, whatever happens to a process."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from loop_close import parallel
from loop_close.parallel import PER_PROCESS, map_in_processes, usable_cpus


def squares(numbers):
    return [number * number for number in numbers]


def deadly(numbers):
    if 7 in numbers:
        os._exit(9)
    return list(numbers)


def cut_off(numbers):
    """Die in the middle of the result, as it is longer than a pipe holds."""
    if 3 not in numbers:
        return list(numbers)
    main = threading.main_thread().ident

    def watch():
        while sys._current_frames()[main].f_code.co_name != "_send":
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    return [*numbers, *range(20_000_000)]


def out_of_memory(numbers):
    raise MemoryError(f"at {numbers[0]}")


def endless(numbers):
    if numbers[0]:
        time.sleep(3_600)
    return list(numbers)


def no_start():
    os._exit(3)


def lost(number):
    return [-number]


def flat(results):
    return sorted(number for result in results for number in result)


@pytest.fixture(autouse=True)
def _no_process_is_left():
    before = {*multiprocessing.active_children()}
    yield
    assert {*multiprocessing.active_children()} <= before


@pytest.mark.parametrize(("number", "jobs", "size"), [(0, 2, 3), (1, 2, 3), (10, 1, 3), (20, 2, 3)])
def test_every_item_is_worked_on_once(number, jobs, size):
    found = map_in_processes(squares, range(number), lost=lost, jobs=jobs, size=size)
    assert flat(found) == [n * n for n in range(number)]


def test_items_are_taken_only_when_there_is_room():
    taken = done = 0
    ahead = []

    def items():
        nonlocal taken
        for number in range(60):
            taken += 1
            ahead.append(taken - done)
            yield number

    for result in map_in_processes(squares, items(), lost=lost, jobs=2, size=3):
        done += len(result)
    # Several chunks may be done at once, before the first of their results is handed on.
    assert taken == done == 60
    assert max(ahead) <= 2 * PER_PROCESS * 3


def test_a_process_that_dies_costs_only_the_item_it_died_of():
    found = map_in_processes(deadly, range(20), lost=lost, jobs=2, size=4)
    assert flat(found) == sorted({*range(20), -7} - {7})


@pytest.mark.slow
def test_every_item_that_is_deadly_is_lost_and_no_other():
    items = [7, 1, 7, 7, 2]
    assert flat(map_in_processes(deadly, items, lost=lost, jobs=1, size=2)) == [-7, -7, -7, 1, 2]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pipes are other ones there")
def test_a_process_that_dies_in_the_middle_of_its_result_is_not_waited_for():
    assert flat(map_in_processes(cut_off, range(6), lost=lost, jobs=2, size=1)) == [-3, 0, 1, 2, 4, 5]


def test_what_the_work_raises_is_passed_on():
    with pytest.raises(MemoryError, match="at 0"):
        list(map_in_processes(out_of_memory, range(3), lost=lost, jobs=1, size=3))


def test_to_stop_early_ends_processes_that_are_at_work():
    results = map_in_processes(endless, range(100), lost=lost, jobs=2, size=1)
    assert next(results) == [0]
    results.close()


def test_an_error_in_the_items_ends_processes_that_are_at_work():
    items = (1 // n for n in (1, 1, 0))
    with pytest.raises(ZeroDivisionError):
        list(map_in_processes(endless, items, lost=lost, jobs=2, size=1))


def test_no_process_can_be_started(monkeypatch):
    monkeypatch.setattr(parallel, "_begin", no_start)
    with pytest.raises(RuntimeError, match="no process can be started"):
        list(map_in_processes(squares, range(30), lost=lost, jobs=2, size=1))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which CPUs may be used")
def test_cpus_are_those_that_may_be_used():
    ask = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); from loop_close import parallel as p;"
    told = subprocess.run(
        [sys.executable, "-c", f"{ask} print(p.usable_cpus())"], capture_output=True, text=True
    )
    assert told.stdout == "1\n"
    assert usable_cpus() >= 1
