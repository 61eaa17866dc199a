import os
import sys

import pytest

from loop_close.capture import ProjectCode
from loop_close.capture.exceptions import MAX_MEMBERS, describe, message_of
from loop_close.facts import links
from loop_close.text import MAX_MESSAGE


@pytest.fixture
def read(tmp_path):
    """Describe what a call raises, or an exception that was never raised."""
    project = ProjectCode(str(tmp_path))

    def read(exc):
        if isinstance(exc, BaseException):
            return describe(exc, project)
        try:
            exc()
        except BaseException as error:
            return describe(error, project)
        raise LookupError("nothing raised")

    return read


class Outer:
    class InnerError(Exception):
        pass


def unprintable():
    class MuteError(Exception):
        def __str__(self):
            raise RuntimeError("no words")

        __repr__ = __str__

    return MuteError()


@pytest.mark.parametrize(
    ("exc", "type_", "module", "bases"),
    [
        (ValueError("x"), "ValueError", "", ("Exception", "BaseException")),
        (KeyboardInterrupt(), "KeyboardInterrupt", "", ("BaseException",)),
        (Outer.InnerError(), "Outer.InnerError", "test_exceptions", ("Exception", "BaseException")),
        (unprintable(), "unprintable.MuteError", "test_exceptions", ("Exception", "BaseException")),
    ],
)
def test_class(read, exc, type_, module, bases):
    found = read(exc)
    assert (found.type, found.module, found.bases) == (type_, module, bases)
    assert (found.frames, found.site) == ((), None)


class WordsError(Exception):
    def __init__(self, words):
        self.words = words

    def __str__(self):
        return self.words() if callable(self.words) else self.words


def noted(exc, *notes):
    for note in notes:
        exc.add_note(note)
    return exc


def with_notes(notes):
    exc = ValueError("x")
    exc.__notes__ = notes
    return exc


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (ValueError(), ""),
        (ValueError("x", 1), "('x', 1)"),
        (noted(ValueError("x"), "one", "two"), "x\none\ntwo"),
        (with_notes(7), "x"),
        (with_notes([1, None]), "x\n1\nNone"),
        (with_notes([unprintable()]), "x"),
        (unprintable(), "<unprintable MuteError>"),
        (WordsError(sys.exit), "<unprintable WordsError>"),
        (WordsError("\ud800\x00"), "\ud800\x00"),
        (noted(unprintable(), "a note"), "<unprintable MuteError>\na note"),
    ],
)
def test_message(exc, expected):
    assert message_of(exc) == expected


def test_long_message_is_bounded(read):
    found = read(ValueError("a" * 10_000_000))
    assert len(found.message) < MAX_MESSAGE + 100
    assert "9984000 characters left out" in found.message


def missing_file():
    open("/no/such/file")  # noqa: SIM115


def import_from():
    from json import no_such_name  # noqa: F401


class Thing:
    __slots__ = ()

    def __eq__(self, other):
        raise RuntimeError("compared")

    __hash__ = None


@pytest.mark.parametrize(
    ("fail", "expected"),
    [
        (lambda: {}["x"], {}),
        (OSError("x"), {}),
        (lambda: None.x, {"name": "x", "owner": "NoneType"}),
        (lambda: os.x, {"name": "x", "owner": "module os"}),
        (lambda: Thing.x, {"name": "x", "owner": "Thing"}),
        (lambda: no_such_name, {"name": "no_such_name"}),  # noqa: F821
        (import_from, {"name": "no_such_name", "owner": "json"}),
        (
            ImportError("cannot import name 'A' from partially initialized module 'b.c' (most likely …)"),
            {"name": "A", "owner": "b.c"},
        ),
        (ImportError("x", name=Thing()), {}),
        (missing_file, {"path": "/no/such/file"}),
        (OSError(2, "x", b"/a/b"), {"path": "/a/b"}),
        (lambda: os.environ["NO_SUCH"], {"environment": "NO_SUCH"}),
        (
            lambda: compile("x = (\n", "a.py", "exec"),
            {"path": "a.py", "line": "1"},
        ),
        (SyntaxError("bad", ("a.py", 1.5, [], "x = (")), {"path": "a.py"}),
        (SyntaxError("bad", ("a.py", 10**12, 1, "x")), {"path": "a.py"}),
        (SyntaxError("bad", ("a.py", -3, 1, "x")), {"path": "a.py"}),
        (SyntaxError("bad", ("a.py", True, 1, "x")), {"path": "a.py"}),
    ],
)
def test_details(read, fail, expected):
    found = read(fail)
    assert found.details == expected
    assert found.site is None or 0 < found.site.frame.line < 2**31


