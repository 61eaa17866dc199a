import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from records import SRC, failure, failures, frame, in_test, origin, raised, source, verdict

from loop_close.causes.grouping import cause_keys
from loop_close.model import Site, SourceLines

KIND = "test-failure"


def keys(exc, nodeid="tests/test_cart.py::test_total", kind=KIND, **fields):
    return set(cause_keys(kind, failure(exc, nodeid, **fields)))


def share(a, b):
    """Whether the two failures have one cause."""
    return not keys(a).isdisjoint(keys(b))


def at(type="ValueError", message="bad", function="total", file=SRC, line=10, site=None, raises="", **fields):
    """An exception out of a function of the code under test, by a statement of it."""
    inner = frame(file, function, line, source=source(raises, start=line) if raises else SourceLines())
    return raised(type, message, [in_test(), inner], site=site, **fields)


def missing(type="KeyError", message="x", **details):
    return at(type, message, bases=("LookupError",), details=details)


def attribute(owner, name, **fields):
    return at(
        "AttributeError", f"'{owner}' has no '{name}'", details={"owner": owner, "name": name}, **fields
    )


def mismatched(message, *also):
    """A function did not take what a test gave it, in a statement that calls others, too."""
    refusing = frame(SRC, "take", 7)
    site = Site(frame=in_test(), origins=(refusing, *also))
    return raised("TypeError", message, [in_test(), refusing], site=site)


def cycle(*files, owner="a", message=None):
    frames = [in_test(function="<module>"), *(frame(file, "<module>") for file in files)]
    message = message or f"cannot import name 'X' from partially initialized module '{owner}'"
    return raised("ImportError", message, frames, details={"name": "X", "owner": owner})


def in_a_test(test):
    """An exception that the test raised, and was handling when another one came."""
    return raised("ZeroDivisionError", "", [in_test(test)])


PLACES = [origin("a"), origin("b")]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        # the exception alone is not enough
        (at(), at("KeyError")),
        (at(), at(function="other")),
        (at(message="no price"), at(message="no name")),
        (at(raises="raise E(f'no {x}')"), at(raises="raise E('bad')")),
        (at(cause=at("KeyError")), at()),
        (at(cause=at("KeyError")), at(cause=at("IndexError"))),
        (
            at(context=at("KeyError"), raises="raise E(x)"),
            at(context=at("KeyError", file="src/b.py"), raises="raise E(x)"),
        ),
        # verdicts
        (verdict(PLACES[0]), verdict(PLACES[1])),
        (verdict(PLACES[0]), verdict(PLACES[0], PLACES[1])),
        (verdict(statement="assert a"), verdict(statement="assert b")),
        (verdict(PLACES[0]), verdict(PLACES[1], message="assert None == 1")),
        # what is missing
        (missing(environment="A"), missing(environment="B")),
        (missing(fixture="a"), missing(fixture="b")),
        (missing("ImportError", name="a"), missing("ImportError", name="b")),
        (missing("FileNotFoundError", path="a.txt"), missing("PermissionError", path="a.txt")),
        (missing("SyntaxError", path="a.py", line="1"), missing("SyntaxError", path="b.py", line="1")),
        (missing("NameError", name="a"), missing("NameError", name="b")),
        (attribute("Cart", "a"), attribute("Cart", "b")),
        (attribute("Cart", "a"), attribute("Line", "a")),
        (cycle("src/a.py", "src/b.py"), cycle("src/c.py", "src/d.py", owner="c")),
        # helpers that judge their arguments
        (
            at(site=Site(frame=in_test(), statement="check(a)")),
            at(site=Site(frame=in_test(), statement="check(b)")),
        ),
        # groups
        (raised("ExceptionGroup", members=(at(),)), raised("ExceptionGroup", members=(at("KeyError"),))),
        (raised("ExceptionGroup", members=(at(),)), raised("ExceptionGroup", members=(at(), at("KeyError")))),
        # recursion
        (at("RecursionError"), at("RecursionError", function="other")),
        # a source that a test parses is not a file
        (
            raised("SyntaxError", "a", [in_test("test_a")], details={"path": "<unknown>", "line": "1"}),
            raised("SyntaxError", "a", [in_test("test_b")], details={"path": "<unknown>", "line": "1"}),
        ),
        # words about a circle in what a test compares
        (
            verdict(PLACES[0], message="partially initialized module"),
            verdict(PLACES[1], message="partially initialized module"),
        ),
    ],
)
def test_apart(a, b):
    assert not share(a, b)
    assert not share(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (at(), at(line=99)),
        (at(message="no price for 'tea'"), at(message="no price for 'milk'")),
        (at(message="<Cart object at 0x7f12345678>"), at(message="<Cart object at 0x7f87654321>")),
        (at(message="no tea", raises="raise E(x)"), at(message="no milk at all", raises="raise E(x)")),
        (
            at(cause=at("KeyError", "a"), raises="raise E(x)"),
            at(context=at("KeyError", "b"), raises="raise E(x)"),
        ),
        # an accident while one or another exception was handled
        (at(context=at("KeyError")), at(context=at("IndexError"))),
        # a function that did not take the arguments, whoever gave them, and whatever else is wrong there
        (mismatched("unexpected keyword argument 'a'"), mismatched("missing 'b'", PLACES[1])),
        # verdicts on one function: other tests, other statements, other words
        (
            verdict(PLACES[0], statement="assert a", test="test_a", message="assert 1 == 2"),
            verdict(PLACES[0], statement="assert b", test="test_b", message="x is not y"),
        ),
        (verdict(PLACES[0], PLACES[1]), verdict(PLACES[1], PLACES[0])),
        (
            verdict(statement="assert a", message="assert 1"),
            verdict(statement="assert a", message="assert 2"),
        ),
        # an accident in the test, over the same function
        (
            raised("TypeError", "a", [in_test()], site=Site(frame=in_test(), origins=(PLACES[0],))),
            raised(
                "TypeError",
                "b",
                [in_test("test_b")],
                site=Site(frame=in_test("test_b"), origins=(PLACES[0],)),
            ),
        ),
        # None where something else was expected, told by three exceptions
        (
            verdict(PLACES[0], message="assert None == 1"),
            at(
                "TypeError", "'NoneType' is not subscriptable", site=Site(frame=frame(), origins=(PLACES[0],))
            ),
        ),
        (
            attribute("NoneType", "a", site=Site(frame=frame(), origins=(PLACES[0],))),
            attribute("NoneType", "b", function="f", site=Site(frame=frame(), origins=(PLACES[0],))),
        ),
        # what is missing, wherever it is missed
        (missing(environment="A"), at("KeyError", function="f", details={"environment": "A"})),
        (missing(fixture="a"), at("Other", function="f", details={"fixture": "a"})),
        (
            missing("ImportError", name="a"),
            at("ImportError", function="f", file="src/b.py", details={"name": "a"}),
        ),
        (missing("SyntaxError", path="a.py", line="1"), missing("SyntaxError", path="a.py", line="9")),
        (attribute("Cart", "a"), attribute("Cart", "a", function="f", file="src/b.py")),
        (
            at("NameError", "name 'a' is not defined", details={"name": "a"}),
            at("NameError", "name 'a' is not defined", function="f", details={"name": "a"}),
        ),
        # a circle, by whichever module it was entered
        (cycle("src/entry.py", "src/a.py", "src/b.py"), cycle("src/a.py", "src/b.py")),
        (
            cycle("src/entry.py", "src/crm/__init__.py", "src/crm/b.py", owner="crm"),
            cycle("src/crm/b.py", "src/crm/__init__.py", owner="crm.b"),
        ),
        # what Hypothesis notes below the words
        (at(message="no good"), at(message="no good\nFailing test case: test_a(\n    x=[(1, 'a b')],\n)")),
        # what the tests had raised themselves
        (at(context=in_a_test("test_a")), at(context=in_a_test("test_b"))),
        (at(context=in_a_test("test_a")), at()),
        # recursion that stopped at another depth
        (
            raised("RecursionError", "", [frame(function=f) for f in "ababab"]),
            raised("RecursionError", "", [frame(function=f) for f in "bababa"]),
        ),
        # groups with the same leaves
        (
            raised("ExceptionGroup", members=(at(message="a"), at("KeyError"))),
            raised("ExceptionGroup", members=(at("KeyError"), at(message="b", line=77))),
        ),
    ],
)
def test_together(a, b):
    assert share(a, b)
    assert share(b, a)


