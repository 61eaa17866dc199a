"""Text that looks like a run within a run, around one, or in quotation hides no failure."""

import pytest

from loop_close.library import close_loop
from loop_close.readers.pytest_output import read_pytest

RED_BLOCK = "    def test_a():\n>       check()\nE       ValueError: bad\n\ntests/test_a.py:3: ValueError\n"


def ruler(title, char="="):
    return f" {title} ".center(80, char) + "\n"


def start(collected="collected 1 item"):
    return f"{ruler('test session starts')}rootdir: /srv/shop\n{collected}\n\n"


def failing(name="test_a", final="2 failed in 0.12s", captured=""):
    return (
        ruler("FAILURES")
        + ruler(name, "_")
        + "\n"
        + RED_BLOCK
        + (ruler("Captured stdout call", "-") + captured if captured else "")
        + ruler("short test summary info")
        + f"FAILED tests/test_a.py::{name} - ValueError: bad\n"
        + (ruler(final) if final else "")
    )


def red(name="test_a", final="2 failed in 0.12s"):
    return f"{start('collected 2 items')}tests/test_a.py FF    [100%]\n\n{failing(name, final)}"


def green(final="1 passed in 0.01s"):
    return f"{start()}tests/test_b.py .    [100%]\n\n{ruler(final)}"


def quiet(*middle, final="1 failed, 1 passed in 0.20s"):
    text = failing(final="", captured="".join(middle) or "")
    return f".F    [100%]\n{text}{final}\n"


def fenced(text):
    return f"```\n{text}```\n"


def read(text):
    return read_pytest(text, "")


def names(text):
    return [f.nodeid for f in read(text).failures]


A = "tests/test_a.py::test_a"
PROGRESS = "tests/test_b.py .........    [100%]\n\n"


@pytest.mark.parametrize(
    "text",
    [
        start("collected 9 items") + PROGRESS + red() + ruler("9 passed in 0.01s"),
        # a ring of runs, green ones between
        start() + start() + start() + red() + ruler("1 passed in 0.01s") * 3,
        # more of them than are read
        start() * 50 + red() + ruler("1 passed in 0.01s") * 50,
        # failures of a run that passes are none
        start() + ruler("FAILURES") + ruler("test_x", "_") + red() + ruler("9 passed in 0.01s"),
        red() + ruler("9 passed in 0.01s"),
        # the logs of two services
        start() + PROGRESS + start() + failing() + ruler("1 passed in 0.01s"),
    ],
)
def test_a_run_around_another_hides_none_of_its_failures(text):
    assert A in names(text)
    assert close_loop(text).verdict == "red"


def test_a_run_in_the_output_of_a_test_is_text():
    inner = red("test_inner")
    text = start("collected 1 item") + failing(final="1 failed in 0.12s", captured=inner + green() + inner)
    assert names(text) == [A]
    assert read(text).counts.failed == 1
    passes = ruler("PASSES") + ruler("test_b", "_") + ruler("Captured stdout call", "-") + inner + inner
    text = start("collected 1 item") + passes + ruler("1 passed in 0.12s")
    assert (names(text), read(text).counts.passed, read(text).is_certain) == ([], 1, True)


def test_a_run_in_the_output_of_a_test_of_a_quiet_run_is_text():
    text = quiet(red("test_inner"), red("test_inner"))
    assert names(text) == [A]
    assert (read(text).counts.failed, read(text).counts.passed) == (1, 1)


def test_a_line_of_counts_below_one_that_fails_does_not_hide_it():
    text = f"{start('collected 2 items')}{ruler('2 failed in 0.12s')}{ruler('2 passed in 0.12s')}"
    assert read(text).counts.failed == 2
    assert close_loop(text).verdict != "green"
    text = "FF    [100%]\n2 failed in 0.12s\n2 passed in 0.12s\n"
    assert read(text).counts.failed == 2


def test_a_quoted_red_run_is_red_whatever_the_exit_code():
    for text in (fenced(red()), fenced(red()) + green(), green() + fenced(red())):
        assert names(text) == [A]
        assert close_loop(text, exit_code=0).verdict == "red"


def test_too_many_warnings_end_a_run():
    said = "Tests pass, but maximum allowed warnings exceeded: 1 > 0\n"
    why = "maximum allowed warnings exceeded: 1 > 0"
    for text in (
        start() + ruler("warnings summary") + said + ruler("1 passed, 1 warning in 0.01s"),
        f".    [100%]\n{ruler('warnings summary')}{said}1 passed, 1 warning in 0.15s\n",
    ):
        assert (read(text).incomplete, read(text).is_certain) == (why, True)
    printed = start() + said + PROGRESS + ruler("1 passed in 0.01s")
    assert read(printed).incomplete == ""


PRINTED = "===== test session starts =====\ncollected 1 item\n"
LINE = "/srv/shop/test_b.py:4: assert 0\n"
LAST = ruler("short test summary info") + "FAILED test_b.py::test_fail - assert 0\n"
SAID = ruler("FAILURES") + "E   assert 0\n"
CAPTURED = ruler("Captured stdout call", "-")


