import doctest

import pytest

from loop_close.capture.exceptions import describe_any

TEXT = '''
def add(a, b):
    """Add.

    >>> add(1, 2)
    3

    And:

    >>> add(1, 1)
    5
    >>> add(2, 2)
    6
    """
    return a + b


def broken():
    """
    >>> broken()
    """
    return {}["x"]


def silent():
    """
    >>> silent()
    1
    """


def wrong():
    """
    >>> no_such_name
    1
    """
'''


class Failures(Exception):  # noqa: N818
    """What pytest raises for ``--doctest-continue-on-failure``."""

    def __init__(self, failures):
        self.failures = failures


Failures.__name__ = "MultipleDoctestFailures"


class Collecting(doctest.DebugRunner):
    def __init__(self):
        super().__init__()
        self.found = []

    def report_failure(self, out, test, example, got):
        self.found.append(doctest.DocTestFailure(test, example, got))

    def report_unexpected_exception(self, out, test, example, exc_info):
        self.found.append(doctest.UnexpectedException(test, example, exc_info))


@pytest.fixture
def examples(written):
    """What the failing examples of a function raise."""

    def examples(function, path="src/sums_doctest.py"):
        module = written.load(path, TEXT)
        (found,) = doctest.DocTestFinder(recurse=False).find(
            getattr(module, function), function, module=module
        )
        runner = Collecting()
        runner.run(found, clear_globs=False)
        return runner.found

    return examples


def test_other_exceptions_are_no_doctests(written):
    assert describe_any(ValueError("x"), written.project).type == "ValueError"
    assert describe_any(Failures([]), written.project).type == "Failures"
    assert describe_any(Failures([ValueError("x")]), written.project).message == str(
        Failures([ValueError("x")])
    )


def test_example_that_gives_something_else(examples, written):
    found = describe_any(examples("add")[0], written.project)
    assert (found.type, found.module) == ("DocTestFailure", "doctest")
    assert found.message == "add(1, 1)\nExpected:\n    5\nGot:\n    2"
    (frame,) = found.frames
    assert (frame.file, frame.line, frame.function) == ("src/sums_doctest.py", 9, "add")
    assert "    >>> add(1, 1)" in frame.source.lines
    assert (found.site.frame, found.site.statement) == (frame, "add(1, 1)")


def test_example_that_raises_in_the_project(examples, written):
    found = describe_any(examples("broken")[0], written.project)
    assert (found.type, found.message) == ("KeyError", "'x'")
    assert [f.function for f in found.frames] == ["broken"]


def test_example_that_raises_by_itself(examples, written):
    found = describe_any(examples("wrong")[0], written.project)
    assert (found.type, found.details) == ("NameError", {"name": "no_such_name"})
    assert [(f.function, f.line) for f in found.frames] == [("wrong", 33)]
    assert found.site.statement == "no_such_name"


def test_several_examples(examples, written):
    found = describe_any(Failures(examples("add")), written.project)
    assert (found.type, [m.message.split("\n")[0] for m in found.members]) == (
        "MultipleDoctestFailures",
        ["add(1, 1)", "add(2, 2)"],
    )
    assert found.site.statement == "add(1, 1)"


def test_doctest_of_another_project(examples, written):
    failure = examples("add")[0]
    failure.test.filename = "/elsewhere/a.py"
    found = describe_any(failure, written.project)
    assert (found.frames, found.site) == ((), None)
    failure.test.filename = None
    assert describe_any(failure, written.project).frames == ()
