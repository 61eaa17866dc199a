"""What is said of loops, run by run: the shapes that loops of agents have."""

import pytest
from histories import did, history, told

MANY = " ".join(f"t{n:02}" for n in range(25))
CASES = {
    "nothing moves": [
        did("-", "a"),
        did("held 1", "a"),
        did("held 2 repeated-failure", "a"),
        did("stuck repeated-failure", "a"),
        did("stuck repeated-failure", "a"),
        did("changed", {"a": "other"}),
    ],
    "fix one, break one": [
        did("-", "a"),
        did("held 1 regression", "b"),
        did("held 2 regression", "c"),
        did("stuck whack-a-mole regression", "d"),
        did("stuck whack-a-mole regression", "e"),
    ],
    "a cycle of three failures": [
        did("-", {"a": "s1"}),
        did("changed", {"a": "s2"}),
        did("changed", {"a": "s3"}),
        did("held 1", {"a": "s1"}),
        did("held 2 oscillation", {"a": "s2"}),
        did("stuck oscillation", {"a": "s3"}),
    ],
    "a failure beside a test that is known to be flaky": [
        did("-", "a f"),
        did("- flaky", "a", edit="none"),
        did("held 1 flaky", "a f"),
        did("held 2 repeated-failure flaky", "a"),
        did("stuck repeated-failure flaky", "a f"),
        did("fewest flaky", "f"),
        did("anew flaky"),
    ],
    "a flaky test alone is no loop": [
        did("-", "f"),
        did("anew flaky", edit="none"),
        did("- flaky", "f"),
        did("- flaky", "f"),
        did("- flaky", "f"),
        did("- flaky", "f"),
    ],
    "the wording changes": [
        did("-", {"a": "s~no route from the north gate to the south gate"}),
        did("held 1", {"a": "s~no route from the north gate to the south dock"}),
        did("held 2 similar-failure", {"a": "s~no route from the north gate to the south hall"}),
        did("stuck similar-failure", {"a": "s~no route from the north gate to the south lane"}),
    ],
    "another failure each time": [
        did("-", {"a": "s0"}),
        *(did("changed", {"a": f"s{n}"}) for n in range(1, 7)),
        did("held 1", {"a": "s7"}),
        did("held 2", {"a": "s8"}),
        did("stuck", {"a": "s9"}),
        did("anew"),
    ],
    "another failure, and something broken": [
        did("-", {"a": "s0"}),
        did("held 1 regression", {"a": "s1", "b": "b"}),
    ],
    "what was broken on the way is repaired": [
        did("-", "b z"),
        did("held 1 regression", "b z x"),
        did("held 2 repeated-failure", "z x"),
        did("fewest", "z"),
    ],
    "a file that cannot be collected hides others": [
        did("-", {"tests/test_a.py": "import"}),
        did("changed", {"tests/test_a.py": "name"}),
        did("fewest", MANY),
        did("fewest", MANY[4:]),
    ],
    "a file can be collected, and something else is broken": [
        did("-", {"tests/test_b.py": "import", "a": "a"}, goes_on=True, absent="tests/test_b.py::b"),
        did("collected", {"a": "a", "c": "c"}),
        did(
            "held 1 regression",
            {"tests/test_b.py": "import", "a": "a"},
            goes_on=True,
            absent="tests/test_b.py::b",
        ),
        did("held 2 oscillation repeated-failure regression", {"a": "a", "c": "c"}),
        did("fewest", {"tests/test_b.py::b": "b"}),
    ],
    "a file that cannot be collected comes and goes": [
        did("-", "a"),
        did("-", {"tests/test_a.py": "syntax"}),
        did("held 1", "a"),
        did("-", {"tests/test_a.py": "syntax"}),
        did("held 2", {"tests/test_a.py": "syntax"}),
        did("stuck repeated-failure", "a"),
    ],
    "-x shows one at a time": [
        did("-", "a", ran="a", incomplete="stopped after 1 failure"),
        did("fewest", "b", ran="a b", incomplete="stopped after 1 failure"),
        did("fewest", "c", ran="a b c", incomplete="stopped after 1 failure"),
        did("anew"),
    ],
    "an edit, a look at another test, then all": [
        did("-", "a b c"),
        did("held 1", "c", ran="c"),
        did("fewest", "b c", edit="none"),
        did("held 1", "c", ran="c"),
        did("-", "b c", edit="none"),
        did("held 2 repeated-failure", "c", ran="c"),
    ],
    "nothing edited": [
        did("-", "a"),
        did("-", "a", edit="none"),
        did("- no-edit", "a", edit="none"),
        did("- no-edit", {"a": "other"}, edit="none"),
    ],
    "comments only": [
        did("-", "a"),
        did("-", "a", edit="ineffective"),
        did("- no-effective-edit", "a", edit="none"),
        did("- no-effective-edit", "a", edit="ineffective"),
    ],
    "edits before a run without failures known to be affected count later": [
        did("-", "a"),
        did("-", killed=True),
        did("held 1", "a", edit="none"),
        did("-", "", ran="x"),
        did("held 2 repeated-failure", "a", edit="none"),
    ],
    "a deleted test is no progress, nor is its return": [
        did("-", "a b c"),
        did("held 1", "b c", absent="a"),
        did("held 2 repeated-failure", "a b c"),
        did("fewest", "c"),
    ],
    "a skipped test": [
        did("-", "a b"),
        did("held 1", "b", skipped="a"),
        did("held 2 repeated-failure", "b", skipped="a"),
        did("fewest", "", skipped="a"),
        did("anew"),
    ],
    "cases whose names are made of values": [
        did("-", "p[0.25]", absent="p[0.75] p[0.5] p[0.1]"),
        did("held 1", "p[0.75]", absent="p[0.25] p[0.5] p[0.1]"),
        did("held 2", "p[0.5]", absent="p[0.25] p[0.75] p[0.1]"),
        did("stuck", "p[0.1]", absent="p[0.25] p[0.75] p[0.5]"),
    ],
    "the network is down": [
        did("-", "a"),
        did("- infrastructure", {"a": "!network", "b": "!network"}),
        did("- infrastructure", {"a": "!network", "b": "!network"}),
        did("- infrastructure", {"a": "!network", "b": "!network"}),
        did("held 1", "a"),
    ],
    "a failure beside one of the infrastructure": [
        did("- infrastructure", {"a": "s", "t": "!network"}),
        did("held 1 infrastructure", {"a": "s", "t": "!network"}),
        did("held 2 repeated-failure", {"a": "s"}),
        did("fewest infrastructure", {"t": "!network"}),
    ],
    "a new loop after all passed": [
        did("-", "a"),
        did("held 1", "a"),
        did("anew"),
        did("-", "a"),
        did("held 1", "a"),
        did("held 2 repeated-failure", "a"),
    ],
    "a new loop after done": [
        did("-", "f"),
        did("anew flaky", "", edit="none"),
        did("anew", "", done=True),
        did("-", "f"),
        did("held 1", "f"),
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_loop(name):
    steps = CASES[name]
    assert told(history(steps)) == [step["expected"] for step in steps]
