"""A study of readers: who names the faulty function, from which text? ``python -m benchmarks.study``.

``make`` writes a copy of this project under other names, which no reader can have seen. It puts hidden faults into the
copy, one at a time, and runs its tests twice. The sheets of ``prompt`` hold the next prompt of loop-close, those of
``plain`` what ``pytest -q --tb=short`` prints. A reader gets the sheets of one of them, and nothing else. ``score``
compares the answers with ``key.json``; ``sheets`` writes the sheets anew.

``tasks`` writes a folder for each fault, for agents that may edit and run. ``check`` says which of their fixes hold.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.localize.choose import tried
from benchmarks.localize.faults import Mutation, put
from benchmarks.localize.mutate import EASY, KINDS, mutations
from benchmarks.localize.projects import Project
from benchmarks.localize.run import run
from benchmarks.localize.trial import Choice, Trial, say, witnessed
from benchmarks.tokenizer import count_tokens

_REPOSITORY = Path(__file__).parents[1]
_PACKAGE = "fieldbook"
#: Words of the project, and the words in their place, in names, texts, and paths.
_WORDS = {
    "suspect": "quarry",
    "evidence": "exhibit",
    "progress": "headway",
    "detector": "sniffer",
    "breaker": "fuse",
    "verdict": "ruling",
    "observation": "sighting",
    "baseline": "waterline",
    "candidate": "nominee",
    "clue": "trace mark",
    "spectrum": "rainbow",
    "similarity": "likeness",
    "supervisor": "warden",
    "stall": "doldrum",
    "grouping": "bundling",
    "fence": "hedge",
    "milestone": "cairn",
}
#: The folders of tests that are run: those of one process, and quick.
_TESTS = ("causes", "detectors", "loop", "syntax")
_LEFT_OUT = ("corpus", "__pycache__", ".git", ".venv", "build", "dist")
_KEPT_BACK = 4  # of the failing tests of a task, each fourth is kept back
SHEETS = ("prompt", "plain")

READING = """\
# What to do

Each file in this folder is what one run of a project's tests left behind. One function of the project was made wrong,
by one small change within one line. You see nothing else of the project. Do not open other files or the network.

For each file, name the function that was changed, and the line. Write `answers.json`:

    {"01": {"function": "name", "file": "path", "line": 0, "sure": 0.0, "unclear": "words that you did not understand"}}

`sure` is your probability that the function is right, from 0 to 1. Leave `function` empty if you cannot say.
"""
FIXING = """\
# What to do

