from loop_close.testcode import compare_tests, fingerprint

TEST = "def test_total():\n    assert total([1, 2]) == 3\n"


def test_a_deleted_test_is_reported():
    (change,) = compare_tests({"test_a.py": TEST}, {"test_a.py": ""})
    assert (change.id, change.kind, change.blocks) == ("test_a.py::test_total", "deleted", True)
    assert len(fingerprint(change)) == 24
