from __future__ import annotations

import contextlib
import importlib
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable

import pytest
from plugin_harness import ASKED, OTHERS, Run, assert_valid, assert_well_formed, write

import loop_close
from loop_close import capture

# What an inner run imports is unloaded after it; what is there before stays, and is not loaded again each time.
for _module in pkgutil.walk_packages(loop_close.__path__, "loop_close."):
    if not _module.name.startswith(("loop_close.mcp", "loop_close.tox")):  # need what may not be there
        importlib.import_module(_module.name)

OUTER = ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_TESTRUNUID", "PYTEST_XDIST_WORKER_COUNT")


@pytest.fixture(autouse=True)
def no_outer_run(monkeypatch):
    """The inner runs do not belong to the workers of the outer one.

    They write no bytecode: a test file that is written again within a second, in the same size, counts as unchanged.
    """
    for name in OUTER:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", ["pytest", *sys.argv[1:]])  # however the outer run was started
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Run pytest on some files, with the plugin asked for.

    Of the other plugins only those that are named take part.
    """

    def start(
        files: dict[str, str],
        *args: str,
        asked: tuple[str, ...] = ASKED,
        own_process: bool = False,
        plugins: tuple[str, ...] = (),
        is_prompt: bool = True,
        remembers: bool = False,
    ) -> Run:
        write(pytester.path, files)
        if not (pytester.path / "pyproject.toml").exists():
            pytester.path.joinpath("pytest.ini").touch()
        blocked = [f"-p no:{name}" for name in OTHERS if name.partition(".")[0] not in plugins]
        memory = [] if remembers else ["--loop-close-history=off"]  # most tests run twice to compare the two
        monkeypatch.setenv("PYTEST_ADDOPTS", " ".join([*blocked, *memory]))
        for name in [name for name in sys.modules if name.startswith("test_")]:
            monkeypatch.delitem(sys.modules, name)  # a test module of the same name is another one
        capture.index_of.cache_clear()
        capture.source_between.cache_clear()
        if own_process:
            result = pytester.runpytest_subprocess(*asked, *args)
        else:
            with warnings.catch_warnings():  # our own suite turns them into errors, a project need not
                warnings.simplefilter("default")
                result = pytester.runpytest_inprocess(*asked, *args, no_reraise_ctrlc=True)
        # A second look that takes a second says so, on a slow machine in any run.
        stdout = re.sub(r"(?m)^loop-close: running tests once more took .*\n?", "", result.stdout.str())
        found = Run(int(result.ret), stdout, result.stderr.str(), pytester.path)
        if not is_prompt:  # but evidence, or a word on what is going on
            return found
        with contextlib.suppress(FileNotFoundError):
            assert_well_formed(found.prompt)
            assert_valid(found.report)
        return found

    return start


@pytest.fixture
def loop(
    run: Callable[..., Run], pytester: pytest.Pytester, request: pytest.FixtureRequest
) -> Callable[..., Run]:
    """Edit files (replace texts in them), then run pytest, which remembers; at first on the PROJECT of the module."""

    def turn(*args: str, is_prompt: bool = True, own_process: bool = False, **edits: tuple[str, ...]) -> Run:
        is_there = (pytester.path / "pytest.ini").exists()
        for name, texts in edits.items():
            path = pytester.path / f"{name}.py"
            for old, new in zip(texts[::2], texts[1::2], strict=True):
                text = path.read_text()
                assert old in text
                path.write_text(text.replace(old, new))
        for name in ("shop", "test_shop"):
            sys.modules.pop(name, None)
        files = {} if is_there else request.module.PROJECT
        return run(files, *args, remembers=True, is_prompt=is_prompt, own_process=own_process)

    return turn
