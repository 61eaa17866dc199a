"""The catalogue of what would tell more: one experiment for each way of being stuck. All of its words are ours."""

from __future__ import annotations

from collections.abc import Mapping

#: By signal, the most telling first. ``{edited}`` are the functions edited last, ``{tests}`` what the signal is about.
EXPERIMENTS: Mapping[str, str] = {
    "no-edit": "Two explanations fit: no edit was made, or the edits go to files that the tests do not import (another "
    'checkout, an installed copy, a build folder). `python -c "import PACKAGE; print(PACKAGE.__file__)"` tells '
    "which file is imported.",
    "no-effective-edit": "Two explanations fit: the edits were meant to change what the program does and do not, or "
    "the place that does is somewhere else. An edit that can change a result changes an expression or a statement; "
    "the diff of the last run shows none.",
    "oscillation": "Two explanations fit: the tests ask for results that contradict each other, or one case is "
    "missing that would tell their inputs apart. Side by side, the inputs and results that {tests} ask for decide: "
    "equal inputs with unequal results are a contradiction, else the difference between the inputs is the case.",
    "whack-a-mole": "Two explanations fit: the failing tests share a part that each edit bends another way, or they "
    "ask for results that contradict each other. The code that all of {tests} run decides: where they first differ "
    "in what they pass to it is where one edit has to serve them all.",
    "repeated-failure": "Two explanations fit: {edited} does not run in the failing test, or it runs and does not make "
    "what is wrong. An exception raised as its first statement decides: when the failure stays as it is, the code "
    "does not run there; when it becomes that exception, it is another statement than the edited ones that counts.",
    "repeated-failure, moved": "The value follows the edits of {edited}, so that code is on its way. Two explanations "
    "fit: the rule that it follows is not the one the test means, or it is right and what it is given is wrong. What "
    "goes into it and what comes out of it in the failing test, printed once, decides: with a wrong input the fault "
    "lies before it.",
    "similar-failure": "Two explanations fit: the wording differs by chance, or each edit moves the place where the "
    "same fault shows. The same code run twice decides: when the words differ between the two, it is chance, and "
    "what is common to them is the failure.",
    "regression": "Two explanations fit: the last edit broke what had been fixed, or both need a case that is missing. "
    "The state before the last edit decides: with it taken back, {tests} pass or they do not.",
}
DEFAULT = (
    "Two explanations fit: {edited} does not make what is wrong, or the test expects something else than it should. "
    "The expected value worked out by hand from the input of the test, before any edit, decides."
)
#: What an edit is called where none is known.
SOMETHING = "the code that was edited"
