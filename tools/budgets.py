"""Prints what each room of src has: lines, branches, functions; ``--lower`` writes today's lines to budgets.toml."""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "loop_close"
FILE = ROOT / "budgets.toml"
#: What counts as a branch each; a boolean expression has one for each operand after the first.
_BRANCHES = (
    *(ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.ExceptHandler),
    *(ast.comprehension, ast.match_case),
)


def rooms_of(file: str, rooms: list[dict]) -> list[str]:
    """The names of the rooms that have a file, one for each path that names it: the file, else the nearest folder."""
    for path in (file, *map(str, Path(file).parents)):
        if found := [room["name"] for room in rooms for each in room["paths"] if each == path]:
            return found
    return []


def measured(text: str) -> tuple[int, int, int]:
    """How many lines, branches and functions a source has."""
    nodes = [*ast.walk(ast.parse(text))]
    branches = sum(isinstance(node, _BRANCHES) for node in nodes)
    branches += sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    functions = sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes)
    return len(text.splitlines()), branches, functions


def survey() -> tuple[list[dict], dict[str, list[str]], dict[str, list[int]]]:
    """The rooms of budgets.toml; the rooms of each file; lines, branches and functions of each room."""
    rooms = tomllib.loads(FILE.read_text(encoding="utf-8"))["room"]
    found = {}
    sums = {room["name"]: [0, 0, 0] for room in rooms}
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        found[file] = rooms_of(file, rooms)
        for name in found[file]:
            figures = measured(path.read_text(encoding="utf-8"))
            sums[name] = [one + other for one, other in zip(sums[name], figures, strict=True)]
    return rooms, found, sums


def lowered(text: str, lines: list[int]) -> str:
    """The text of budgets.toml, each room's budget lowered to its lines where it has fewer."""
    left = iter(lines)
    return re.sub(r"(?m)^lines = (\d+)$", lambda found: f"lines = {min(int(found[1]), next(left))}", text)


def main() -> None:
    """Print the table, the total last; with ``--lower`` lower the budgets first."""
    if "--lower" in sys.argv[1:]:
        today = [figures[0] for figures in survey()[2].values()]
        FILE.write_text(lowered(FILE.read_text(encoding="utf-8"), today), encoding="utf-8")
    rooms, _, sums = survey()
    rows = [(name, room["lines"], *sums[name]) for room in rooms for name in (room["name"],)]
    total = ("all", *(sum(column) for column in list(zip(*rows, strict=True))[1:]))
    print(f"{'room':32}{'budget':>8}{'lines':>8}{'branches':>10}{'functions':>11}")
    for name, budget, lines, branches, functions in (*rows, total):
        print(f"{name:32}{budget:8,}{lines:8,}{branches:10,}{functions:11,}")


if __name__ == "__main__":
    main()
