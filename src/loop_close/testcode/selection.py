"""What decides beside the tests which of them run and what becomes of their outcome: configuration and hooks."""

from __future__ import annotations

import ast
import contextlib
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from configparser import ConfigParser, Error
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

from loop_close.conventions import is_like, is_of_tests
from loop_close.testcode.changes import Kind, TestChange, excerpt
from loop_close.testcode.nodes import constant, last_name, parse
from loop_close.testcode.suite import Module, Patterns, Test, TestSuite, matches

_FILES = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)
_VALUED = {
    *("-k", "-m", "-p", "-c", "-o", "-n", "-W", "-r", "--ignore", "--ignore-glob", "--deselect"),
    *("--override-ini", "--maxfail", "--rootdir", "--confcutdir", "--basetemp", "--tb", "--cov"),
    *("--cov-report", "--durations"),
}
_NOT_RUN = {
    "--collect-only": "only collects",
    "--co": "only collects",
    "--setup-only": "runs no test body",
    "--setup-plan": "runs no test body",
    "--fixtures": "runs no test",
    "--markers": "runs no test",
    "--version": "runs no test",
    "--help": "runs no test",
    "-h": "runs no test",
    "--lf": "runs last failures only",
    "--last-failed": "runs last failures only",
    "--sw": "stops at the first failure",
    "--stepwise": "stops at the first failure",
    "--noconftest": "reads no conftest",
    "-p no:python": "collects no tests",
    "-p no:unittest": "collects no unittest classes",
    "-p no:skipping": "changes what skip and xfail mean",
}
# What makes pytest read other files than before.
_ELSEWHERE = {"-c", "--rootdir", "--confcutdir", "--import-mode", "--pyargs"}
_NO_ASSERTS = re.compile(r"PYTHONOPTIMIZE|\bpython[\d.]*\s+(?:-\w+\s+)*-OO?\b")
#: The file with the entries of failures that are known, as comments that begin so, each with a JSON object.
SETTINGS = "pyproject.toml"
KNOWN = "# loop-close known: "
_DEFAULT_NORECURSE = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")


@dataclass
class Selection:
    """What one configuration file selects.

    :ivar options: the options of ``addopts`` with their values, ``("-k", "not slow")``.
    """

    path: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    options: list[tuple[str, str]] = field(default_factory=list)

    @property
    def choice(self) -> tuple[object, ...]:
        """All by which it selects."""
        names = ("testpaths", "norecursedirs", "python_files", "python_classes", "python_functions")
        return self.path, self.options, [self.listed(name) for name in names]

    @property
    def folder(self) -> str:
        """Where its paths begin."""
        return self.path.rpartition("/")[0]

    def listed(self, name: str, default: Sequence[str] = ()) -> tuple[str, ...]:
        """A setting that is a list of words."""
        value = self.settings.get(name)
        if value is None:
            return tuple(default)
        return tuple(str(v) for v in value) if isinstance(value, list) else tuple(str(value).split())

    def lines(self, name: str) -> list[str]:
        """A setting that is a list of lines."""
        value = self.settings.get(name, [])
        return [str(v) for v in value] if isinstance(value, list) else str(value).strip().splitlines()

    @property
    def test_folders(self) -> list[str]:
        """The folders and files of ``testpaths``, relative to the root of the project."""
        return [f"{self.folder}/{root}".strip("/").removeprefix("./") for root in self.listed("testpaths")]

    @property
    def patterns(self) -> Patterns:
        """The names that are collected."""
        default = Patterns()
        return Patterns(
            self.listed("python_files", default.files),
            self.listed("python_classes", default.classes),
            self.listed("python_functions", default.functions),
        )

    def leaves_out(self, path: str, paths: Sequence[str]) -> str:
        """The setting by which a file is not collected; empty if it is."""
        inside = path.removeprefix(f"{self.folder}/") if self.folder else path
        given = [value for name, value in self.options if not name]
        for name, roots in (("addopts", given), ("testpaths", self.listed("testpaths"))):
            known = [root.removeprefix("./").rstrip("/") for root in roots]
            known = [root for root in known if any(_is_in(p, root) for p in paths)]
            if known and not any(_is_in(inside, root) for root in known):
                return f"`{name} = {' '.join(roots)}`"
            if known:
                break
        skipped = self.listed("norecursedirs", _DEFAULT_NORECURSE)
        for part in inside.split("/")[:-1]:
            if any(fnmatch(part, pattern) for pattern in skipped):
                return f"`norecursedirs = {' '.join(skipped)}`"
        for name, value in self.options:
            is_ignored = name == "--ignore" and _is_in(inside, value)
            if is_ignored or (name == "--ignore-glob" and fnmatch(inside, value)):
                return f"`{name}={value}`"
        return ""

    def deselects(self, test: Test) -> str:
        """The option by which a test of a collected file is left out."""
        inside = test.module.path.removeprefix(f"{self.folder}/") if self.folder else test.module.path
        node_id = "::".join([inside, *test.name.split(".")])
        for name, value in self.options:
            if name == "--deselect" and (node_id == value or node_id.startswith((f"{value}::", f"{value}/"))):
                return f"`--deselect {value}`"
            if name == "-k" and not _holds(value, lambda word: word.lower() in node_id.lower()):
                return f"`-k {value!r}`"
            if name == "-m" and not _holds(value, lambda word: word in _marks_of(test)):
                return f"`-m {value!r}`"
        return ""


