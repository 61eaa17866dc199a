"""What the prompt says about a failing test."""

import pytest

PHASES = """
import pytest

@pytest.fixture
def broken():
    raise RuntimeError("no database")

@pytest.fixture
def dirty():
    yield 1
    raise OSError("still open")

def test_needs_it(broken): pass
def test_leaves_it(dirty): pass
def test_both(dirty): assert dirty == 2
def test_fine(): pass
"""


def test_failing_setup_call_and_teardown_are_told_apart(run):
    done = run({"test_a.py": PHASES})
    assert done.ret == 1
    assert (
        done.title
        == "# 1 test fails, 3 errors, 2 pass: 3 root causes, first dirty() in test_a.py:11 (42 % probable)"
    )
    assert done.says(
        "`broken()` at `test_a.py:6`",
        "Shown by `test_a.py::test_needs_it` (setup",
        "`dirty()` at `test_a.py:11`",
        "1 more failing: `test_leaves_it`",
        "`AssertionError` at `test_a.py:15` in `test_both()`",
    )
    phases = {evidence["phase"] for evidence in done.report["evidence"] if "phase" in evidence}
    assert phases == {"setup", "call", "teardown"}


def test_values_of_an_assertion_are_shown_with_what_made_them(run):
    source = """
    def price(): return 19.95

    def test_price():
        expected = 20
        assert price() == expected, "the price is off"
    """
    done = run({"test_a.py": source})
    assert done.says(
        'assert price() == expected, "the price is off"\nE  the price is off\nE  left: 19.95 != 20\n'
    )
    assert done.says("With `expected = 20`.")


@pytest.mark.slow
def test_way_of_showing_does_not_change_the_cause(run):
    source = "def test_a(): assert list(range(50)) == [*range(49), 7]"
    options = [
        (),
        ("-vv",),
        ("-q",),
        ("--tb=no",),
        ("--tb=native",),
        ("--full-trace",),
        ("--color=yes",),
        ("-l",),
    ]
    ids = set()
    for option in options:
        done = run({"test_a.py": source}, *option)
        assert done.says("E  left[49]: 49 != 7", "# 1 test fails: AssertionError at test_a.py:1")
        ids.add(tuple(cause["id"] for cause in done.causes))
    assert len(ids) == 1


def test_a_comparison_with_vv_is_bounded(run):
    done = run({"test_a.py": "def test_a(): assert list(range(500)) == [*range(499), 7]"}, "-vv")
    assert done.says("E  left[499]: 499 != 7")
    assert "497,\n" not in done.prompt


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("pytest.fail('said so')", "Failed", "said so"),
        ("pytest.fail('said so', pytrace=False)", "Failed", "said so"),
        ("with pytest.raises(ValueError): pass", "Failed", "DID NOT RAISE"),
        ("with pytest.raises(ValueError, match='abc'): raise ValueError('xyz')", "AssertionError", "xyz"),
        ("raise SystemExit(3)", "SystemExit", "3"),
        ("raise NotImplementedError('later')", "NotImplementedError", "later"),
        ("{}['key']", "KeyError", "'key'"),
        ("assert 0", "AssertionError", "assert 0"),
        ("raise ValueError", "ValueError", "E  ValueError\n"),
        ("raise ValueError(' \\n ')", "ValueError", "E  ValueError\n"),
    ],
)
def test_exception_and_message_are_shown(run, body, kind, message):
    done = run({"test_a.py": f"import pytest\ndef test_a():\n    {body}\n"})
    assert done.title == f"# 1 test fails: {kind} at test_a.py:3"
    assert done.says(message)
    assert done.causes[0]["exception"] == kind


def test_fixture_that_is_not_there_is_named_without_the_list_of_all(run):
    done = run({"test_a.py": "def test_a(nowhere): pass"})
    assert done.says("fixture 'nowhere' not found", "Shown by `test_a.py::test_a` (setup")
    assert done.report["stall_reason"] == "1 collection error detected"
    assert "available fixtures" not in done.prompt


CHAINS = """
def low(): raise KeyError("low level")

def test_from():
    try: low()
    except KeyError as error: raise ValueError("high level") from error

def test_context():
    try: low()
    except KeyError: raise ValueError("other level")

def test_suppressed():
    try: low()
    except KeyError: raise ValueError("clean") from None
"""


