"""What an agent reads once its loop is stuck: real runs, with edits between that help nothing."""

import re
from itertools import pairwise

STEPS = "\n".join(f"            part{n} = items[{n % 3}] * {n}" for n in range(12))
PROJECT = {
    "pytest.ini": "",
    "shop.py": f"""
        def total(items, rate):
            '''The sum of the items.'''
{STEPS}
            if rate > 7:
                part11 = 0
                part10 = 0
                part9 = 0
                part8 = 0
                part7 = 0
            elif not items:
                return 0
            return part11 + 1


        def names(items):
            found = []
            for item in items:
                found.append(item.nmae)
            return found


        def first(items):
            return items[7]
        """,
    "test_shop.py": """
        import types

        import pytest

        import shop


        @pytest.mark.parametrize("rate", [1, 2, 3])
        def test_total(rate):
            assert shop.total([1, 2, 3], rate) == 6


        def test_names():
            assert shop.names([types.SimpleNamespace(name="tea")]) == ["tea"]


        def test_first():
            assert shop.first([1, 2]) == 1
        """,
}


def test_a_stuck_prompt_has_the_experiment_the_question_and_the_attempts(loop):
    loop()
    texts = [f"part11 + {n}" for n in (1, 2, 3, 4, 5)]
    for old, new in pairwise(texts):
        done = loop(shop=(old, new))
    assert done.report["loop"]["stalled"] == 4
    attempts = done.prompt.partition("## Earlier attempts")[2]
    assert len(re.findall(r"^\| \d ", attempts, re.MULTILINE)) >= 4
    done.says("For a person: ", "Print the arguments and the return value of `total` in `shop.py`")
    # A function of that size is shown whole.
    assert done.says("part0 = items[0] * 0", "part7 = 0", "return part11 + 5")
    assert "Left out" not in done.prompt
    assert not re.search(r"… \d+ lines", done.prompt)
