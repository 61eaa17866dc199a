"""The second look: a few failing tests run once more, each alone in a copy of the process, watched closely.

So do passing tests that ran the first suspects; before them other ones for their lines, many in a copy.
"""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing.connection import wait
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from loop_close.calls import NO_CALLS, Calls, sample_key
from loop_close.capture import ProjectCode
from loop_close.capture.values import MAX_TEXT, Texts
from loop_close.facts import Name, base_name, file_of
from loop_close.judge import judged, with_suspects
from loop_close.model import Failure, Observation, RootCause, SecondLook, SeenCall
from loop_close.pytest_plugin.calls import CallRecorder
from loop_close.pytest_plugin.recording import CLOCK_SET, exception_of
from loop_close.readers.pytest_reports import read_report
from loop_close.records import Loop
from loop_close.settings import AUTO
from loop_close.text import cut_apart, one_line
from loop_close.trace.counts import merge_calls
from loop_close.trace.session import Monitor
from loop_close.trace.traced import TracedCall

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from loop_close.pytest_plugin.session import Recorder

#: Seconds of wall time for all tests that run once more.
LIMIT = 5.0
#: Seconds of wall time for each test.
_OF_TEST = 2.0
#: So much longer a copy has to tear down what it set up, in seconds; that of xdist's controller to end its own copies.
_GRACE = 0.5
#: With the setting ``auto`` they run if they took no longer than this together, in seconds.
QUICK = 1.0
#: A look that took so many seconds is reported.
_REPORTED = 1.0
#: So many root causes are looked at, so many failing tests of each and in all, and passing tests of each.
_CAUSES, _OF_CAUSE, _FAILING, _PASSING = 3, 2, 5, 3
#: So many failing tests and passing ones run for their lines, where these were not recorded.
_UNKNOWN, _SAMPLE = 20, 1_000
#: So many passing tests run in one copy.
_BATCH = 200
#: So many calls are kept of a test; the limits of the texts of an argument, of all, and of a result.
_KEPT, _ARGUMENT, _ARGUMENTS, _RESULT = 3, 40, 100, 60
#: Arguments for what a method is of.
_OWNERS = ("self", "cls")
#: Options that stop in a failing test.
_STOPS = ("usepdb", "trace")
#: The hooks of a test that others hear in a copy. The rest tells of tests: a report would have them twice.
_RUNNING = ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown")
_TELLING, _TOLD = ("pytest_runtest_", "pytest_exception_"), ("_pytest.", "loop_close.")
#: Variables by which coverage.py starts in each Python that a test starts, and writes a file there.
_OF_COVERAGE = ("COV_CORE_", "COVERAGE_")
#: The variable that tells a program that a test runs for a second look.
VARIABLE = "LOOP_CLOSE_SECOND_LOOK"


class _Failed(NamedTuple):
    """How a phase of a test failed.

    :ivar lines: the running lines of its traceback, as ``file:line``.
    """

    phase: str
    exception: str
    lines: tuple[str, ...]
    message: str


class _Seen(NamedTuple):
    """What a copy sends: the lines that the test ran, the calls of watched functions, its outcome and how it failed."""

    calls: Calls
    traced: Mapping[int, TracedCall]
    outcome: str
    failures: tuple[_Failed, ...] = ()


