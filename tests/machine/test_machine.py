"""Done is proved: random histories of edits, runs, cheats and settings through the real doors of a real project.

*Done implies that all checks, and the tests as they were at the loop's start, are green on these files when run now.*
*After a green ``loop-close check``, on unchanged files, every door says done at once.*

``LOOP_CLOSE_STATES=1000 pytest -m slow tests/machine`` runs that many states and prints what it counted.
"""

import collections
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from cheats import CHEATS, FAULTY, HOLLOW, MENDED, SETTINGS, damaged
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from oracle import Oracle, is_of_tests
from project import BODIES, DATA, POINTS, PROGRAM, Project, calc, says_done

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("loop_close.cli.check") is None, reason="there is no `loop-close check` yet"
)
STEPS = 12
PYTEST = ("pytest", "--loop-close")
#: Runs of one's own.
COMMANDS = {
    "all": PYTEST,
    "-k": (*PYTEST, "-k", "golden"),
    "path": (*PYTEST, "tests/test_more.py"),
    "-x": (*PYTEST, "-x"),
    "--lf": (*PYTEST, "--lf"),
    "-n": (*PYTEST, "-n", "2"),
    "-p": (*PYTEST, "-p", "no:cacheprovider"),
    "-W": (*PYTEST, "-W", "ignore"),
    "-O": ("python", "-O", "-m", *PYTEST),
    "--co": (*PYTEST, "--co"),
    "--deselect": (*PYTEST, "--deselect", "tests/test_calc.py"),
    "run": (*PROGRAM, "run", "--", "pytest"),
    "run -k": (*PROGRAM, "run", "--", "pytest", "-k", "golden"),
    "run true": (*PROGRAM, "run", "--", "true"),
}
#: Variables of the shell that ``check`` is called from.
VARIABLES = {
    "none": {},
    "addopts": {"PYTEST_ADDOPTS": "-k golden"},
    "optimize": {"PYTHONOPTIMIZE": "1"},
    "warnings": {"PYTHONWARNINGS": "ignore"},
    "plugins": {"PYTEST_PLUGINS": "cheat_plugin"},
    "no plugins": {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    "token": {"LOOP_CLOSE": "/nonexistent"},
    "agent": {"CLAUDECODE": "1"},
}
EDITS = {
    **{f"break {name}": files for name, files in FAULTY.items()},
    "mend": MENDED,
    "data": {"data.json": DATA["other"]},
    "hollow make": HOLLOW,
}
# What no import and no bytecode shows is edited as often as code.
EDIT_NAMES = st.one_of(st.just("break data"), st.sampled_from(sorted(EDITS)))
VARIANTS = st.fixed_dictionaries({name: st.sampled_from(sorted(bodies)) for name, bodies in BODIES.items()})


class Violation(NamedTuple):
    """What must not be, and how it came about."""

    kind: str
    doors: tuple[str, ...]
    truth: str
    log: tuple[str, ...]


class Tally:
    """What all examples of one test found."""

    def __init__(self):
        self.states = 0
        self.done = 0
        self.violations = []
        self.refused = []

    def __str__(self):
        kinds = collections.Counter(violation.kind for violation in self.violations)
        return (
            f"{self.states} states, {self.done} done; false done {kinds['false done']}, "
            f"missed done {kinds['missed done']}; green but refused by check {len(self.refused)}"
        )


class Machine(RuleBasedStateMachine):
    """A history of one project. What goes wrong is recorded, once an example, and does not end it."""

    tally: Tally
    oracle: Oracle
    git = True

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="loop-close-machine-"))
        self.project = None
        self.log = []
        self.is_session = self.are_functions_known = self.has_failed = False
        self.green = None  # the files after the last green check, while nothing else was touched
        self.undone = []

    @initialize(
        in_session=st.booleans(),
        fault=st.sampled_from(("", *sorted(FAULTY))),
        checks=st.sampled_from(("", "two checks", "python -m", "workers", "make")),
        python_path=st.booleans(),
    )
    def begin(self, in_session, fault, checks, python_path):
        """The first contact: a session begins, or a check runs."""
        self.log.append(f"begin {in_session=} {fault=} {checks=} {python_path=} git={self.git}")
        root = self.folder / "it" / "project"
        environment = {"PYTHONPATH": str(root)} if python_path else {}
        self.project = Project(self.folder / "it", git=self.git, **environment)
        if checks:
            self.project.write(SETTINGS[checks])
        if fault:
            self.project.write(FAULTY[fault])
        self.is_session = in_session
        self.baseline = self.project.snapshot()
        if in_session:
            self.project.begin_session()
        else:
            self._check()

    def teardown(self):
        if self.project is not None:
            self.project.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- edits

    def _edit(self, files, check=False):
        self.undone.append(self.project.snapshot())
        self.project.write(files)
        if check:
            self._say("  check")
            self._check()

    def _mend_all(self, is_wanted=True):
        """Make program and tests as they were at the loop's start, and mended, and check: most often done."""
        if is_wanted:
            self._say("mend all")
            self.undone.append(self.project.snapshot())
            self.project.restore({**self.baseline, **{path: text.encode() for path, text in MENDED.items()}})
            self._check()

    @rule(variants=VARIANTS, first=st.booleans(), check=st.booleans())
    def edit_code(self, variants, first, check):
        self._mend_all(first)
        if variants["add"] == "skips" and not self.are_functions_known:
            variants["add"] = "faulty"
        self._say(f"edit {variants}")
        self._edit({"calc.py": calc(**variants)}, check)

    @rule(name=EDIT_NAMES, first=st.booleans(), check=st.booleans())
    def edit(self, name, first, check):
        self._mend_all(first)
        self._say(name)
        self._edit(EDITS[name], check)

    @rule(
        name=st.sampled_from(sorted(CHEATS)),
        fault=st.sampled_from(("", *sorted(FAULTY))),
        first=st.booleans(),
        check=st.booleans(),
    )
    def cheat(self, name, fault, first, check):
        self._mend_all(first)
        self._say(f"cheat {name} {fault=}")
        self._edit({**FAULTY.get(fault, {}), **CHEATS[name](self.project)}, check)

    @rule(name=st.sampled_from(sorted(SETTINGS)), check=st.booleans())
    def change_settings(self, name, check):
        self._say(f"settings {name}")
        self._edit(SETTINGS[name], check)

    @rule()
    def mend_all(self):
        self._mend_all()

    @precondition(lambda self: self.undone)
    @rule()
    def undo(self):
        self._say("undo")
        self.project.restore(self.undone.pop())

    @precondition(lambda self: self.git)
    @rule()
    def commit(self):
        self._say("commit")
        self.project.commit()

    # --- runs

    @rule(names=st.sampled_from(((), (), (), ("tests",))), variables=st.sampled_from(sorted(VARIABLES)))
    def check(self, names, variables):
        self._say(f"check {names} {variables}")
        self._check(*names, **VARIABLES[variables])

    @precondition(lambda self: self.are_functions_known)
    @rule()
    def fast_check(self):
        self._say("FAST=1 check")
        self._check(FAST="1")

    @rule(name=st.sampled_from(sorted(COMMANDS)), variables=st.sampled_from(({}, {}, {"FAST": "1"})))
    def run_command(self, name, variables):
        self._say(f"run {name} {variables}")
        self.project.command(*COMMANDS[name], **variables)

    @rule()
    def merge_of_some(self):
        self._say("merge of -k")
        self.project.pytest("-k", "golden", "--loop-close-json=merged.json")
        self.project.loop_close("merge", "merged.json")

    @rule(
        point=st.sampled_from(POINTS),
        fault=st.sampled_from(sorted(FAULTY)),
        cheat=st.sampled_from(("", "", "deselecting hook", "pytest.ini", "weaker assertion")),
        first=st.booleans(),
        second=st.booleans(),
    )
    def edit_during_check(self, point, fault, cheat, first, second):
        """The edit falls into the run for certain, or into the run of the old tests, if there is one."""
        self._mend_all(first)
        self._say(f"during check at {point}: {fault=} {cheat=} {second=}")
        edits = {**FAULTY[fault], **(CHEATS[cheat](self.project) if cheat else {})}
        if first:  # else there is a green result already
            self._edit({"data.json": DATA["other"]})
        self._after_check(self.project.check_during({point: lambda: self._edit(edits)}, second).exit)

    @rule(fault=st.sampled_from(sorted(FAULTY)), first=st.booleans())
    def edit_and_restore_during_check(self, fault, first):
        """What is wrong before and after the run is right while the tests run."""
        self._mend_all(first)
        if fault == "data" and "outputs" in self.project.text("pyproject.toml"):
            return  # the documented limit of that setting
        self._say(f"right during check: {fault=}")
        self._edit(FAULTY[fault])
        before = self.project.snapshot()
        edits = {"started": MENDED, "finished": lambda: self.project.restore(before)}
        self._after_check(self.project.check_during(edits).exit)

    @rule(
        whom=st.sampled_from(("caller", "tests")),
        point=st.sampled_from(POINTS),
        fault=st.sampled_from(("", "add", "two")),
        again=st.booleans(),
    )
    def kill(self, whom, point, fault, again):
        """Kill the caller, which the check outlives, or the tests; perhaps edit, then perhaps check again at once."""
        self._say(f"kill {whom} at {point}, {fault=} {again=}")
        running = self.project.start_check(hold_up=(point,))
        if running.wait_until_held(point):
            running.kill(whom)
            if fault:
                self._edit(FAULTY[fault])
            running.release()
            if again:
                self._check()
        running.finish()
        running.wait_for_others()

    # --- the loop

    @rule()
    def reset(self):
        self._say("reset")
        self.project.loop_close("reset")
        self.green = None

    @rule(kind=st.sampled_from(("garbage", "empty", "removed", "locked")))
    def damage(self, kind):
        self._say(f"damage {kind}")
        self.green = None
        with damaged(self.project, kind):
            self._look_at_doors()

    @rule()
    def new_session(self):
        self._say("new session")
        self.is_session = True
        self._take_baseline()
        self.project.begin_session(f"session-{len(self.log)}")

    @precondition(lambda self: self.is_session)
    @rule(source=st.sampled_from(("resume", "compact")))
    def resume(self, source):
        self._say(f"session {source}")
        self.project.begin_session(self.project.session, source)

    @rule()
    def accept_as_agent(self):
        self._say("accept by an agent")
        assert self.project.loop_close("accept", "--all", CLAUDECODE="1").exit != 0

    @rule()
    def accept(self):
        self._say("accept")
        if self.project.loop_close("accept", "--all").exit == 0:
            self._take_baseline()
            self.green = None

    # --- what must hold

    @invariant()
    def doors_are_right(self):
        if self.project is None:
            return
        self.tally.states += 1
        self._look_at_doors()

    def _look_at_doors(self):
        files = self.project.snapshot()
        said = self.project.doors()
        if self.green is not None and files != self.green:
            self.green = None
        if self.green is not None:
            silent = [door for door, is_done in said.items() if not is_done]
            self._must(not silent, "missed done", silent)
        said["prompt"] = says_done(self.project.new_prompt())
        if done := [door for door, is_done in said.items() if is_done]:
            self.tally.done += 1
            self._must_be_green(files, done)
            self._move_baseline(files)

    def _check(self, *names, **variables):
        was_green = self.green is not None and self.green == self.project.snapshot()
        code = self.project.check(*names, **variables).exit
        self._must(code == 0 or not was_green, "missed done", [f"check: exit {code}"])
        self._after_check(code, is_plain=not names and not variables)

    def _after_check(self, code, is_plain=False):
        files = self.project.snapshot()
        self.log.append(f"  exit {code}")
        if says_done(self.project.new_prompt()):  # of these files: an edit may follow in the same step
            self._must_be_green(files, ["prompt"])
        self._must(code in (0, 1, 2, 3, 4, 64), "fault", [f"check: exit {code}"])
        if code == 0:
            self._must_be_green(files, ["check"])
            self._must(says_done(self.project.text("nextprompt.md")), "missed done", ["prompt"])
        elif is_plain and not self.oracle.objection(files, self.baseline):
            self.tally.refused.append((code, (*self.log,)))
        if (
            is_plain
            and code in (0, 1)
            and self._has_old_tests(files)
            and "return (" not in self.project.text("calc.py")
        ):
            self.are_functions_known = True
        if code == 0:
            self.green = files
            self._move_baseline(files)

    def _move_baseline(self, files):
        """Outside of a session the last done tree is the baseline."""
        if not self.is_session:
            self.baseline = files

    def _take_baseline(self):
        self.baseline, self.are_functions_known = self.project.snapshot(), False
        self.undone.clear()  # what the tests skipped then would come back

    def _has_old_tests(self, files):
        return {path: data for path, data in files.items() if is_of_tests(path)} == {
            path: data for path, data in self.baseline.items() if is_of_tests(path)
        }

    def _must_be_green(self, files, doors):
        truth = self.oracle.objection(files, self.baseline)
        self._must(not truth, "false done", doors, truth)

    def _must(self, holds, kind, doors, truth=""):
        if not holds and not self.has_failed:
            self.has_failed = True
            self.tally.violations.append(Violation(kind, (*doors,), truth, (*self.log,)))

    def _say(self, what):
        self.log.append(what)


