import pytest
import records as made

from loop_close.progress.values import values


@pytest.mark.parametrize(
    ("statement", "message", "expected"),
    [
        ("assert f() == 6", "assert 7 == 6\n +  where 7 = f()", ("7", "6")),
        ("assert 6 == f()", "assert 6 == 7\n +  where 7 = f()", ("7", "6")),
        ("assert f() == g()", "assert 7 == 6", ("7", "6")),
        ("assert f() == ' == '", "assert 'a == b' == ' == '", ("'a == b'", "' == '")),
        ("assert f() == cart", "assert <Cart 1> == <Cart 2>", ("<Cart 1>", "<Cart 2>")),
        ("assert a == b", "assert <A == 1> == <B>", ("", "")),
        ("assert f() in (1, 2)", "assert 3 in (1, 2)", ("3", "(1, 2)")),
        ("assert f()", "assert False\n +  where False = f()", ("", "")),
        ("self.assertEqual(f(), 6)", "7 != 6", ("7", "6")),
        ("self.assertEqual(f(), 6)", "7 != 6 : the total", ("7", "6")),
        ("assert f() == 'x'", "assert '" + "y" * 99 + "' == 'x'", ("'" + "y" * 38 + "…", "'x'")),
        ("assert f() == 6, 'the total'", "the total\nassert 7 == 6", ("7", "6")),
        ("assert 1 < f() < 3", "assert 1 < 5", ("5", "1")),
        ("pytest.fail('no')", "no", ("", "")),
    ],
)
def test_values(statement, message, expected):
    assert values(made.failure(made.verdict(statement=statement, message=message))) == expected


def test_other_exceptions_have_none():
    assert values(made.failure(made.raised("ValueError", "7 != 6"))) == ("", "")