def second_look(recorder: Recorder, seen: Observation, loop: Loop) -> Observation:
    """What was observed, with what a second look saw.

    Tests whose lines were not recorded run first: which functions to watch depends on them.

    :param loop: by which the prompt ranks suspects, too.
    """
    began, session = monotonic(), recorder.session
    if session is None or recorder.interrupted or not _may_run_again(session):
        return seen
    look = _Look(recorder, session, began + LIMIT)
    failing = {failure.nodeid for failure in seen.failures} & look.tests
    is_counted, calls = seen.calls != NO_CALLS, seen.calls
    unknown = failing - calls.failed.keys()
    first = _simplest(with_suspects(judged(seen), loop).causes, unknown, _UNKNOWN) if unknown else []
    # Where nothing counted in the run, each takes longer.
    others = sorted(unknown - {*first}, key=sample_key) if is_counted else []
    found = look.run([*first, *others], ())
    # Of a failing one that passes alone they are still not known.
    again = [each.calls for each in _alike(found, seen).values() if each.calls.failed]
    tracked = recorder.calls.tracked if is_counted else () if again else None
    if tracked is not None:
        again.append(look.count(_sample(recorder, failing, tracked), None if is_counted else ()))
    if again:
        calls = merge_calls([calls, *again])
        missing = {each.nodeid for each in seen.failures if each.nodeid} - calls.failed.keys()
        seen = replace(seen, calls=calls._replace(omitted=len(missing)))
    causes = with_suspects(judged(seen), loop).causes[:_CAUSES]
    places = ((each.file, base_name(each.function)) for cause in causes for each in cause.suspects)
    watched = dict.fromkeys(places)
    chosen = _simplest(causes, failing, _FAILING) if watched else []
    passing = _guards(causes, look.tests)
    found |= look.run([*chosen, *passing], watched)
    alike = _alike(found, seen)
    same = {_ending(call) for test in passing if test in alike for call in alike[test].traced.values()}
    failures = tuple(
        _with_look(each, found.get(each.nodeid), each.nodeid in alike, watched, same)
        for each in seen.failures
    )
    if (took := monotonic() - began) >= _REPORTED:
        recorder.notes.append(f"running tests once more took {took:.1f} s")
    return replace(seen, failures=failures)


class _Look:
    """Runs tests once more, while there is time.

    :param end: when it has to be over, by the clock of :func:`time.monotonic`.
    :ivar tests: the node ids of those that can run.
    """

    def __init__(self, recorder: Recorder, session: pytest.Session, end: float) -> None:
        self.tests = {item.nodeid for item in session.items} | {*recorder.chosen}
        self._session = session
        times = ((each.nodeid, getattr(each, "duration", 0.0)) for each, _ in recorder.reports)
        self._times = {test: seconds for test, seconds in times if 0 <= seconds < CLOCK_SET}
        self._end = end
        is_quick = recorder.targets.settings.second_look == AUTO
        self._most = (QUICK if is_quick else LIMIT) - recorder.longest_setup  # by what tests took before

    def run(self, tests: Sequence[str], watched: Collection[Name]) -> dict[str, _Seen]:
        """What was seen of each test that ended, each in a copy of its own."""
        tests = self._quick(tests)
        if not tests:
            return {}
        if self._session.items:
            return self._each(tests, watched)
        # The controller of xdist collects no test: a copy of it does, and makes copies of itself.
        data = _in_copy(lambda: msgspec.msgpack.encode(self._each(tests, watched)), self._end + _GRACE)
        return msgspec.msgpack.decode(data, type=dict[str, _Seen]) if data else {}

    def count(self, tests: Sequence[str], watched: Collection[Name] | None) -> Calls:
        """The lines of passing tests, many in a copy, of as many as there is half of the time for.

        A test that ends its copy costs what was seen in that copy.

        :param watched: as for :class:`_Copy`.
        """
        tests = self._quick(tests)
        end = monotonic() + (self._end - monotonic()) / 2
        # Each copy of the controller of xdist collects its tests first.
        size = _BATCH if self._session.items else _SAMPLE
        found = []
        for start in range(0, len(tests), size):
            batch = tests[start : start + size]
            data = _in_copy(partial(self._seen, batch, watched, end), end)
            found += [msgspec.msgpack.decode(data, type=_Seen).calls] if data else []
        return merge_calls(found)._replace(failed={})  # those passed in the run

    def _seen(self, tests: Sequence[str], watched: Collection[Name] | None, end: float) -> bytes:
        """In a copy: what is seen of tests, run one after the other while there is time."""
        items = self._items(tests)
        copy = _Copy(self._session, watched)
        for item, following in zip(items, [*items[1:], None], strict=False):
            if not copy.run(item, end, following):
                break
        return copy.seen()

    def _quick(self, tests: Sequence[str]) -> list[str]:
        """As many of the tests as there is time for, by what they took before."""
        left, chosen = self._most, []
        for test in tests:
            if (took := self._times.get(test, 0.0)) <= left:
                left -= took
                chosen.append(test)
        return chosen

    def _items(self, tests: Sequence[str]) -> list[pytest.Item]:
        """The tests in this order."""
        root = self._session.config.rootpath  # node ids count from there, not from the working directory
        paths = [f"{root}{os.sep}{test}" for test in tests]
        items = {item.nodeid: item for item in self._session.items or self._session.perform_collect(paths)}
        return [items[test] for test in tests if test in items]

    def _each(self, tests: Sequence[str], watched: Collection[Name]) -> dict[str, _Seen]:
        found = {}
        for test in [item.nodeid for item in self._items(tests)]:
            end = min(self._end, monotonic() + _OF_TEST)
            data = _in_copy(partial(self._seen, [test], watched, end), end)
            if data and monotonic() < end:  # else it did not end by itself
                found[test] = msgspec.msgpack.decode(data, type=_Seen)
        return found