In each folder here, one function of the project was made wrong by one small change within one line. Find it and mend
it. Run the tests only by `./check`, with or without names of tests; read its output, edit code below `src`, and run
again. Do not change tests. Stop when the tests pass, or when you give up.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and do what it says."""
    options = _parser().parse_args(arguments)
    if options.command == "make":
        make(options.folder, options.number, options.seed)
    elif options.command == "sheets":
        sheets(options.folder)
    elif options.command == "score":
        print(score(options.folder, options.answers))
    elif options.command == "tasks":
        tasks(options.folder, options.out, options.tool, options.only)
    else:
        print(check(options.folder, options.out))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("make", "sheets", "score", "tasks", "check"):
        commands.add_parser(name).add_argument("folder", type=Path, help="what `make` writes")
    commands.choices["make"].add_argument("--number", type=int, default=40, help="of faults")
    commands.choices["make"].add_argument("--seed", type=int, default=1)
    commands.choices["score"].add_argument("answers", type=Path, nargs="+", help="answers.json of readers")
    for name in ("tasks", "check"):
        commands.choices[name].add_argument("out", type=Path, help="the folder of the tasks")
    commands.choices["tasks"].add_argument("--tool", choices=SHEETS, required=True)
    commands.choices["tasks"].add_argument("--only", nargs="*", default=[], help="numbers of faults")
    return parser


# --- the copy under other names


def _pairs() -> Iterator[tuple[str, str]]:
    yield "loop_close", _PACKAGE
    yield "loop-close", _PACKAGE
    yield "LOOP_CLOSE", _PACKAGE.upper()
    for word, other in _WORDS.items():
        for each, instead in ((word, other), (f"{word}s", f"{other}s")):
            joined = instead.replace(" ", "_")
            yield each, joined
            yield each.upper(), joined.upper()
            yield each.capitalize(), "".join(part.capitalize() for part in instead.split())


_RENAMED = dict(_pairs())
# A word ends where another begins: at an underscore, a capital, a digit.
_WORD = re.compile(
    r"(?<![A-Za-z])(?:"
    + "|".join(sorted((w for w in _RENAMED if w[0].islower()), key=len, reverse=True))
    + r")(?![a-z])|(?<![A-Z])(?:"
    + "|".join(sorted((w for w in _RENAMED if w[0].isupper()), key=len, reverse=True))
    + r")(?![a-z])"
)


def renamed(text: str) -> str:
    """A text of the project, or a path, with the other names."""
    return _WORD.sub(lambda found: _RENAMED[found[0]], text)


def copy(root: Path) -> None:
    """Write the project under other names: its package, its tests, and pytest's configuration."""
    for part in ("src", "tests"):
        for path in sorted((_REPOSITORY / part).rglob("*")):
            inside = path.relative_to(_REPOSITORY)
            if not path.is_file() or not {*_LEFT_OUT}.isdisjoint(inside.parts):
                continue
            if part == "tests" and len(inside.parts) > 2 and inside.parts[1] not in _TESTS:
                continue
            to = root / renamed(str(inside))
            to.parent.mkdir(parents=True, exist_ok=True)
            try:
                to.write_text(renamed(path.read_text(encoding="utf-8")), encoding="utf-8", newline="")
            except UnicodeDecodeError:
                shutil.copyfile(path, to)
    settings = '[tool.pytest.ini_options]\npythonpath = ["src", "tests"]\ntestpaths = ["tests"]\n'
    markers = 'markers = ["slow: takes long", "page: needs a browser", "large: has a large input"]\n'
    (root / "pyproject.toml").write_text(settings + markers, encoding="utf-8")


def _project(deselect: Sequence[str] = ()) -> Project:
    return Project(
        name=_PACKAGE,
        version="1",
        sha256="",
        sources=f"src/{_PACKAGE}",
        tests=(*(f"tests/{renamed(name)}" for name in _TESTS), "-m", "not slow", "-p", "hypothesispytest"),
        path="src",
        deselect=tuple(deselect),
    )


def _green(root: Path) -> Project:
    """The project without tests that its other names make fail, such as those of the order of words."""
    project = _project()
    for _ in range(3):
        _, found = witnessed(project, root, sys.executable, 900.0, {})
        if not found["failed"]:
            return project
        say(f"{len(found['failed'])} tests fail under other names: left out")
        project = _project([*project.deselect, *found["failed"]])
    raise RuntimeError("other tests fail in each run")


# --- faults and sheets


def make(folder: Path, number: int, seed: int) -> None:
    """Write the copy, choose hidden faults in it, and write the sheets."""
    folder.mkdir(parents=True)
    root = folder / "project"
    copy(root)
    project = _green(root)
    choice = Choice(cache=folder, seed=seed)
    trial = Trial(project, root, choice)
    trial.start()
    random = Random(f"{seed} study")
    queues: dict[str, list[Any]] = {kind: [] for kind in KINDS if kind not in EASY}
    for file in filter(project.is_source, sorted(trial.lines)):
        reached = set(trial.lines[file]) - set(trial.at_import.get(file, ()))
        for fault in mutations((root / file).read_text("utf-8"), project=_PACKAGE, file=file, random=random):
            if fault.kind in queues and fault.line in reached:
                queues[fault.kind].append(fault)
    for queue in queues.values():
        random.shuffle(queue)
    (folder / "deselect.json").write_text(json.dumps(project.deselect), encoding="utf-8")
    key: dict[str, Any] = {}
    for fault in tried(trial.judged, queues, number, {}, is_hidden=True):
        key[f"{len(key) + 1:02}"] = asdict(fault)
        _write_key(folder, key)
    sheets(folder)


