import ast
import dataclasses
import sys

import pytest

from loop_close.capture import ProjectCode
from loop_close.capture.comparisons import Comparisons, labels_of
from loop_close.capture.values import Texts

TEXTS = Texts(ProjectCode(__file__.rpartition("/")[0]))


def test_comparisons_are_kept_by_frame_and_bounded():
    comparisons = Comparisons(TEXTS)
    assert not comparisons
    for n in range(100):

        def asserting(n=n):
            comparisons.saw(sys._getframe(), "==", n, -1)
            return sys._getframe()

        asserting()
    assert comparisons
    assert len(comparisons._events) <= 16
    comparisons.forget()
    assert not comparisons


class Meta(type):
    compared = 0

    def __eq__(cls, other):
        Meta.compared += 1
        return cls is other

    __hash__ = type.__hash__


def test_types_are_not_compared():
    @dataclasses.dataclass
    class Hostile(metaclass=Meta):
        n: int

    comparisons, before = Comparisons(TEXTS), Meta.compared
    comparisons.saw(sys._getframe(), "==", Hostile(1), Hostile(2))
    assert comparisons
    assert Meta.compared == before


@pytest.mark.parametrize(
    ("side", "labels"),
    [
        ("password", ["password"]),
        ("'text'", []),
        ("user.get_password()", ["user.get_password()", "get_password"]),
        ("check_password(x)", ["check_password(x)"]),
        ("change_password(x)", ["change_password(x)", "token"]),
        ("await password()", ["password()", "password"]),
        ("password.strip().lower()[2:]", ["password"]),
        ("f'{a} and {b!r}'", ["a", "b"]),
        ("(a := b) or c", ["a", "b", "c"]),
        ("str(a) + (b if c else d)", ["a", "b", "d"]),
        ("config.get('password', x)", ["config.get('password', x)", "get", "password"]),
        ("passwords['bob']", ["passwords['bob']", "passwords"]),
    ],
)
def test_labels_are_those_of_all_that_is_seen_in_a_value(side, labels):
    assert labels_of(ast.parse(side, mode="eval").body) == labels