@pytest.mark.parametrize("printed", [PRINTED, PRINTED.replace("=====", "=" * 29)])
@pytest.mark.parametrize(
    "text",
    [
        start()
        + "test_b.py F    [100%]\n\n"
        + SAID
        + CAPTURED
        + "{}"
        + LINE
        + LAST
        + ruler("1 failed in 0.14s"),
        start() + "test_b.py {}F\n\n" + SAID + LINE + LAST + ruler("1 failed in 0.14s"),
        start() + "test_b.py \n{}F\n\n" + SAID + LINE + LAST + ruler("1 failed in 0.14s"),
        "F   [100%]\n" + SAID + CAPTURED + "{}" + LINE + LAST + "1 failed in 0.14s\n",
        "{}F\n" + SAID + LINE + LAST + "1 failed in 0.14s\n",
        "F   [100%]\n" + SAID + CAPTURED + "{}" + LINE + LAST,
        SAID + CAPTURED + "{}" + LINE + LAST + ruler("1 failed in 0.14s"),
    ],
)
def test_a_printed_start_hides_nothing(text, printed):
    reading = read(text.replace("{}", printed))
    assert {f.nodeid for f in reading.failures} - {""} == {"test_b.py::test_fail"}
    if "1 failed" in text and not (text.startswith("{}") and "=" * 29 in printed):
        assert (reading.counts.failed, reading.counts.passed) == (1, 0)
        assert reading.is_certain


@pytest.mark.parametrize(
    "printed",
    [
        ruler("5 passed in 0.01s"),
        "=== 5 failed in 0.01s ===\n",
        ruler("5 failed in 0.01s") * 2,
        "5 failed in 0.01s\n" * 2,
    ],
)
def test_a_printed_line_of_counts_is_not_added(printed):
    for text in (
        quiet(printed),
        quiet(printed, printed),
        start("collected 2 items") + quiet(printed, final=ruler("1 failed, 1 passed in 0.20s")),
        ruler("FAILURES") + quiet(printed, final=ruler("1 failed, 1 passed in 0.20s")).partition("=\n")[2],
    ):
        reading = read(text)
        assert [f.nodeid.rpartition("::")[2] for f in reading.failures] == ["test_a"]
        assert (reading.counts.failed, reading.counts.passed) == (1, 1)


def test_quiet_runs_with_progress_of_their_own_are_two():
    text = ".    [100%]\n1 passed in 0.01s\n..    [100%]\n2 passed in 0.01s\n"
    assert read(text).counts.passed == 3
    text = quiet() + "..\n2 passed in 0.01s\n" + quiet()
    assert (read(text).counts.passed, read(text).counts.failed) == (4, 2)


@pytest.mark.slow
@pytest.mark.timeout(60)  # quadratic time takes minutes
@pytest.mark.parametrize(
    "pieces",
    [
        ("F",),
        ("S", "F"),
        ("G",),
        ("B", "C", "F"),
        ("B", "T", "C", "S", "R", "F"),
        ("B", "b"),
        ("B", "C", "R", "b"),
    ],
)
def test_time_is_linear(pieces):
    lines = {
        "S": ruler("test session starts"),
        "F": ruler("1 passed in 0.01s"),
        "R": ruler("1 failed in 0.01s"),
        "G": red(),
        "B": ruler("FAILURES"),
        "T": ruler("test_a", "_"),
        "C": ruler("Captured stdout call", "-"),
        "b": "1 failed in 0.01s\n",
    }
    each = 600_000 // sum(len(lines[piece]) for piece in pieces)
    read("".join(lines[piece] for piece in pieces) * each)
    read("".join(lines[piece] * each for piece in pieces))
    read("".join(lines[piece] * each for piece in (*pieces, *pieces[::-1])))
    first, last = "".join(lines[piece] for piece in pieces[:-1]), lines[pieces[-1]]
    read(first * each + last * each)


def test_log_that_is_cut_anywhere_has_neither_another_exception_nor_another_file():
    text = start() + "tests/test_a.py F    [100%]\n\n" + ruler("FAILURES") + ruler("TestA.test_a", "_") + "\n"
    text += (
        "    def test_a():\n>       check()\n\ntests/test_a.py:3: \n" + "_ " * 40 + "\n\n    def check():\n"
    )
    text += (
        '>       raise PriceError("bad")\nE       shop.PriceError: bad\n\nsrc/shop/cart.py:9: PriceError\n'
    )
    for end in range(text.index(" TestA"), len(text)):
        for failure in read(text[:end]).failures:
            assert failure.file in ("", "tests/test_a.py")
            assert failure.raised is None or failure.raised.type in ("", "PriceError"), text[:end]
            assert "def test_a" not in failure.message


def test_a_failure_that_is_shown_below_a_heading_and_as_a_line_is_one():
    shown = ruler("FAILURES") + ruler("test_a", "_") + RED_BLOCK
    line = ruler("FAILURES") + "/srv/shop/tests/test_a.py:3: ValueError: bad\n"
    summary = ruler("short test summary info") + f"FAILED {A} - ValueError: bad\n"
    for text in (shown + line, line + shown):
        assert names(start() + text + summary + ruler("1 failed in 0.12s")) == [A]