def _simplest(causes: Sequence[RootCause], failing: Collection[str], most: int) -> list[str]:
    """Of each root cause the failing tests to show first, one of each before the second of any."""
    tests = [[*dict.fromkeys(failure.nodeid for failure in cause.failures)] for cause in causes]
    chosen = [each[number] for number in range(_OF_CAUSE) for each in tests if len(each) > number]
    return [test for test in chosen if test in failing][:most]


def _guards(causes: Sequence[RootCause], tests: Collection[str]) -> list[str]:
    """Passing tests that ran the first suspects."""
    chosen: dict[str, None] = {}
    for cause in causes:
        guards = dict.fromkeys(guard for suspect in cause.suspects for guard in suspect.guards)
        chosen |= dict.fromkeys([guard for guard in guards if guard in tests][:_PASSING])
    return [*chosen]


def _sample(recorder: Recorder, failing: Collection[str], known: Collection[str]) -> list[str]:
    """Tests of which each phase passed at once, those of the files of failing ones first, without those known."""
    files = {file_of(test) for test in failing}
    reports = [report for report, _ in recorder.reports]
    passed = {report.nodeid for report in reports if report.when == "call"}
    passed -= {report.nodeid for report in reports if report.outcome != "passed"} | {*known}
    sample = sorted(passed, key=lambda test: (file_of(test) not in files, sample_key(test)))[:_SAMPLE]
    # File by file: fixtures of a module are then set up once.
    return sorted(sample, key=lambda test: (file_of(test) not in files, file_of(test)))


def _failed(failure: Failure) -> _Failed:
    lines = tuple(f"{each.file}:{each.line}" for each in failure.frames)
    return _Failed(failure.phase, failure.exception, lines, one_line(failure.message, MAX_TEXT))


def _alike(found: Mapping[str, _Seen], seen: Observation) -> dict[str, _Seen]:
    """What was seen of tests that passed in the run, too, or failed at its lines, whatever else was said or failed."""
    before: dict[str, set[_Failed]] = {}
    for failure in seen.failures:
        before.setdefault(failure.nodeid, set()).add(_failed(failure)._replace(message=""))
    now = {test: {failed._replace(message="") for failed in each.failures} for test, each in found.items()}
    return {
        test: each
        for test, each in found.items()
        if before.get(test, set()) <= now[test] and bool(now[test]) == (test in before)
    }


def _with_look(
    failure: Failure, seen: _Seen | None, alike: bool, watched: Iterable[Name], known: Collection[object]
) -> Failure:
    if seen is None:
        return failure
    if not alike:
        other = next((each for each in seen.failures if each.phase == failure.phase), None)
        said = (other.exception, other.message) if other is not None else ("", "")
        return replace(failure, again=SecondLook(outcome=seen.outcome, exception=said[0], message=said[1]))
    # Of a subtest it is not known which of the test's calls it made.
    calls = () if failure.subtest else tuple(_telling(seen.traced, _line_in_test(failure), watched, known))
    return replace(failure, again=SecondLook(outcome=seen.outcome, calls=calls))


def _line_in_test(failure: Failure) -> int:
    """The running line of the test code nearest to the exception; 0 if there is none."""
    return next((frame.line for frame in reversed(failure.frames) if frame.is_test), 0)


