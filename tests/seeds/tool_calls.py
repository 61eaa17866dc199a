"""Results of tools, short to write, and what a supervisor answers to them."""

import re

from loop_close.seeds.supervisor import Supervisor, ToolResult

STALLED = {"ai.nimblebrain/non-advancing": True}
ADVANCED = {"dev.loop-close/non-advancing": False}
MACHINE = {"ai.nimblebrain/infra-error": True}
REPEATED, STUCK = "repeated 3", "non-advancing 3"


def ok(content, tool="t", **fields):
    return ToolResult(tool=tool, content=content, **fields)


def error(content, tool="t", **fields):
    return ToolResult(tool=tool, content=content, is_error=True, **fields)


def miss(query, tool="t", **fields):
    return ToolResult(
        tool=tool, input={"query": query}, content=f"nothing for {query}", meta=STALLED, **fields
    )


def misses(number, first=0):
    """As many other questions without an answer."""
    return [miss(f"q{n}") for n in range(first, first + number)]


def told(results, **options):
    """Of each result what the supervisor answers: ``.`` for nothing, else kind and count."""
    supervisor = Supervisor(**options)
    return [kind_of(supervisor.observe(result)) for result in results]


def kind_of(trip):
    found = re.search(r" made no progress (\d+) times in a row: (each result was marked)?", trip)
    return f"{'non-advancing' if found[2] else 'repeated'} {found[1]}" if found else "."
