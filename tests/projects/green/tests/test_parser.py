import logging
import sys

import pytest
from logbook.errors import LogbookError, ParseError, describe
from logbook.parser import Memory, Source, errors, parse

TEXT = """\
INFO started
ERROR AssertionError: assert 1 == 2
FATAL Segmentation fault (core dumped)
WARNING 3 failed, 2 errors in 0.12s
"""


def test_parse():
    assert parse("INFO started") == ("INFO", "started")


def test_errors():
    assert errors(Memory(TEXT)) == ["AssertionError: assert 1 == 2", "Segmentation fault (core dumped)"]


def test_exception_ok():
    with pytest.raises(ParseError, match="cannot parse"):
        parse("Traceback (most recent call last):")


def test_failed_import():
    with pytest.raises(ModuleNotFoundError, match="No module named 'logbook_cloud'"):
        import logbook_cloud  # noqa: F401


def test_not_implemented_error():
    with pytest.raises(NotImplementedError):
        Source.lines(Memory(""))


def test_error_is_printed(capsys):
    print("E       AssertionError: assert False", file=sys.stderr)
    print("FAILED tests/test_parser.py::test_error_is_printed - TypeError")
    assert "AssertionError" in capsys.readouterr().err


def test_noise():
    print("FAILED tests/test_other.py::test_nothing - SyntaxError: invalid syntax")
    print("Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'x'", file=sys.stderr)
    logging.getLogger("logbook").error("error: 2 tests failed")
    logging.getLogger("logbook").exception("no exception at all")


@pytest.mark.parametrize("message", ["error", "FAILED", "Timeout >1.0s", "TODO", "# heading", "```"])
def test_messages(message):
    assert parse(f"ERROR {message}") == ("ERROR", message)


def test_describe():
    assert describe(LogbookError("failed")) == "LogbookError: failed"


@pytest.mark.skip(reason="ImportError: no module named logbook_cloud")
def test_cloud():
    raise AssertionError


@pytest.mark.skipif(sys.version_info >= (3, 0), reason="ERROR: fails on Python 3")
def test_old():
    raise NotImplementedError


def test_skipped_when_missing():
    pytest.importorskip("logbook_cloud")


@pytest.mark.xfail(reason="FIXME: levels in lower case", raises=ParseError)
def test_lower_case():
    assert parse("error disk full") == ("ERROR", "disk full")


def test_xfailed_inside():
    pytest.xfail("TypeError: not supported yet")


@pytest.mark.xfail(reason="may work", strict=False)
def test_passes_all_the_same():
    assert parse("INFO ok") == ("INFO", "ok")


def test_todo():
    """TODO: nothing left to do."""


class TestFailure:
    """Failures that are none."""

    def test_failure(self):
        assert issubclass(ParseError, LogbookError)

    def test_error(self):
        assert "error" in describe(LogbookError("error"))
