"""The values of the names in a failing statement, and where two compared values differ, in whole runs."""

import json


def test_plugin_that_explains_comparisons_still_does(run):
    conftest = """
    def pytest_assertrepr_compare(op, left, right):
        return ["as the project says"] if left == [1] else None
    """
    done = run({"conftest.py": conftest, "test_a.py": "def test_a():\n    assert [1] == [2]\n"})
    assert "as the project says" in done.stdout
    (found,) = (each["differences"] for each in done.report["evidence"] if each["test"])
    assert [(each["path"], each["left"], each["right"]) for each in found] == [("[0]", "1", "2")]


#: Statements of tests; ``OURS`` and ``OTHER`` are credentials.
STATEMENTS = """
password, expected = OURS, OTHER; assert password == expected
password = OURS; assert (password + " ").strip() == OTHER
password = OURS; assert f"x{password}" == OTHER
assert (password := get_password()) == OTHER
assert get_password() != OURS
assert OTHER in get_password()
assert "Tr0" not in get_password()
assert get_password() is OTHER
assert get_password() < "A"
assert len(get_password()) == 3
assert get_password().startswith("zz")
user = User(); assert user.secret() == OTHER
assert 1 == 1 and get_password() == OTHER
assert not get_password()
assert isinstance(get_password(), int)
same(get_password(), OTHER)
password = OURS + "\\n" + OTHER + "\\nline"; assert password == OURS + "\\nother\\nline"
passwords = [OURS, OTHER]; assert passwords == [OURS, "another"]
password = OURS.encode(); assert password == OTHER.encode()
password = "hu7r!"; assert password == "abc9!".strip()
password = get_password() + chr(92) + chr(9); assert password == OTHER
old_password, new_password = OURS, OURS + "-" + OTHER; assert old_password == new_password
password = OURS; assert password not in "x" + OURS + "x"
assert {}.get("password", OURS) == OTHER
assert getattr(User(), "password") == OTHER
assert hmac.compare_digest(get_password(), "x")
self.assertNotEqual(get_password(), OURS)
self.assertIn("zz", get_password())
self.assertIs(get_password(), OTHER)
self.assertTrue(get_password() == OTHER)
self.assertRegex(get_password(), "zz9")
self.assertGreater("A", get_password())
self.assertIsNone(get_password())
self.same(get_password(), OTHER)
return self.assertEqual(second=OTHER, first=get_password())
"""
GIVEN = """
import hmac
import unittest
import pytest
OURS, OTHER = "Tr0ub4dor&3xyz", "k1ttenMitten7"
class User:
    password = OURS
    def secret(self): return OURS
def get_password(): return OURS
def same(one, two):
    assert one == two
class TestClass(unittest.TestCase):
    def same(self, one, two): self.assertEqual(one, two)
"""


def test_what_is_compared_with_a_credential_is_nowhere_whatever_the_comparison(run):
    methods = []
    functions = ["@pytest.mark.flaky(reruns=1)\ndef test_again(): assert get_password() == OTHER\n"]
    for number, statement in enumerate(STATEMENTS.strip().splitlines()):
        if "self." in statement:
            methods.append(f"    def test_{number}(self):\n        {statement}\n")
        else:
            lines = "".join(f"    {line}\n" for line in statement.split("; "))
            functions.append(f"def test_{number}():\n{lines}")
    source = "".join([GIVEN, *methods, *functions])
    done = run({"test_a.py": source}, plugins=("rerunfailures",))
    failed = [each for each in done.report["evidence"] if each["kind"] == "test-failure"]
    assert len(failed) == 36
    for each in failed:
        text = json.dumps(each, ensure_ascii=False)
        for part in ("Tr0ub", "&3xyz", "k1tten", "tten7", "hu7r", "abc9"):
            assert part not in text, text
