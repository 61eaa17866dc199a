import pytest

from loop_close.syntax import assignment, index_source

SOURCE = """
class Engine:
    kind: str
    wheels = 4

    def start(self):
        self.speed = 1
        self.late = 1

    def __init__(this, size, /):
        if size:
            this.size, other = size, 2
        else:
            this.size = 0
        other.power = 3
        this.speed = 0
        with open(size) as this.file:
            pass
        for this.count in size:
            this.parts.oil = 1
        this.parts[0] = 2

    @staticmethod
    def made():
        self.nothing = 1

    class Part:
        def __init__(self):
            self.oil = 2


class Engine2(Engine):
    pass
"""


@pytest.mark.parametrize(
    ("cls", "attribute", "expected"),
    [
        ("Engine", "size", (12, 10, 21)),
        ("Engine", "speed", (16, 10, 21)),  # where it is made, not where it is changed
        ("Engine", "late", (8, 6, 8)),
        ("Engine", "file", (17, 10, 21)),
        ("Engine", "count", (19, 10, 21)),
        ("Engine", "kind", (3, 3, 3)),
        ("Engine", "wheels", (4, 4, 4)),
        ("Engine.Part", "oil", (29, 28, 29)),
        ("Engine", "oil", None),
        ("Engine", "power", None),
        ("Engine", "parts", None),
        ("Engine", "nothing", None),
        ("Engine2", "size", None),
        ("Engine.start", "speed", None),
        ("Gone", "size", None),
    ],
)
def test_assignment(cls, attribute, expected):
    index = index_source(SOURCE)
    assert index is not None
    assert assignment(index, cls, attribute) == expected


def test_of_two_classes_of_one_name_the_last_counts():
    index = index_source("class A:\n    x = 1\nclass A:\n    x = 2\n")
    assert index is not None
    assert assignment(index, "A", "x") == (4, 4, 4)
