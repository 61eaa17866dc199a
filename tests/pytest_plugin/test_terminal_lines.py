"""What a person reads in the terminal: our lines come last, and are few."""

import re

import pytest

SHOP = {
    "shop.py": "def cost(kg):\n    rates = None\n    return rates[kg]\n",
    "test_shop.py": """
    import shop
    def test_one(): shop.cost(1)
    def test_two(): shop.cost(2)
    def test_three(): assert 1 == 1
    """,
}
GREEN = {"test_a.py": "def test_a(): pass\ndef test_b(): pass\n"}


@pytest.mark.parametrize("options", [(), ("-q",), ("-rA",), ("--no-summary",)])
def test_our_lines_come_last(run, options):
    done = run(SHOP, "--loop-close-second-look=off", *options)  # one that takes a second is reported
    first, second = done.stdout.rstrip("\n").splitlines()[-2:]
    assert re.fullmatch(
        r"loop-close: 2 tests fail, 1 passes; look first at shop\.py:3 cost\(\) \(\d\d? %\)", first
    )
    assert re.fullmatch(r"loop-close: next prompt: nextprompt\.md \(about \d+ tokens\)", second)
    assert done.summary == [first, second]
    assert not done.stderr


@pytest.mark.parametrize("options", [(), ("-q",), ("-v",)])
def test_a_green_run_has_one_line_and_it_is_the_last(run, options):
    done = run(GREEN, *options)
    assert done.summary == ["loop-close: 2 passed"]
    assert done.stdout.splitlines()[-1] == done.summary[0]


@pytest.mark.parametrize(("files", "code", "number"), [(SHOP, 31, 2), (GREEN, 32, 1)], ids=["red", "green"])
def test_lines_are_in_the_colours_of_pytest(run, files, code, number):
    done = run(files, "--color=yes")
    lines = done.stdout.splitlines()[-number:]
    assert all(line.startswith(f"\x1b[{code}mloop-close: ") and line.endswith("\x1b[0m") for line in lines)
    assert "\x1b" not in run(files, "--color=no").stdout


def test_lines_are_short_and_plain_whatever_a_test_is_called(run):
    source = """
    import pytest
    @pytest.mark.parametrize("x", ["`a`\\n# b", "\\x1b[31m" + "y" * 300])
    def test_a(x): raise ValueError(x * 20)
    """
    done = run({"test_a.py": source})
    assert len(done.summary) == 2
    assert all(line.isprintable() and len(line) <= 240 for line in done.summary)


def test_a_loop_says_where_it_is(run):
    assert "; run 1" not in run(SHOP, remembers=True).summary[0]
    done = run({}, remembers=True)
    assert re.search(r"; run 2: \S", done.summary[0])
    fixed = run({"shop.py": "def cost(kg):\n    return kg\n"}, remembers=True)
    assert fixed.summary == ["loop-close: 3 passed"]
