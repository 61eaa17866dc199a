"""Exit strategies by name: ours, and those of conftests and installed packages."""

import sys

import pytest

from loop_close import Standing
from loop_close.cli import UsageError
from loop_close.drive.strategies import strategy_named

THEIRS = """
from loop_close import Decision, ExitStrategy

def decide(standing):
    return Decision(action="stuck", reason=f"turn {standing.iteration} of mine")

def pytest_loop_close_exit_strategies():
    return [ExitStrategy(name="mine", decide=decide)]
"""
NAMES_IT = "# pytest_loop_close_exit_strategies\n"


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)


def installed(folder, name, source, monkeypatch):
    """A package as pip leaves it: a module and its metadata."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[loop_close]\n{name} = {name}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(folder)


def conftest(root, source):
    root.joinpath("conftest.py").write_text(source, encoding="utf-8")
    return root


def test_built_in_one_runs_no_conftest(tmp_path):
    conftest(tmp_path, NAMES_IT + "raise SystemExit('run')")
    assert strategy_named("fix_plan+circuit_breaker", tmp_path).name == "fix_plan+circuit_breaker"


def test_one_of_the_conftest_is_asked(tmp_path):
    strategy = strategy_named("mine", conftest(tmp_path, THEIRS))
    decision = strategy.decide(Standing(iteration=7))
    assert (decision.action, decision.reason, decision.strategy) == ("stuck", "turn 7 of mine", "mine")


def test_one_of_the_conftest_joins_ours(tmp_path):
    strategy = strategy_named("circuit_breaker + mine", conftest(tmp_path, THEIRS))
    opened = Standing(stuck="no progress")
    assert strategy.decide(opened).strategy == "circuit_breaker"
    assert strategy.decide(Standing()).strategy == "mine"


def test_conftest_may_import_what_lies_beside_it(tmp_path):
    tmp_path.joinpath("beside_the_conftest.py").write_text(THEIRS, encoding="utf-8")
    conftest(tmp_path, "from beside_the_conftest import pytest_loop_close_exit_strategies\n")
    assert strategy_named("mine", tmp_path).name == "mine"


def test_one_of_an_installed_package_is_asked(tmp_path, monkeypatch):
    installed(tmp_path / "site", "strategies_of_a_package", THEIRS, monkeypatch)
    assert strategy_named("mine", tmp_path).decide(Standing()).action == "stuck"


def test_what_pytest_loads_none_of_we_load_none_of(tmp_path, monkeypatch):
    installed(tmp_path / "site", "strategies_not_loaded", THEIRS, monkeypatch)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    with pytest.raises(UsageError, match="unknown exit strategy 'mine'"):
        strategy_named("mine", tmp_path)


def test_unknown_name_lists_those_that_there_are(tmp_path):
    with pytest.raises(
        UsageError,
        match=r"unknown exit strategy 'her'; known strategies: auto, circuit_breaker, done_signals, fix_plan, mine$",
    ):
        strategy_named("her", conftest(tmp_path, THEIRS))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (NAMES_IT + "1 / 0", r"known strategies: .*; conftest\.py: ZeroDivisionError: division by zero"),
        (NAMES_IT + "raise SystemExit(3)", r"; conftest\.py: SystemExit"),
        (NAMES_IT + "def (", r"; conftest\.py: SyntaxError"),
        (
            "def pytest_loop_close_exit_strategies(): return [len]",
            r"; conftest\.py: TypeError: pytest_loop_close_exit_strategies returned builtin_function_or_method,"
            r" not loop_close\.ExitStrategy",
        ),
        ("def pytest_loop_close_exit_strategies(): return None", "known strategies: auto, .*, fix_plan$"),
        ("raise SystemExit('not ours to run')", "known strategies: auto, .*, fix_plan$"),
    ],
)
def test_error_of_a_plugin_is_reported_beside_the_unknown_name(tmp_path, source, said):
    with pytest.raises(UsageError, match=said):
        strategy_named("mine", conftest(tmp_path, source))


def test_two_of_one_name_are_refused(tmp_path):
    with pytest.raises(UsageError, match="two exit strategies have the name 'auto'"):
        strategy_named("mine", conftest(tmp_path, THEIRS.replace('"mine"', '"auto"')))