def _read_key(folder: Path) -> dict[str, Any]:
    key: dict[str, Any] = json.loads((folder / "key.json").read_text(encoding="utf-8"))
    return key


def _write_key(folder: Path, key: Mapping[str, Any]) -> None:
    (folder / "key.json").write_text(json.dumps(key, indent=1), encoding="utf-8")


def _fault(fields: Mapping[str, Any]) -> Mutation:
    return Mutation(**{name: value for name, value in fields.items() if name != "tokens"})


def _known(folder: Path) -> Project:
    """The project without the tests that its other names make fail."""
    return _project(json.loads((folder / "deselect.json").read_text(encoding="utf-8")))


def sheets(folder: Path) -> None:
    """Run the tests with each fault once for each sheet, and note the tokens of each."""
    key = _read_key(folder)
    for name in SHEETS:
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "README.md").write_text(READING, encoding="utf-8")
    for name, fields in key.items():
        fields["tokens"] = _sheets(folder, _known(folder), folder / "project", _fault(fields), name)
        _write_key(folder, key)


def _sheets(folder: Path, project: Project, root: Path, fault: Mutation, name: str) -> dict[str, int]:
    with put(fault, root), tempfile.TemporaryDirectory() as out:
        prompt = Path(out, "nextprompt.md")
        arguments = ["-p", "loop_close", "--loop-close", "--loop-close-history=off"]
        words = [*arguments, f"--loop-close-file={prompt}", f"--loop-close-json={out}/report.json"]
        common = {"timeout": 900.0, "python": sys.executable, "more": {}}
        run(project, root, words, by_environment=True, **common)
        texts = {
            "prompt": prompt.read_text(encoding="utf-8"),
            "plain": run(project, root, ["--tb=short"], **common).output,
        }
    for sheet, text in texts.items():
        (folder / sheet / f"{name}.md").write_text(text, encoding="utf-8")
    return {sheet: count_tokens(text) for sheet, text in texts.items()}


# --- answers


def score(folder: Path, answers: Iterable[Path]) -> str:
    """A table: for each reader how many functions and lines were named, and how sure it was."""
    key = _read_key(folder)
    rows = ["| reader | sheets | function | line ±3 | tokens | sure, right | sure, wrong |"]
    rows.append("|---|---|---|---|---|---|---|")
    for path in answers:
        found = json.loads(path.read_text(encoding="utf-8"))
        sheet = next((name for name in SHEETS if name in path.parts or name in path.stem), SHEETS[0])
        rights = {name: is_right(key[name], given) for name, given in found.items() if name in key}
        lines = sum(_is_near(key[name], found[name]) for name in rights)
        tokens = sum(key[name]["tokens"][sheet] for name in rights)
        sure = [
            _mean(found[n].get("sure", 0) for n, right in rights.items() if right is each)
            for each in (True, False)
        ]
        row = (path.stem, sheet, f"{sum(rights.values())} of {len(rights)}", lines, f"{tokens:,}", *sure)
        rows.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(rows)


