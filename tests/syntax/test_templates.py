import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_close.syntax import index_source, statement_at
from loop_close.syntax.uses import matches, raise_template


def template(text):
    """Of the last ``raise`` in a function of these lines."""
    body = textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")
    function = ast.parse(f"def f(x, y):\n{body}\n").body[0]
    raises = [n for n in ast.walk(function) if isinstance(n, ast.Raise)]
    return raise_template(max(raises, key=lambda n: n.lineno), function)


@pytest.mark.parametrize(
    "text",
    [
        "raise",
        "raise error",
        "raise ValueError",
        "raise ValueError()",
        "raise ValueError(text=x)",
        "raise errors[0]",
    ],
)
def test_no_message_of_its_own(text):
    assert template(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a value, and nothing known of it
        ("raise E(x)", "{}"),
        ("raise E(x.y)", "{}"),
        ("raise E(str(x))", "{}"),
        ("raise E(1)", "{}"),
        ("raise E(x + y)", "{}{}"),
        ("raise E(x % y)", "{}"),
        ("raise E(x.format(1))", "{}"),
        ("raise E('a' * 3)", "{}"),
        ("raise E('a' if x else 'b')", "{}"),
        # plain
        ("raise E('')", ""),
        ("raise E('no such item')", "no such item"),
        ("raise pkg.E('a', x)", "a"),
        ("raise E('a') from error", "a"),
        ("raise E(\n    'one '\n    'two'\n)", "one two"),
        # f-string
        ("raise E(f'no {x}')", "no {}"),
        ("raise E(f'{x!r:>{y}} of {y}')", "{} of {}"),
        ("raise E(f'{{{x}}}')", "{{}}"),
        ("raise E(\n    f'a {x} '\n    f'b {y}'\n)", "a {} b {}"),
        # percent
        ("raise E('no %s' % x)", "no {}"),
        ("raise E('%d of %5.2f, %r' % (x, y, 1))", "{} of {}, {}"),
        ("raise E('%(name)s is not %(kind)-4d' % x)", "{} is not {}"),
        # format
        ("raise E('no {}'.format(x))", "no {}"),
        ("raise E('{0!r} of {name:>4} and {a.b[0]}'.format(x, name=y, a=x))", "{} of {} and {}"),
        # concatenation
        ("raise E('no ' + x)", "no {}"),
        ("raise E('no ' + str(x) + ' of ' + f'{y}!')", "no {} of {}!"),
        # a variable
        ("message = 'no %s' % x\nraise E(message)", "no {}"),
        ("message = 'a'\nmessage = f'b {x}'\nraise E(message)", "b {}"),
        ("a = f'no {x}'\nb = a + '!'\nraise E(b)", "no {}!"),
        ("raise E(message)\nmessage = 'later'", "{}"),
        ("message = x\nraise E(message)", "{}"),
        ("message = message + 'a'\nraise E(message)", "{}a"),
        ("if x:\n    message = (\n        'two '\n        'lines'\n    )\n    raise E(message)", "two lines"),
    ],
)
def test_template(text, expected):
    assert template(text) == expected


def test_a_variable_that_grows_is_followed_a_few_steps():
    text = "m = 'a'\n" + "m = m + m\n" * 40 + "raise E(m)"
    assert len(template(text)) < 100


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=5))
def test_a_template_matches_what_is_made_from_it(parts):
    words = "".join(fixed.replace("{}", "") + "{}" for fixed, _ in parts)
    message = "".join(fixed.replace("{}", "") + value for fixed, value in parts)
    assert matches(words, message)


@pytest.mark.parametrize(("number", "expected"), [(500, "a" * 500), (1200, None)])
def test_a_sum_of_many_strings(number, expected):
    text = "raise E(" + " + ".join(["'a'"] * number) + ")"
    assert raise_template(ast.parse(text).body[0], None) == expected


EXPRESSIONS = [
    "'a'",
    "x",
    "f'{x}b{x!r}'",
    "'%s%%' % x",
    "'{}{{'.format(x)",
    "f(x)",
    "None",
    "b'a'",
    "'é' 'b'",
]


@given(st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=5), st.lists(st.sampled_from(EXPRESSIONS)))
def test_any_message_can_be_read(added, assigned):
    lines = [f"    x = {text}" for text in assigned] + [f"    raise E({' + '.join(added)})"]
    found = index_source("def f(y):\n" + "\n".join(lines))
    function = found.functions[1]
    assert isinstance(raise_template(statement_at(function, len(lines) + 1), function), str)
