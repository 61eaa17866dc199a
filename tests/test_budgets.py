"""No room of src has more lines than budgets.toml allows, and the budgets shrink with the code."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "budgets.py"
#: How far a budget may be above the lines of its room: so many lines, or this share.
SLACK, SHARE = 20, 0.02


@pytest.fixture(scope="module")
def surveyed():
    spec = importlib.util.spec_from_file_location("budgets", SCRIPT)
    budgets = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(budgets)
    return budgets.survey()


def test_every_room_keeps_its_budget_and_every_file_has_one_room(surveyed):
    rooms, files, sums = surveyed
    budgets = {room["name"]: room["lines"] for room in rooms}
    lines = {name: figures[0] for name, figures in sums.items()}
    assert {file: names for file, names in files.items() if len(names) != 1} == {}
    too_long = {name: (lines[name], most) for name, most in budgets.items() if lines[name] > most}
    assert not too_long, "remove lines, or move them to where there is room"
    too_high = {
        name for name, most in budgets.items() if most > lines[name] + max(SLACK, SHARE * lines[name])
    }
    assert not too_high, "run `python tools/budgets.py --lower`"