def _ending(call: TracedCall) -> object:
    """What is equal of two calls that were made and ended in the same way."""
    return call.name, *map(tuple, map(sorted, (call.arguments.items(), call.changed.items()))), call.result


def _telling(
    calls: Mapping[int, TracedCall], line: int, watched: Iterable[Name], known: Collection[object]
) -> Iterator[SeenCall]:
    """Of each function the last call that no passing test made, with those that it was made in.

    Of those that the failing statement led to, the last one else; of a function that it did not lead to, none else.

    :param line: of the failing statement in the test; if it makes no call itself, the last call before counts.
    :param watched: the likeliest functions first.
    """
    outer = {number: [*_above(calls, number)][-1] for number in calls}
    own = {number for number in outer.values() if calls[number].line == line} or {
        max(outer.values(), default=-1)
    }
    kept: set[int] = set()
    for name in watched:
        every = [number for number, call in calls.items() if call.name == name]
        new = [number for number in every if _ending(calls[number]) not in known]
        made = [number for number in every if outer[number] in own] or new
        chain = [*_above(calls, max({*made} & {*new} or made))] if made else []
        kept |= {*[number for number in chain if number not in kept][: _KEPT - len(kept)]}
    for number in sorted(kept):
        call = calls[number]
        # Both cut around what changed; else the beginning would be shown twice.
        shown = {
            name: cut_apart([text, call.changed.get(name, text)], _ARGUMENT)
            for name, text in call.arguments.items()
            # The beginning of what a method is of says little.
            if name in call.changed or name not in _OWNERS or len(text) <= _ARGUMENT
        }
        yield SeenCall(
            function=call.name[1],
            depth=sum(each in kept for each in _above(calls, number)) - 1,
            arguments=_pairs({name: before for name, (before, _) in shown.items()}),
            result=one_line(call.result, _RESULT),
            changed=_pairs({name: after for name, (_, after) in shown.items() if name in call.changed}),
            is_known=_ending(call) in known,
        )


def _above(calls: Mapping[int, TracedCall], number: int) -> Iterator[int]:
    """The number of a call, then of those that it was made in, the innermost first."""
    while number in calls:
        yield number
        number = calls[number].parent


def _pairs(texts: Mapping[str, str]) -> str:
    """Names with their values, what a method is of last."""
    pairs = sorted(texts.items(), key=lambda pair: pair[0] in _OWNERS)
    return one_line(", ".join(f"{name}={text}" for name, text in pairs), _ARGUMENTS)


# --- in the copy