def _is_in(path: str, root: str) -> bool:
    root = root.partition("::")[0].removeprefix("./").rstrip("/")
    is_below = root in ("", ".", path) or path.startswith(f"{root}/")
    return is_below or fnmatch(path, f"{root}/*") or fnmatch(path, root)


def _marks_of(test: Test) -> set[str]:
    marks = [d for owner in (*test.owners, test.node) for d in owner.decorator_list]
    value = test.home.scope.bound.get("pytestmark")
    if isinstance(value, ast.expr):
        marks += value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    return {last_name(mark) for mark in marks}


def _holds(expression: str, known: Any) -> bool:
    """Whether an expression of ``-k`` or ``-m`` selects; one that cannot be read selects all."""
    words: dict[str, str] = {}

    def word(match: re.Match[str]) -> str:
        if match[0] in ("and", "or", "not"):
            return match[0]
        return words.setdefault(match[0], f"w{len(words)}")

    try:
        tree = ast.parse(re.sub(r"[^\s()]+", word, expression) or "True", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    names = {short: bool(known(full)) for full, short in words.items()}

    def value(node: ast.AST) -> bool:
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                return all(value(v) for v in values)
            case ast.BoolOp(values=values):
                return any(value(v) for v in values)
            case ast.UnaryOp(operand=operand):
                return not value(operand)
            case ast.Name(id=name):
                return names.get(name, True)
        return True

    return value(tree)


def selections(texts: Mapping[str, str]) -> list[Selection]:
    """The configurations of pytest among the texts, those that go first first."""
    found = []
    for path in texts:
        name = path.rpartition("/")[2]
        settings = _settings(name, texts[path]) if name in _FILES else None
        if settings is not None:
            selection = Selection(path, settings)
            selection.options = _options(settings.get("addopts", ""))
            for option, value in selection.options:
                key, equals, given = value.partition("=")
                if option in ("-o", "--override-ini") and equals:
                    selection.settings[key.strip()] = given
            found.append((path.count("/"), _FILES.index(name), selection))
    return [selection for *_, selection in sorted(found, key=lambda item: (item[0], item[1], item[2].path))]


def selection_of(path: str, known: Sequence[Selection]) -> Selection:
    """The configuration that holds for a file."""
    return next((s for s in known if not s.folder or path.startswith(f"{s.folder}/")), Selection())


def _settings(name: str, text: str) -> dict[str, Any] | None:
    try:
        if name.endswith(".toml"):
            table: Any = tomllib.loads(text)
            if name == "pyproject.toml":
                names = ("tool", "pytest")
                table = {"pytest": {**_table(table, *names), **_table(table, *names, "ini_options")}}
            found = dict(_table(table, "pytest"))
            found.pop("ini_options", None)
            return found or None if name == "pyproject.toml" else found
        parser = ConfigParser(interpolation=None, strict=False, allow_no_value=True)
        parser.read_string(text)
    except (tomllib.TOMLDecodeError, Error, ValueError, RecursionError):
        return None
    section = "tool:pytest" if name == "setup.cfg" else "pytest"
    if parser.has_section(section):
        return {key: value or "" for key, value in parser.items(section)}
    return {} if name in ("pytest.ini", ".pytest.ini") else None


def _table(table: Any, *names: str) -> dict[str, Any]:
    for name in names:
        table = table.get(name, {}) if isinstance(table, dict) else {}
    return table if isinstance(table, dict) else {}


def _options(value: Any) -> list[tuple[str, str]]:
    if isinstance(value, list):
        words = [str(word) for word in value]
    else:
        try:
            words = shlex.split(str(value))
        except ValueError:
            words = str(value).split()
    found: list[tuple[str, str]] = []
    while words:
        word = words.pop(0)
        name, equals, given = word.partition("=")
        if not word.startswith("-"):
            found.append(("", word))
        elif equals and word.startswith("--"):
            found.append((name, given))
        elif word in _VALUED and words:
            found.append((word, words.pop(0)))
        elif word[:2] in _VALUED and not word.startswith("--"):
            found.append((word[:2], word[2:].removeprefix("=")))
        else:
            found.append((word, ""))
    return found


def known_of(texts: Mapping[str, str]) -> list[dict[str, str]]:
    """The entries of failures that are known."""
    return [entry for _, entry in _known_entries(texts.get(SETTINGS, ""))]


def _known_entries(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    for line in text.split("\n"):
        if line.startswith(KNOWN):
            with contextlib.suppress(ValueError, AttributeError, RecursionError):  # it was damaged
                entry = json.loads(line.removeprefix(KNOWN))
                yield line, {str(key): str(value) for key, value in entry.items()}


def known_changes(path: str, before: str, after: str) -> Iterator[tuple[str, TestChange]]:
    """The entries that are new, or name more than one before did: the failures of these tests count no more.

    :returns: the line of each, and the change.
    """
    held = [entry for _, entry in _known_entries(before)]
    for line, entry in dict(_known_entries(after)).items():
        if not any(_covers(one, entry) for one in held):
            name = f"`{entry['test']}`" if "test" in entry else f"the root cause {entry.get('cause', '')}"
            until = f", until {entry['until']}" if "until" in entry else ""
            what = f"{name} was added to the known failures{until}"
            yield line, TestChange(path, "known", "weakened", what, "", excerpt(line.removeprefix(KNOWN)))


def _covers(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether an entry names all that another one does, for as long."""
    is_as_long = "until" not in one or ("until" in other and other["until"] <= one["until"])
    is_part = is_like(other.get("test", ""), one.get("test", ""))  # only a "*" matches a "*"
    return is_as_long and is_part and one.get("cause") == other.get("cause")


def configuration_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[TestChange]:
    """What the configuration does to all tests, whichever it selects."""
    for path in sorted(set(before) | set(after)):
        was, now = before.get(path, ""), after.get(path, "")
        if was != now and _NO_ASSERTS.search(now) and not _NO_ASSERTS.search(was):
            yield difference(path, "not-run", "turns assertions off", was, now, _NO_ASSERTS)
    for _, change in known_changes(SETTINGS, before.get(SETTINGS, ""), after.get(SETTINGS, "")):
        yield change
    old, new = selections(before), selections(after)
    for selection in new:
        if selection_of(selection.path, new) is not selection:
            continue  # pytest reads that of a folder above
        held = selection_of(selection.path, old)
        was, now = before.get(held.path, ""), after[selection.path]
        if (held.path, was) == (selection.path, now):
            continue
        shown = {f"{name} {value}".strip() for name, value in held.options}
        for name, value in selection.options:
            full = f"{name} {value}".strip()
            what = _NOT_RUN.get(full) or _NOT_RUN.get(name)
            if what and full not in shown:
                what = f"`addopts` has `{full}`: pytest {what}"
                yield difference(selection.path, "not-run", what, was, now)
            elif full not in shown and (name in _ELSEWHERE or (name == "-p" and not value.startswith("no:"))):
                yield difference(selection.path, "unclear", f"`addopts` has `{full}`", was, now)
        for name in ("pythonpath", "usefixtures"):
            added = [each for each in selection.listed(name) if each not in held.listed(name)]
            if added:
                what = f"`{name}` has `{added[0]}`"
                yield difference(selection.path, "unclear", what, was, now, re.compile(name))
        yield from _weaker_settings(held, selection, was, now)
    for selection in old:
        if selection_of(selection.path, old) is selection and not selection_of(selection.path, new).path:
            texts = before[selection.path], after.get(selection.path, "")
            yield from _weaker_settings(selection, selection_of(selection.path, new), *texts)


def _weaker_settings(held: Selection, selection: Selection, was: str, now: str) -> Iterator[TestChange]:
    path = selection.path or held.path
    names = {name for name, _ in selection.options}
    for option in ("--doctest-modules", "--doctest-glob", "--runxfail"):
        if option in {name for name, _ in held.options} - names:
            yield difference(path, "not-run", f"`addopts` lost `{option}`", was, now)
    if _is_true(held.settings.get("xfail_strict")) and not _is_true(selection.settings.get("xfail_strict")):
        yield difference(path, "weakened", "`xfail_strict` is off", was, now, re.compile("xfail_strict"))
    old, new = held.lines("filterwarnings"), selection.lines("filterwarnings")
    if any(line.strip().startswith("error") for line in old):
        lost = [line for line in old if line.strip().startswith("error") and line not in new]
        milder = [line for line in new if line.strip().startswith(("ignore", "default", "once"))]
        added = [line for line in milder if line not in old]
        if lost or added:
            what = f"`filterwarnings` {f'lost `{lost[0].strip()}`' if lost else f'has `{added[0].strip()}`'}"
            yield difference(path, "weakened", what, was, now, re.compile("filterwarnings"))
    limits = [_number(dict(s.options).get("--cov-fail-under")) for s in (held, selection)]
    if limits[0] > limits[1]:
        what = f"`--cov-fail-under` fell from {limits[0]:g} to {limits[1]:g}"
        yield difference(path, "weakened", what, was, now)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def _is_true(value: Any) -> bool:
    return str(value).strip().lower() in ("true", "1", "yes", "on")


def difference(
    path: str, kind: Kind, what: str, was: str, now: str, at: re.Pattern[str] | None = None, test: str = ""
) -> TestChange:
    """A change of a whole file, with the lines that differ; its place is the first one that matches."""
    old, new = set(was.splitlines()), set(now.splitlines())
    gone = "\n".join(line for line in was.splitlines() if line not in new)
    added = "\n".join(line for line in now.splitlines() if line not in old)
    lines = now.splitlines()
    new_lines = (n for n, text in enumerate(lines, 1) if text not in old and (at is None or at.search(text)))
    line = next(new_lines, 0)
    return TestChange(path, test, kind, what, excerpt(gone), excerpt(added), line)


def ignored_by_conftest(suite: TestSuite, path: str) -> str:
    """What a conftest leaves a file out by."""
    for conftest in suite.conftests(path):
        folder = conftest.path.rpartition("/")[0]
        inside = path.removeprefix(f"{folder}/") if folder else path
        for name in ("collect_ignore", "collect_ignore_glob"):
            for value in _values(conftest, name):
                if inside == value or _is_in(inside, value) or fnmatch(inside, value):
                    return f"`{name}` of `{conftest.path}`"
    return ""


def _values(module: Module, name: str) -> list[str]:
    """The words of a list that a module binds to a name and then adds to."""
    found = [constant(module.scope.bound.get(name))]
    for node in ast.walk(module.tree) if module.tree and name in module.text else ():
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="append" | "extend"), args=[item]
            ) if owner == name:
                added = constant(item)
                found.append(added if added is ... or isinstance(added, (list, tuple)) else [added])
            case ast.AugAssign(target=ast.Name(id=owner), value=item) if owner == name:
                found.append(constant(item))
    return [str(each) for listed in found if isinstance(listed, (list, tuple)) for each in listed]


# --- which files belong to a suite although their names do not say so: by its configuration, and as plugins

_DEFINED = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", re.MULTILINE)
_PROGRAM = ("src", "lib", ".", "")


def belonging(texts: Mapping[str, str], paths: Collection[str], text_of: Callable[[str], str]) -> set[str]:
    """The files beside the texts.

    :param texts: configuration and conftest files.
    :param paths: all files of the project; ``text_of`` reads one.
    """
    known = selections(texts)
    selection = known[0] if known else Selection()
    found = {*_collected(selection, paths, text_of), *_helpers(selection, paths)}
    plugins = [name for option, name in selection.options if option == "-p" and not name.startswith("no:")]
    waiting = [*plugins, *(name for path in texts for name in _named(path, texts[path]))]
    while waiting:
        path = f"{waiting.pop()}.py"
        if path in paths and path not in found and not is_of_tests(path):
            found.add(path)
            waiting += _named("conftest.py", text_of(path))
    return {path for path in found if not is_of_tests(path)}


def _below(selection: Selection, path: str) -> bool:
    roots = selection.test_folders
    return not roots or any(r in _PROGRAM[2:] or path == r or path.startswith(f"{r}/") for r in roots)


def _collected(selection: Selection, paths: Collection[str], text_of: Callable[[str], str]) -> Iterator[str]:
    """Modules that the configuration makes test modules, and texts with doctests."""
    patterns = selection.patterns
    is_own = patterns.files != Patterns().files
    globs = [value for name, value in selection.options if name == "--doctest-glob"]
    for path in paths if is_own or globs else ():
        name = path.rpartition("/")[2]
        if any(fnmatch(name, glob) for glob in globs):
            yield path
        elif is_own and path.endswith(".py") and any(fnmatch(name, pattern) for pattern in patterns.files):
            wanted = (*patterns.functions, *patterns.classes)
            if _below(selection, path) and any(matches(n, wanted) for n in _DEFINED.findall(text_of(path))):
                yield path


def _helpers(selection: Selection, paths: Collection[str]) -> Iterator[str]:
    """Modules beside tests, in a folder that the configuration names: at least half of what is in it are tests."""
    for folder in selection.test_folders:
        if folder in _PROGRAM:
            continue
        below = [path for path in paths if path.endswith(".py") and path.startswith(f"{folder}/")]
        modules = [path for path in below if not path.endswith("/__init__.py")]
        globs = [f"*/{glob}" for glob in selection.patterns.files]
        tests = [p for p in modules if is_of_tests(p) or any(fnmatch(p, glob) for glob in globs)]
        if 2 * len(tests) >= len(modules) > 0:
            yield from (path for path in below if not is_of_tests(path))


def _named(path: str, text: str) -> Iterator[str]:
    """Modules of the root that a conftest or plugin names as plugins, or imports hooks from.

    A module in a package is code under test, as far as is known: the project may be a plugin itself.
    """
    if not path.endswith("conftest.py") or not ("pytest_" in text or "import *" in text):
        return
    tree = parse(text)
    for node in ast.walk(tree) if isinstance(tree, ast.Module) else ():
        match node:
            case ast.Assign(targets=[ast.Name(id="pytest_plugins")], value=value):
                names = constant(value)
                yield from (str(each) for each in (names if isinstance(names, (list, tuple)) else [names]))
            case ast.ImportFrom(module=str(module), names=names, level=0) if "." not in module:
                if any(alias.name == "*" or alias.name.startswith("pytest_") for alias in names):
                    yield module
