"""Records for tests: short to write, and as hypothesis draws them."""

from hypothesis import strategies as st

from loop_close.model import (
    Difference,
    Failure,
    Frame,
    Observation,
    Raised,
    Site,
    SourceLines,
)

SRC = "src/shop/cart.py"
TEST = "tests/test_cart.py"


def frame(file=SRC, function="total", line=10, **fields):
    fields.setdefault("is_test", file.startswith("tests/"))
    return Frame(file=file, function=function, line=line, **fields)


def in_test(function="test_total", line=5, **fields):
    return frame(TEST, function, line, **fields)


def origin(function="total", file=SRC, line=8, **fields):
    fields.setdefault("is_test", file.startswith("tests/"))
    return Frame(file=file, line=line, function=function, **fields)


def source(*lines, start=1):
    return SourceLines(start=start, lines=lines)


def raised(type="ValueError", message="bad", frames=None, **fields):
    if frames is None:
        frames = (in_test(), frame())
    if "site" not in fields and frames:
        fields["site"] = Site(frame=frames[-1], statement="statement()")
    return Raised(type=type, message=message, frames=tuple(frames), **fields)


def verdict(*origins, statement="assert total() == 1", message="assert 0 == 1", test="test_total", **fields):
    """An AssertionError of a test about what the origins gave."""
    at = in_test(test)
    site = Site(frame=at, statement=statement, origins=tuple(origins))
    return raised("AssertionError", message, [at], bases=("Exception", "BaseException"), site=site, **fields)


def failure(exc=None, nodeid=f"{TEST}::test_total", phase="call", message=None, **fields):
    if message is None:
        message = exc.message if exc is not None else "words"
    fields.setdefault("file", nodeid.split("::")[0])
    return Failure(nodeid=nodeid, phase=phase, message=message, raised=exc, **fields)


def observed(*failures, exit_code=1, **fields):
    return Observation(exit_code=exit_code, failures=failures, **fields)


#: Text as a hostile program makes it: markup, controls, surrogates, and ordinary words.
PIECES = [
    *(
        "`",
        "```",
        "~~~",
        "\n",
        "\n\n",
        " ",
        "    ",
        "# h\n",
        "## Other findings\n",
        "- ",
        "> ",
        "1. ",
        "---\n",
        "===\n",
    ),
    *(
        "<!-- ",
        "-->",
        "<b>",
        "&amp;",
        "\\",
        "[a](b)",
        "|",
        "\r",
        "\x00",
        "\x1b[31m",
        "\x1b]8;;http://x\x07",
        "*",
        "_",
    ),
    *(
        "\u202e",
        "\u200b",
        "\U000e0041",
        "\ud800",
        "\x85",
        "\u2028",
        "é",
        "漢字",
        "::error::x",
        "##[group]",
        "'",
        '"',
    ),
    *("$(touch pwned)", "assert 0 == 1", "a.b", "word ", "x" * 90, "0x7f1234567890", "%s", "{}"),
]
hostile = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
any_text = hostile | st.text(st.characters(exclude_categories=()), max_size=9)
lines = st.integers(0, 5000)
columns = st.sampled_from([{}, {"line": "3", "path": "a.py", "text": "x = (", "column": "5"}, {"name": "x"}])

sources = st.just(SourceLines()) | st.builds(
    SourceLines, start=st.integers(1, 99), lines=st.lists(hostile, min_size=1, max_size=5).map(tuple)
)
frames = st.builds(
    Frame,
    file=hostile,
    line=lines,
    function=hostile,
    is_test=st.booleans(),
    is_hidden=st.booleans(),
    is_handing_on=st.booleans(),
    source=sources,
)
origins = st.builds(
    Frame,
    file=hostile,
    line=lines,
    function=hostile,
    is_test=st.booleans(),
    is_empty=st.booleans(),
    source=sources,
)
sites = st.none() | st.builds(
    Site,
    frame=frames,
    statement=hostile,
    values=st.lists(st.tuples(hostile, hostile), max_size=2).map(tuple),
    origins=st.lists(origins, max_size=2).map(tuple),
)


def _raised(children):
    return st.builds(
        Raised,
        type=hostile,
        message=any_text,
        module=hostile,
        bases=st.lists(hostile, max_size=2).map(tuple),
        frames=st.lists(frames, max_size=3).map(tuple),
        details=columns,
        nearest=st.lists(hostile, max_size=2).map(tuple),
        differences=st.lists(
            st.builds(Difference, path=hostile, left=hostile, right=hostile), max_size=2
        ).map(tuple),
        site=sites,
        cause=children,
        context=children,
        members=st.lists(children.filter(lambda c: c is not None), max_size=2).map(tuple),
        omitted_members=st.integers(0, 3),
    )


exceptions = st.recursive(_raised(st.none()), lambda inner: _raised(st.none() | inner), max_leaves=3)
failures = st.builds(
    Failure,
    nodeid=hostile,
    phase=st.sampled_from(["collect", "setup", "call", "teardown", "session"]),
    message=any_text,
    file=hostile,
    line=lines,
    subtest=hostile,
    raised=st.none() | exceptions,
)