def test_paths_of_the_project_are_relative(read, tmp_path):
    assert read(ValueError(f"no {tmp_path}/a.txt")).message == "no a.txt"
    (tmp_path / "a.py").write_text("x = (\n", encoding="utf-8")
    path = str(tmp_path / "a.py")
    assert read(OSError(2, "x", path)).details == {"path": "a.py"}
    assert read(lambda: compile("(", path, "exec")).details["path"] == "a.py"


class FixtureLookupError(LookupError):
    def __init__(self, msg=None):
        self.argname = "db"
        self.msg = msg

    def __str__(self):
        return "a list of every fixture there is"


def test_missing_fixture(read):
    found = read(FixtureLookupError())
    assert (found.message, found.details) == ("fixture 'db' not found", {"fixture": "db"})
    assert read(FixtureLookupError("recursive dependency")).message == "recursive dependency"


def raise_from(cause, exc=ValueError):
    try:
        raise exc("later") from cause
    except exc as error:
        return error


def test_chain(read):
    def fail():
        try:
            {}["x"]
        except KeyError:
            raise ValueError("later")  # noqa: B904

    found = read(raise_from(KeyError("x")))
    assert (found.cause.type, found.cause.message, found.context) == ("KeyError", "'x'", None)
    found = read(fail)
    assert (found.cause, found.context.type) == (None, "KeyError")


@pytest.mark.parametrize("attribute", ["__cause__", "__context__"])
def test_circle(read, attribute):
    first, second, third = ValueError("1"), KeyError("2"), TypeError("3")
    setattr(first, attribute, second)
    setattr(second, attribute, third)
    setattr(third, attribute, first)
    assert [link.type for link in links(read(first))] == ["ValueError", "KeyError", "TypeError"]


def test_group(read):
    found = read(ExceptionGroup("two", [ValueError("a"), ExceptionGroup("one", [KeyError("b")])]))
    assert [m.type for m in found.members] == ["ValueError", "ExceptionGroup"]
    assert found.members[1].members[0].message == "'b'"
    assert found.omitted_members == 0
    found = read(ExceptionGroup("many", [ValueError(str(n)) for n in range(100)]))
    assert (len(found.members), found.omitted_members) == (MAX_MEMBERS, 100 - MAX_MEMBERS)


def test_group_of_groups_is_bounded(read):
    def count(raised):
        return 1 + sum(map(count, [*raised.members, *filter(None, [raised.cause, raised.context])]))

    exc = ValueError("x")
    for _ in range(6):
        exc = ExceptionGroup("g", [exc] * 50)
    assert count(read(exc)) <= 200


class MaskedError(Exception):
    """Everything the reader asks of it goes wrong."""

    def __init__(self):
        self.__notes__ = 7

    @property
    def __class__(self):
        raise RuntimeError("asked")

    def __str__(self):
        raise RuntimeError("asked")

    def __bool__(self):
        raise RuntimeError("asked")

    def __eq__(self, other):
        raise RuntimeError("asked")

    __hash__ = None

    def __getattr__(self, name):
        raise RuntimeError("asked")


def test_hostile_exception_is_read_as_far_as_it_goes(read):
    def fail():
        raise MaskedError

    found = read(fail)
    assert (found.type, found.message, found.details) == ("MaskedError", "<unprintable MaskedError>", {})
    error = raise_from(MaskedError())
    assert read(error).cause.type == "MaskedError"


def test_helper_that_fails_the_test_is_not_the_place(written):
    lines = "import pytest\ndef judge(x): return x\n"
    lines += "def helper(x):\n    if x:\n        pytest.fail('no')\ndef test_it():\n    helper(judge(5))\n"
    assert written.fail(lines).site.statement == "helper(judge(5))"


def test_syntax_error_without_a_file_is_placed_where_it_was_compiled(written):
    written.write("src/rule_parser.py", "def parse(text):\n    return eval(text)\n")
    found = written.fail("from rule_parser import parse\ndef test_it():\n    parse('1 +')\n")
    assert (found.site.statement, found.site.frame.file) == ("return eval(text)", "src/rule_parser.py")
