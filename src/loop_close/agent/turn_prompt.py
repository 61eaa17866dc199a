"""What an agent is given for one turn: its task, the next prompt of the tests, and where the loop stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loop_close.text.sanitize import one_line

_LONGEST = 400


def turn_prompt(task: str, tests: str, facts: Sequence[str]) -> str:
    """The text of a turn, as Markdown.

    :param task: what the user wants done, as it was written; empty where the tests say it all.
    :param tests: the next prompt.
    :param facts: of the loop, a line each; nothing of them is an order.
    """
    return "\n".join(_lines(task.strip(), tests.strip(), facts)) + "\n"


def _lines(task: str, tests: str, facts: Sequence[str]) -> Iterator[str]:
    if task:
        yield from (task, "", "---", "")
    if tests:
        yield from (tests, "")
    yield from ("## This loop", "")
    yield from (f"- {one_line(fact, _LONGEST)}" for fact in facts)