@pytest.mark.parametrize(
    ("test", "line"),
    [
        ("test_from", "- raised from `KeyError` at `test_a.py:2`: `'low level'`"),
        ("test_context", "- raised while handling `KeyError` at `test_a.py:2`: `'low level'`"),
    ],
)
def test_every_link_of_a_chain_is_shown(run, test, line):
    done = run({"test_a.py": CHAINS}, "-k", test)
    assert done.says(line, "# 1 test fails: low() in test_a.py:2")
    assert len(done.report["evidence"][0]["chain"]) == 2


def test_suppressed_context_is_not_shown(run):
    done = run({"test_a.py": CHAINS}, "-k", "test_suppressed")
    assert done.says("clean")
    assert "low level" not in done.prompt
    assert "low level" not in str(done.report)


def test_long_chain_is_shown_link_by_link(run):
    links = "\n".join(
        f"def f{n}():\n    try: f{n - 1}()\n    except Exception as e: raise ValueError('link {n}') from e"
        for n in range(1, 6)
    )
    done = run({"test_a.py": f"def f0(): raise KeyError('first')\n{links}\ndef test_a(): f5()\n"})
    assert done.says(*(f"link {n}" for n in range(2, 6)), "- and 1 more exception")


GROUP = """
def fail(n): raise ValueError(f"leaf {n}")

def test_group():
    found = []
    for n in range(3):
        try: fail(n)
        except ValueError as error: found.append(error)
    inner = ExceptionGroup("inner", found[1:])
    raise ExceptionGroup("outer", [found[0], inner, TypeError("leaf t")])
"""


def test_leaves_of_nested_exception_groups_are_shown_with_their_places(run):
    done = run({"test_a.py": GROUP})
    places = [f"- holds `ValueError` at `test_a.py:2`: `leaf {n}`" for n in range(2)]
    assert done.says("outer (3 sub-exceptions)", *places, "- and 1 more exception")
    assert done.says("- holds `ExceptionGroup`: `inner (2 sub-exceptions)`\n  - holds `ValueError`")


@pytest.mark.parametrize("args", [(), ("--tb=native",), ("--full-trace",)])
def test_recursion_error_is_one_bounded_cause(run, args):
    done = run({"test_a.py": "def down(n): return down(n + 1)\ndef test_a(): down(0)\n"}, *args)
    assert done.says(
        "# 1 test fails: down() in test_a.py:1 (76 % probable)\n",
        "RecursionError: maximum recursion depth exceeded",
    )
    assert len(done.causes) == 1
    assert len(done.prompt) < 2000


def test_strict_xfail_that_passes_is_a_failure_with_its_reason(run):
    source = "import pytest\n@pytest.mark.xfail(reason='stones', strict=True)\ndef test_a(): pass\n"
    done = run({"test_a.py": source})
    assert done.says("[XPASS(strict)] stones", "# 1 test fails: ", "Shown by `test_a.py::test_a`")
    assert done.report["verdict"] == "red"


def test_xfail_and_xpass_are_counted_and_green(run):
    source = """
    import pytest
    @pytest.mark.xfail(reason="one")
    def test_a(): assert 0
    @pytest.mark.xfail(reason="two")
    def test_b(): pass
    def test_c(): pass
    """
    done = run({"test_a.py": source})
    assert done.title == "# The tests pass: 1 passed, 1 xfailed, 1 xpassed"
    assert done.report["verdict"] == "green"


def test_warning_as_error_is_shown_where_it_was_raised(run):
    files = {
        "old.py": "import warnings\ndef old(): warnings.warn('use new()', DeprecationWarning, stacklevel=1)\n",
        "test_a.py": "import old\ndef test_a(): old.old()\n",
    }
    done = run(files, "-W", "error")
    assert done.says("old() in old.py:2 (", "DeprecationWarning: use new()")


@pytest.mark.slow
def test_two_thousand_distinct_failures_keep_the_budget_and_lose_no_message(run):
    tests = "\n".join(f"def test_{n}(): raise ValueError('distinct failure {n:04} xx')" for n in range(2000))
    done = run(
        {"test_a.py": tests}, "-q", "--tb=no", "--no-header", "-p", "no:hypothesispytest", "--no-summary"
    )
    assert len(done.prompt.encode()) / 4 <= 2000
    kept = (done.folder / ".loop-close" / "report.json").read_text(encoding="utf-8")
    assert [n for n in range(2000) if f"distinct failure {n:04} xx" not in kept] == []
    assert done.says("`.loop-close/report.json`", "more root causes")
