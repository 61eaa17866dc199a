"""Rules of reading pytest's output that the corpus does not show."""

import pytest

from loop_close.readers.pytest_output import read_pytest

START = "============================= test session starts =============================="
FAILURES = "=================================== FAILURES ==================================="
SUMMARY = "=========================== short test summary info ============================"


def ruler(title, char="="):
    return f" {title} ".center(80, char)


def block(name, error="ValueError: bad", line=3):
    source = f"    def {name}():\n>       check()\nE       {error}\n"
    return f"{ruler(name, '_')}\n\n{source}\ntests/test_a.py:{line}: ValueError\n"


def run(*parts, final="1 failed in 0.12s"):
    return "\n".join([START, "rootdir: /srv/shop", "collected 1 item", "", *parts, ruler(final)]) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "FAILED tests/test_a.py::test_b - ValueError: no\n",
        "1 failed, 2 passed\nit took 3 passes\n",
        "".join(f"    {line}\n" for line in run(FAILURES, block("test_a")).splitlines()),
        f'TEXT = """{START}"""\n',
    ],
)
def test_words_that_only_look_like_it_give_nothing(text):
    assert read_pytest(text, "").failures == ()


def test_two_runs_below_each_other_are_two():
    first = run(FAILURES, block("test_a"), final="1 failed, 2 passed in 0.12s")
    second = run(FAILURES, block("test_b"), final="1 failed, 3 passed in 0.12s")
    reading = read_pytest(f"{first}py312: commands[0]> pytest\n{second}", "")
    assert [f.nodeid for f in reading.failures] == ["tests/test_a.py::test_a", "tests/test_a.py::test_b"]
    assert (reading.counts.passed, reading.counts.failed) == (5, 2)
    assert len(reading.spans) == 2


def test_a_killed_run_does_not_swallow_the_next():
    killed = f"{START}\nrootdir: /srv/shop\ncollected 9 items\n\ntests/test_a.py ..\n"
    reading = read_pytest(killed + "Killed\n" + run(FAILURES, block("test_b")), "")
    assert [f.nodeid for f in reading.failures] == ["tests/test_a.py::test_b"]
    assert reading.incomplete


@pytest.mark.parametrize("name", ["test_a[x - y]", "test_a[a::b]", "test_a[[1]]", "test_a[a b] "])
def test_parameters_may_hold_what_parts_a_line(name):
    name = name.strip()
    text = f"{SUMMARY}\nFAILED tests/test_a.py::TestX::{name} - ValueError: a - b\n{ruler('1 failed in 0.12s')}\n"
    (failure,) = read_pytest(text, "").failures
    assert (failure.nodeid, failure.message) == (f"tests/test_a.py::TestX::{name}", "a - b")


def test_the_statement_is_what_is_marked_of_the_source():
    shown = block("test_a").replace(
        ">       check()", "        cart = 2\n>       check(\n            cart,\n        )"
    )
    (failure,) = read_pytest(run(FAILURES, shown, final="1 failed in 0.12s"), "").failures
    assert failure.raised.site.statement == "check( cart, )"


def test_the_table_of_the_coverage_is_left_to_its_reader():
    text = run(
        FAILURES,
        block("test_a"),
        ruler("tests coverage"),
        "TOTAL 10 5 50%",
        SUMMARY,
        "FAILED tests/test_a.py::test_a",
    )
    assert not any(s <= text.index("TOTAL") < e for s, e in read_pytest(text, "").spans)