class _Copy:
    """Runs tests in a copy of the process, and keeps what is seen of them.

    Other plugins and conftests hear what is set up, run and torn down, and nothing that tells of it.

    :param watched: the functions whose calls are kept; None for lines alone, as ``sys.monitoring`` reports them.
    """

    def __init__(self, session: pytest.Session, watched: Collection[Name] | None) -> None:
        for name in [name for name in os.environ if name.startswith(_OF_COVERAGE)]:
            del os.environ[name]
        os.environ[VARIABLE] = "1"
        self._session, config = session, session.config
        self._root = str(config.rootpath)
        self._reports: list[Any] = []
        texts = Texts(ProjectCode(self._root))
        calls = (lambda value, labels: one_line(texts.of(value, *labels), MAX_TEXT), watched or ())
        self._monitor = Monitor(self._root, is_whole=True, watched=calls if watched is not None else None)
        manager = config.pluginmanager
        manager.unregister(name="loop-close-calls")
        manager.register(CallRecorder(self._monitor), "loop-close-calls")
        capture: Any = manager.get_plugin("capturemanager")
        if capture is not None:  # its temporary files are those of the run
            manager.unregister(capture)
            capture = type(capture)("no")
            capture.start_global_capturing()
            manager.register(capture, "capturemanager")
        logs: Any = manager.get_plugin("logging-plugin")
        if logs is not None:  # its stream is kept: freed, it would warn that it was not closed
            null = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            self._streams = null, logs.log_file_handler.setStream(null)
        for name, hook in vars(manager.hook).items():
            for each in hook.get_hookimpls() if name.startswith(_TELLING) and name not in _RUNNING else ():
                if not str(each.function.__module__).startswith(_TOLD):
                    hook._remove_plugin(each.plugin)
        self._runner: Any = manager.get_plugin("runner")
        manager.register(self, "loop-close-again")
        signal.signal(signal.SIGALRM, self._run_out)

    # Takes the place of what runs a test; pytest's own wrappers, such as for warnings, stay.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        self._runner.runtestprotocol(item, log=False, nextitem=nextitem)
        return True

    def _run_out(self, number: int, frame: object) -> None:
        raise _OutOfTime

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)  # an exception there would leave fixtures as they are

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        report = yield
        self._monitor.saw(report)
        self._reports.append(report)
        return report

    def run(self, item: pytest.Item, end: float, following: pytest.Item | None = None) -> bool:
        """Run a test once; fixtures that the following one needs too stay. False if its time ran out: it failed."""
        with contextlib.suppress(_OutOfTime):
            signal.setitimer(signal.ITIMER_REAL, max(0.001, end - monotonic()))  # 0 is never
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            signal.setitimer(signal.ITIMER_REAL, 0)
        return monotonic() < end

    def seen(self) -> bytes:
        """What was seen, as :class:`_Seen`; nothing is from here on. What is still set up is torn down."""
        self._monitor.stop()
        with contextlib.suppress(BaseException):  # an error there is of no test that was asked for
            self._runner.pytest_sessionfinish(self._session)
        failed = [each for each in self._reports if each.outcome == "failed"]
        found = [_failed(read_report(each, exception_of(each), self._root)) for each in failed]
        calls = self._monitor.calls() or Calls()
        seen = _Seen(calls, self._monitor.traced, _outcome(self._reports), tuple(found))
        return msgspec.msgpack.encode(seen)


class _OutOfTime(BaseException):
    """Raised in a test whose time is over, so that it is torn down: no ``except Exception`` takes it."""


def _outcome(reports: Sequence[Any]) -> str:
    """The outcome of a test by the reports of its phases and subtests."""
    outcomes = {"xfailed" if hasattr(each, "wasxfail") else str(each.outcome) for each in reports}
    return next((each for each in ("failed", "xfailed", "skipped") if each in outcomes), "passed")


# --- run a test once more


def _may_run_again(session: pytest.Session) -> bool:
    """Whether tests may run again: the run ended by itself, is of this process, and can be copied."""
    is_over = int(session.exitstatus) == pytest.ExitCode.TESTS_FAILED
    is_own = not hasattr(session.config, "workerinput") and hasattr(os, "fork")
    return is_over and is_own and not any(getattr(session.config.option, name, None) for name in _STOPS)


def _in_copy(work: Callable[[], bytes], end: float) -> bytes:
    """The result of the function, called in a copy of the process, which nothing else comes out of.

    :param end: a little later, and at Ctrl-C, what still runs is killed, with the processes that it started.
    :returns: empty if it did not end in time, or a test ended its process.
    """
    if (seconds := end - monotonic()) <= 0:
        return b""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    process = fork.Process(target=_run, args=(sender, work, seconds + 2 * _GRACE))
    with warnings.catch_warnings():
        # A copy has one thread. Where it waits for another, the limit ends it.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        process.start()
    sender.close()
    try:
        return receiver.recv_bytes() if receiver.poll(seconds + _GRACE) else b""
    except EOFError:
        return b""
    finally:
        if process.pid is not None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()
        receiver.close()


def _run(sender: Connection, work: Callable[[], bytes], seconds: float) -> None:
    """In the copy: no exit handler of the program or of pytest runs in it."""
    try:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        faulthandler.disable()
        faulthandler.cancel_dump_traceback_later()
        Thread(target=_end, args=(seconds,), daemon=True).start()
        sender.send_bytes(work())
    finally:
        os.kill(os.getpid(), signal.SIGKILL)  # coverage.py may have replaced ``os._exit``


def _end(seconds: float) -> None:
    """End the copy, with the processes that it started, when its time is over or the process that it is of is gone."""
    parent = multiprocessing.parent_process()
    wait([parent.sentinel] if parent is not None else [], seconds)
    os.killpg(0, signal.SIGKILL)