def test_kinds_never_share():
    assert keys(at(), kind="timeout").isdisjoint(keys(at()))
    assert keys(missing(environment="A"), kind="x").isdisjoint(keys(missing(environment="A")))
    assert keys(None, kind="x").isdisjoint(keys(None))


def test_the_test_is_no_part_of_it():
    assert keys(at(), "tests/a.py::test_a") == keys(at(), "tests/b.py::test_b")
    assert keys(at(), phase="setup") == keys(at(), phase="teardown")


def test_cases_of_one_test_stand_together_where_the_words_tell_nothing():
    a, b = at(message="tea is bad"), at(message="milk was good")
    assert not share(a, b)
    assert not keys(a, "t.py::test_x[1]").isdisjoint(keys(b, "t.py::test_x[2]"))
    assert keys(a, "t.py::test_x[1]").isdisjoint(keys(b, "t.py::test_y[1]"))
    assert keys(a, "t.py::test_x[1]").isdisjoint(keys(at("KeyError"), "t.py::test_x[2]"))


def test_words_without_an_exception():
    a = failure(None, "t.py::test_x[1]", message="took 5 s")
    b = failure(None, "t.py::test_x[2]", message="took 7 s")
    other = failure(None, "t.py::test_y", message="took 7 s")
    assert cause_keys(KIND, a) == cause_keys(KIND, b) != cause_keys(KIND, other)


def test_circle_of_which_no_file_is_known():
    a = cycle(owner="a")
    b = cycle(owner="b")
    assert not share(a, b)


def moved(value):
    """The failure after lines were added above everything."""
    exc = value.raised
    if exc is None:
        return value
    frames = tuple(replace(f, line=f.line + 7) for f in exc.frames)
    site = exc.site and replace(
        exc.site,
        frame=replace(exc.site.frame, line=exc.site.frame.line + 7),
        origins=tuple(replace(o, line=o.line + 7) for o in exc.site.origins),
    )
    if exc.site is not None and exc.site.frame in exc.frames:
        site = replace(site, frame=frames[exc.frames.index(exc.site.frame)])
    details = {**exc.details, **({"line": "99"} if "line" in exc.details else {})}
    return replace(value, raised=replace(exc, frames=frames, site=site, details=details), line=value.line + 7)


@settings(max_examples=60)
@given(failures)
def test_any_failure_has_keys(found):
    made = cause_keys(KIND, found)
    assert made
    assert all(key[0] == KIND and all(type(part) is str for part in key) for key in made)
    assert made == cause_keys(KIND, found)
    assert made == cause_keys(KIND, moved(found))
