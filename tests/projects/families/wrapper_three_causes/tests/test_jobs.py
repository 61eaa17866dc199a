from jobs.runner import run


def test_count():
    assert run("count", {"values": [1, 2]}) == 2


def test_average():
    assert run("average", {"values": [1, 3]}) == 2


def test_average_of_one():
    assert run("average", {"values": [5]}) == 5


def test_largest():
    assert run("largest", {"values": [1, 7, 3]}) == 7


def test_largest_negative():
    assert run("largest", {"values": [-1, -7]}) == -1


def test_labels():
    assert run("labels", {"names": ["a", "b"]}) == ["a", "b"]


def test_one_label():
    assert run("labels", {"names": ["a"]}) == ["a"]
