import pytest
import records as made

from loop_close.keys import compared_values


@pytest.mark.parametrize(
    ("statement", "message", "expected"),
    [
        # nothing was compared, or it cannot be told what
        ("assert f()", "assert False\n +  where False = f()", ("", "")),
        ("assert not f() == 3", "assert not 3 == 3", ("", "")),
        ("assert a == b", "assert <A == 1> == <B>", ("", "")),
        ("pytest.fail('no')", "no", ("", "")),
        # equal
        ("assert f() == 6", "assert 7 == 6\n +  where 7 = f()", ("7", "6")),
        ("assert 6 == f()", "assert 6 == 7\n +  where 7 = f()", ("7", "6")),
        ("assert f() == ' == '", "assert 'a == b' == ' == '", ("'a == b'", "' == '")),
        ("assert f() == 'x'", "assert '" + "y" * 99 + "' == 'x'", ("'" + "y" * 38 + "…", "'x'")),
        ("assert f() == 6, 'the total'", "the total\nassert 7 == 6", ("7", "6")),
        ("assert f() is True", "assert 1 is True", ("1", "True")),
        ("self.assertEqual(f(), 6)", "7 != 6", ("7", "6")),
        ("self.assertEqual(f(), [2])", "Lists differ: [1] != [2]\n\nFirst differing", ("[1]", "[2]")),
        ("self.assertAlmostEqual(f(), 2.0)", "1.0 != 2.0 within 7 places (1.0 difference)", ("1.0", "2.0")),
        # not equal
        ("assert f() != 3", "assert 3 != 3", ("3", "")),
        ("assert f() is not None", "assert None is not None", ("None", "")),
        ("self.assertNotEqual(f(), 3)", "3 == 3", ("", "")),  # of unittest only methods for equality are read
        # members
        ("assert 'x' in f()", "assert 'x' in 'abc'", ("'abc'", "")),
        ("self.assertIn(f(), [1, 2])", "3 not found in [1, 2]", ("", "")),
        # order
        ("assert 3 <= f()", "assert 3 <= 1", ("1", "")),
        ("assert f() >= a", "assert <A> >= <B>", ("<A>", "")),
        ("assert 1 < f() < 3", "assert 1 < 0", ("0", "")),
    ],
)
def test_values(statement, message, expected):
    assert compared_values(made.failure(made.verdict(statement=statement, message=message))) == expected


@pytest.mark.parametrize("omission", ["[200 chars]", "..."])
def test_of_values_that_were_shortened_the_beginnings_are_kept(omission):
    """The end of a credential may follow whose name is gone."""
    left, right = (f"'key: {omission}{'tail' * 20}{end}'" for end in "34")
    failure = made.failure(made.verdict(statement="self.assertEqual(a, b)", message=f"{left} != {right}"))
    shown = f"'key: {omission}"
    assert all(each.startswith(shown) and each.endswith("…") for each in compared_values(failure))
