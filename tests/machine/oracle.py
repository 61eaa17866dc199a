"""The truth, by running: whether all checks, and the tests as they were, are green on these files now."""

import itertools
import re
import shlex
import shutil
import subprocess
import tomllib
from xml.etree import ElementTree

from project import FILES, GUARD, digest, plain_environment

_CONFIG = {"pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml", "Makefile"}
_LOADED = {"sitecustomize.py", "sitecustomize/__init__.py", "usercustomize.py"}
_TEST_FILE = re.compile(r"(.*/)?(test_[^/]*\.py|[^/]*_test\.py|conftest\.py)|tests/.*")
_INSTALLED = re.compile(r"[^/]*\.(dist-info|egg-info)/.*|.*\.pth")


def is_of_tests(path):
    """Whether a file is one of the tests, their configuration, or loaded by itself."""
    return path in _CONFIG | _LOADED or any(each.fullmatch(path) for each in (_TEST_FILE, _INSTALLED))


def with_old_tests(files, baseline):
    """The present files with the tests of the baseline."""
    return {
        **{path: data for path, data in files.items() if not is_of_tests(path)},
        **{path: data for path, data in baseline.items() if is_of_tests(path)},
    }


class Oracle:
    """Runs in copies below ``folder``; what was asked before is answered from memory."""

    def __init__(self, folder, mended=FILES):
        self._folder, self._numbers, self._known = folder, itertools.count(1), {}
        self._mended = {path: text.encode() for path, text in mended.items()}

    def objection(self, files, baseline):
        """What is not green, in a line; empty if all is."""
        return self._asked("checks", self._checks, files) or self.of_old_tests(files, baseline)

    def of_old_tests(self, files, baseline):
        """The tests of the baseline that run on a mended program and do not pass on the present files."""
        ran = self._outcomes(with_old_tests(self._mended, baseline)).items()
        expected = {name for name, outcome in ran if outcome in ("passed", "failed")}
        now = self._outcomes(with_old_tests(files, baseline))
        return ", ".join(sorted(f"{name} {now.get(name)}" for name in expected if now.get(name) != "passed"))

    def _outcomes(self, files):
        return self._asked("tests", self._tests, files)

    def _asked(self, kind, run, files):
        key = (kind, digest(files))
        if key not in self._known:
            root = self._folder / str(next(self._numbers))
            for path, data in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(data)
            self._known[key] = run(root)
            shutil.rmtree(root)
        return self._known[key]

    @staticmethod
    def _checks(root):
        checks = _commands(root)
        if checks is None:
            return "no settings"
        for name, words in checks.items():
            done = _run(words, root)
            if done.returncode:
                return f"{name}: exit {done.returncode}"
        return ""

    @staticmethod
    def _tests(root):
        """Outcomes by test; a module that cannot be collected is a failing test.

        Once a person has accepted a check of fewer tests, the others are none of the baseline.
        """
        report = root.with_suffix(".xml")
        words = (_commands(root) or {}).get("tests", [])
        if words == ["true"]:
            return {}
        chosen = words[1:] if words[:2] == ["pytest", "-k"] else []
        _run(["pytest", "-q", f"--junitxml={report}", *chosen], root, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        found = {}
        try:
            cases = list(ElementTree.parse(report).iter("testcase"))
        except (OSError, ElementTree.ParseError):
            return {"report": "missing"}
        for case in cases:
            outcome = {"failure": "failed", "error": "failed", "skipped": "skipped"}
            parts = [outcome[child.tag] for child in case if child.tag in outcome]
            found[f"{case.get('classname')}.{case.get('name')}"] = parts[0] if parts else "passed"
        report.unlink()
        return found


def _commands(root):
    """The words of each check; None where the settings cannot be read."""
    try:
        document = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        checks = document.get("tool", {}).get("loop-close", {}).get("checks") or {"tests": "pytest"}
    except (OSError, ValueError):
        return None
    return {name: shlex.split(command) for name, command in checks.items()}


def _run(words, root, **environment):
    return subprocess.run(
        words,
        cwd=root,
        env=plain_environment(**environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