def is_right(fault: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Whether an answer names the function, with or without its class, in its file, if one is given."""
    name = str(given.get("function", "")).strip("`() ").rpartition(".")[2]
    file = str(given.get("file", ""))
    is_same_file = not file or fault["file"].endswith(file) or file.endswith(fault["file"])
    return bool(name) and is_same_file and name in fault["function"].split(".")


def _is_near(fault: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    is_number = str(given.get("line", "")).isdecimal()
    return is_right(fault, given) and is_number and abs(int(given["line"]) - fault["line"]) <= 3


def _mean(numbers: Iterable[float]) -> str:
    found = list(numbers)
    return f"{sum(found) / len(found):.2f}" if found else "-"


# --- tasks for agents that may edit and run

_CHECK = """\
#!/bin/sh
# Runs the tests; what it prints is counted.
cd "$(dirname "$0")/project" || exit 2
test $# -gt 0 || set -- {tests}
env PYTHONDONTWRITEBYTECODE=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 \\
  {python} -m pytest -q -o addopts= -m 'not slow' -p hypothesispytest {deselect} {more} "$@" > ../.last 2>&1
code=$?
{show}
date +%s >> ../.times
cat ../.shown >> ../.read
cat ../.shown
exit $code
"""


def tasks(folder: Path, out: Path, tool: str, only: Sequence[str]) -> None:
    """Write a folder for each fault: the faulty project, without the tests that are kept back, and ``check``."""
    key, project = _read_key(folder), _known(folder)
    out.mkdir(parents=True)
    (out / "README.md").write_text(FIXING, encoding="utf-8")
    for name, fields in key.items():
        if only and name not in only:
            continue
        task = out / name
        shutil.copytree(folder / "project", task / "project")
        fault = _fault(fields)
        path = task / "project" / fault.file
        path.write_text(fault.apply(path.read_text("utf-8")), encoding="utf-8")
        failing = _failing(project, task / "project")
        back = failing[::_KEPT_BACK] if len(failing) >= _KEPT_BACK else []
        (folder / f"back-{name}.json").write_text(json.dumps(back), encoding="utf-8")
        git = ["git", "-c", "user.name=study", "-c", "user.email=study@invalid", "-C", str(task / "project")]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "project"]):
            subprocess.run([*git, *words], check=True)
        _write_check(task, tool, [*project.deselect, *back])


def _failing(project: Project, root: Path) -> list[str]:
    return list(witnessed(project, root, sys.executable, 900.0, {})[1]["failed"])


def _write_check(task: Path, tool: str, deselect: Iterable[str]) -> None:
    more = "--tb=short"
    show = "cp ../.last ../.shown"
    if tool == "prompt":
        more = "--tb=no -p loop_close --loop-close"
        show = (
            "if [ $code -eq 1 ] && [ -f nextprompt.md ]; then cp nextprompt.md ../.shown;"
            " else tail -5 ../.last > ../.shown; fi"
        )
    text = _CHECK.format(
        tests=" ".join(f"tests/{renamed(name)}" for name in _TESTS),
        python=sys.executable,
        deselect=" ".join(f"--deselect='{one}'" for one in deselect),
        more=more,
        show=show,
    )
    (task / "check").write_text(text, encoding="utf-8")
    (task / "check").chmod(0o755)


def check(folder: Path, out: Path) -> str:
    """A table: which fixes hold against all tests of the project, whose tests were changed, how often tests ran."""
    rows = ["| task | holds | tests changed | runs | tokens read |", "|---|---|---|---|---|"]
    total: Counter[str] = Counter()
    for task in sorted(path for path in out.iterdir() if (path / "check").exists()):
        root = task / "project"
        changed = subprocess.run(
            ["git", "-C", str(root), "status", "--porcelain", "tests"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        shutil.rmtree(root / "tests")
        shutil.copytree(folder / "project" / "tests", root / "tests")
        holds = not _failing(_known(folder), root)
        times, read = task / ".times", task / ".read"
        runs = len(times.read_text().split()) if times.exists() else 0
        tokens = count_tokens(read.read_text(encoding="utf-8", errors="replace")) if read.exists() else 0
        total.update({"holds": holds, "changed": bool(changed), "runs": runs, "tokens": tokens})
        rows.append(f"| {task.name} | {holds} | {len(changed.splitlines())} | {runs} | {tokens:,} |")
    rows.append(f"| all | {total['holds']} | {total['changed']} | {total['runs']} | {total['tokens']:,} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
