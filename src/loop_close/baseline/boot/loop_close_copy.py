"""The pytest plugin of a run in a copy: which tests are run, their outcomes, and where their files are.

It runs under the project's interpreter and pytest, and imports nothing of ours.
"""

import json
import os

import pytest
import sitecustomize as boot

_COPY = os.path.realpath(boot.COPY)
with open(os.path.join(boot.RUN, "wanted.json"), encoding="utf-8") as _file:
    _WANTED = json.load(_file)

_outcomes = {}
_outside = set()


def _is_wanted(nodeid):
    path, colons, names = nodeid.partition("::")  # a path may have brackets, too
    return _WANTED is None or path in _WANTED or f"{path}{colons}{names.partition('[')[0]}" in _WANTED


def _note_place(file):
    if file and not os.path.realpath(file).startswith(_COPY + os.sep):
        _outside.add(str(file))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Which tests are run: all, or those of some functions and files."""
    items[:] = [item for item in items if _is_wanted(item.nodeid)]


def pytest_collection_finish(session):
    for item in session.items:
        _outcomes.setdefault(item.nodeid, ["missing", "the session ended before it"])
        _note_place(str(item.path))
        _note_place(getattr(getattr(item, "module", None), "__file__", None))


def pytest_collectreport(report):
    if report.failed:
        _outcomes[report.nodeid] = ["failed", _reason(report)]
    elif report.skipped:
        _outcomes[report.nodeid] = ["skipped", _reason(report)]


def pytest_runtest_logreport(report):
    if report.when != "call" and report.outcome == "passed":
        return
    if _outcomes.get(report.nodeid, [""])[0] == "failed":
        return
    what = "passed" if str(report.longrepr).startswith("[XPASS(strict)]") else report.outcome
    if hasattr(report, "wasxfail"):
        what = "xfailed" if report.skipped else "xpassed"
    _outcomes[report.nodeid] = [what, _reason(report) if what != "passed" else ""]


def _reason(report):
    """The line that says why, of a text that ends with the place."""
    if isinstance(report.longrepr, tuple):  # a skip: file, line, reason
        return str(report.longrepr[2])[:300]
    lines = [line.strip() for line in str(report.longrepr or "").splitlines() if line.strip()]
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    return ((errors or lines[-1:] or [""])[0])[:300]


def pytest_unconfigure(config):
    for plugin in config.pluginmanager.get_plugins():
        file = str(getattr(plugin, "__file__", None) or "")
        if os.path.basename(file) == "conftest.py":
            _note_place(file)
    is_main = not hasattr(config, "workerinput")
    found = {"outcomes": _outcomes, "outside": sorted(_outside), "is_main": is_main}
    with open(os.path.join(boot.RUN, f"note-pytest-{os.getpid()}.json"), "w", encoding="utf-8") as file:
        json.dump(found, file)