class MachineWithoutGit(Machine):
    """The same where there is no git."""

    git = False


def _explored(machine, states, folder, steps=STEPS):
    machine.tally, machine.oracle = Tally(), Oracle(folder)
    examples = max(1, -(-states // steps))
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
    return machine.tally


def _report(tally):
    return "\n\n".join(
        "\n".join([f"{v.kind} by {', '.join(v.doors)}: {v.truth}", *(f"  {line}" for line in v.log)])
        for v in tally.violations[:5]
    )


@pytest.mark.parametrize("machine", [Machine, MachineWithoutGit])
def test_a_short_history(machine, tmp_path):
    tally = _explored(machine, 5, tmp_path, steps=5)
    assert not tally.violations, f"{tally}\n{_report(tally)}"


@pytest.mark.slow
@pytest.mark.parametrize("machine", [Machine, MachineWithoutGit])
def test_many_histories(machine, tmp_path, capsys):
    tally = _explored(machine, int(os.environ.get("LOOP_CLOSE_STATES", "120")) // 2, tmp_path)
    with capsys.disabled():
        sys.stdout.write(f"\n{machine.__name__}: {tally}\n{_report(tally)}\n")
        for code, log in tally.refused[:10]:
            sys.stdout.write("\n  ".join([f"refused with {code}:", *log, ""]))
    assert not tally.violations, f"{tally}\n{_report(tally)}"
