"""``pytest --quick``: the tests that start no process and no run of pytest, without large inputs, with few examples.

A test that runs pytest is recognized by its fixture. One that starts a process is skipped when it does. In every run
garbage is not searched while tests are collected.
"""

import gc
import multiprocessing
import sys

import pytest
from hypothesis import settings

#: Examples of a property test that names a number of its own.
_EXAMPLES = 10
_STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec")
_RUNS_PYTEST = frozenset({"pytester", "testdir"})


def pytest_addoption(parser):
    text = "leave out tests that start a process or a run of pytest or have large inputs; draw few examples"
    parser.addoption("--quick", action="store_true", help=text)


def pytest_configure(config):
    gc.disable()  # until all tests are collected
    if config.getoption("--quick"):
        settings.load_profile("quick")
        config.pluginmanager.register(Quick(), "quick-run")


def pytest_collection_finish():
    """The collected tests stay to the end: the collector of garbage need not look at them again and again."""
    gc.enable()
    gc.freeze()


class Quick:
    def __init__(self):
        self._is_in_test = False
        self._has_started = False
        sys.addaudithook(self._audited)
        start = multiprocessing.process.BaseProcess.start
        multiprocessing.process.BaseProcess.start = lambda process: (self._skip(), start(process))[1]

    def _audited(self, event, arguments):
        if event in _STARTS:
            self._skip()

    def _skip(self):
        if self._is_in_test:
            self._has_started = True
            pytest.skip("starts a process")

    def pytest_collection_modifyitems(self, config, items):
        left_out = set(filter(_is_left_out, items))
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]
        for item in items:
            _draw_few(getattr(item, "obj", None))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self._is_in_test, self._has_started = True, False
        try:
            return (yield)
        finally:
            self._is_in_test = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item):
        """A test whose own handlers caught the skip is skipped all the same."""
        report = yield
        if self._has_started and report.failed:
            report.outcome, report.longrepr = "skipped", (*item.location[:1], 0, "Skipped: starts a process")
        return report


def _is_left_out(item):
    runs_pytest = not _RUNS_PYTEST.isdisjoint(getattr(item, "fixturenames", ()))
    return runs_pytest or item.get_closest_marker("large") is not None


def _draw_few(test):
    own = getattr(test, "_hypothesis_internal_use_settings", None)
    if own is not None and own.max_examples > _EXAMPLES:
        function = getattr(test, "__func__", test)
        function._hypothesis_internal_use_settings = settings(own, max_examples=_EXAMPLES)
