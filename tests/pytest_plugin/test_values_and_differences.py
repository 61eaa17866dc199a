"""The values of the names in a failing statement, and where two compared values differ, in whole runs."""

import json

import pytest


def told(report):
    """Values and differences by test."""
    return {
        e["test"].removeprefix("test_a.py::"): (
            [(v["name"], v["value"]) for v in e["values"]],
            [(d["path"], d["left"], d["right"]) for d in e["differences"]],
        )
        for e in report["evidence"]
        if e.get("test", "").startswith("test_a.py::")
    }


def test_plugin_that_explains_comparisons_still_does(run):
    conftest = """
    def pytest_assertrepr_compare(op, left, right):
        return ["as the project says"] if left == [1] else None
    """
    done = run({"conftest.py": conftest, "test_a.py": "def test_a():\n    assert [1] == [2]\n"})
    assert "as the project says" in done.stdout
    assert told(done.report) == {"test_a": ([], [("[0]", "1", "2")])}


SHORTENED = """
import dataclasses
import unittest

COOKIE = "theme=dark; sessionid=8f14e45fceea167a5a36dedd4bea2543; csrftoken=Zx81kfiwpqTTlmn2"
LONG = "a" * 5_000 + " csrftoken=Zx81kfiwpqTTlmn2"

@dataclasses.dataclass
class Login:
    user: str
    password: str
    level: int

def get(value):
    return value

def test_string():
    assert get(COOKIE) == ""

def test_end_of_a_long_string():
    assert get(LONG) == ""

def test_search():
    assert "light" in get(COOKIE)

def test_object():
    assert get(Login("jo", "geheim-4711-xyz", 1)) == Login("jo", "geheim-4711-abc", 2)

def test_dictionary():
    assert get({"a": 1, "b": 2, "c": 3, "secret": "abcDEF123ghi"}) == {"a": 3, "b": 1, "c": 2}

class TestUnit(unittest.TestCase):
    def test_unit(self):
        self.assertEqual(COOKIE, COOKIE[:11] + "!" + COOKIE[12:40])
"""
ENDS = ("=8f1", "543;", "=Zx8", "lmn2", "xyz'", "abc'", "ghi'")


def test_ends_of_credentials_in_shortened_values_are_not_shown(run):
    found = run({"test_a.py": SHORTENED})
    assert "6 failed" in found.stdout
    shown = f"{json.dumps(found.report)}\n{found.prompt}"
    assert [end for end in ENDS if end in shown] == [], shown


def test_credentials_known_by_their_names_are_nowhere_in_the_failure(run):
    source = """
    import unittest
    import pytest

    class User:
        password = "zebraQuiltmorningLantern"

    def get_password():
        return "Tr0ub4dor&3xyz"

    def load():
        return {"passwd": ["Tr0ub4dor&3xyz", "k1ttenMitten7"], "name": "x"}

    def test_attribute():
        assert User().password == "correcthorsebatterystaple"

    def test_part():
        password = get_password()
        assert "zz" in password

    def test_call():
        assert get_password() == "k1ttenMitten7"

    def test_items():
        assert load() == {"passwd": ["a", "b"], "name": "x"}

    @pytest.mark.parametrize("password", ["Tr0ub4dor&3xyz"], ids=["one"])
    def test_parameter(password):
        assert len(password) == 3

    def test_message():
        password = get_password()
        raise ValueError(f"cannot log in with {password}") from KeyError(password)

    def test_shortened():
        config = {"password": "prefix-" * 30 + get_password()}
        assert config == {"password": "prefix-" * 30 + "k1ttenMitten7"}

    class TestClass(unittest.TestCase):
        def test_method(self):
            self.assertEqual(get_password(), "k1ttenMitten7")

        def test_shortened(self):
            password = get_password() * 20
            self.assertEqual(password, get_password() * 19 + "x")
    """
    done = run({"test_a.py": source})
    assert len(told(done.report)) == 9
    for text in (done.prompt, json.dumps(done.report, ensure_ascii=False), done.stdout.splitlines()[-2]):
        for part in ("zebraQuilt", "Lantern", "Tr0u", "&3xyz", "k1tten", "tten7"):
            assert part not in text, text[max(0, text.find(part) - 100) :][:200]


@pytest.mark.parametrize(
    "call", ['CONFIG.get("password")', 'getattr(User(), "password")', 'os.environ.get("DB_PASSWORD")']
)
def test_credentials_that_the_arguments_of_a_call_name_are_nowhere(run, monkeypatch, call):
    monkeypatch.setenv("DB_PASSWORD", "Xq7Kmm2Zdd")
    source = f"""
    import os
    CONFIG = {{"password": "Xq7Kmm2Zdd"}}
    class User:
        password = "Xq7Kmm2Zdd"
    def test_a():
        assert {call} == "Yw8Lnn3Zcc"
    """
    done = run({"test_a.py": source})
    for text in (done.prompt, json.dumps(told(done.report)), done.stdout.splitlines()[-2]):
        assert "Xq7Kmm2Zdd" not in text
        assert "Yw8Lnn3Zcc" not in text


def test_what_is_compared_with_a_credential_is_nowhere_whatever_the_comparison(run):
    source = """
    import hmac
    import unittest
    import pytest

    OURS, OTHER = "Tr0ub4dor&3xyz", "k1ttenMitten7"

    class User:
        password = OURS

        def secret(self):
            return OURS

    def get_password():
        return OURS

    def same(one, two):
        assert one == two

    def test_name():
        password, expected = OURS, OTHER
        assert password == expected

    def test_strip():
        password = OURS
        assert (password + " ").strip() == OTHER

    def test_format():
        password = OURS
        assert f"x{password}" == OTHER

    def test_walrus():
        assert (password := get_password()) == OTHER

    def test_not_equal():
        assert get_password() != OURS

    def test_in():
        assert OTHER in get_password()

    def test_not_in():
        assert "Tr0" not in get_password()

    def test_is():
        assert get_password() is OTHER

    def test_less():
        assert get_password() < "A"

    def test_length():
        assert len(get_password()) == 3

    def test_method():
        assert get_password().startswith("zz")

    def test_of_a_user():
        user = User()
        assert user.secret() == OTHER

    def test_and():
        assert 1 == 1 and get_password() == OTHER

    def test_not():
        assert not get_password()

    def test_type():
        assert isinstance(get_password(), int)

    def test_helper():
        same(get_password(), OTHER)

    def test_lines():
        password = OURS + "\\n" + OTHER + "\\nline"
        assert password == OURS + "\\nother\\nline"

    def test_list():
        passwords = [OURS, OTHER]
        assert passwords == [OURS, "another"]

    def test_bytes():
        password = OURS.encode()
        assert password == OTHER.encode()

    def test_short():
        password = "hu7r!"
        assert password == "abc9!".strip()

    def test_escaped():
        password = get_password() + chr(92) + chr(9)
        assert password == OTHER

    def test_part_of_another():
        old_password, new_password = OURS, OURS + "-" + OTHER
        assert old_password == new_password

    def test_within_a_word():
        password = OURS
        assert password not in "x" + OURS + "x"

    def test_lookup():
        assert {}.get("password", OURS) == OTHER

    def test_digest():
        assert hmac.compare_digest(get_password(), "x")

    @pytest.mark.flaky(reruns=1)
    def test_again():
        assert get_password() == OTHER

    class TestClass(unittest.TestCase):
        def test_not_equal(self):
            self.assertNotEqual(get_password(), OURS)

        def test_in(self):
            self.assertIn("zz", get_password())

        def test_is(self):
            self.assertIs(get_password(), OTHER)

        def test_true(self):
            self.assertTrue(get_password() == OTHER)

        def test_pattern(self):
            self.assertRegex(get_password(), "zz9")

        def test_greater(self):
            self.assertGreater("A", get_password())

        def test_none(self):
            self.assertIsNone(get_password())

        def same(self, one, two):
            self.assertEqual(one, two)

        def test_helper(self):
            self.same(get_password(), OTHER)

        def test_keywords(self):
            return self.assertEqual(second=OTHER, first=get_password())
    """
    done = run({"test_a.py": source}, plugins=("rerunfailures",))
    failed = [each for each in done.report["evidence"] if each["kind"] == "test-failure"]
    assert len(failed) == 35
    for each in failed:
        text = json.dumps(each, ensure_ascii=False)
        for part in ("Tr0ub", "&3xyz", "k1tten", "tten7", "hu7r", "abc9"):
            assert part not in text, text


def test_results_about_a_password_are_shown(run):
    source = """
    def check_password(text):
        return "t00-short"

    def change_password(text):
        return "was changed"

    def test_a():
        assert check_password("x") == "0K-long"

    def test_b():
        assert change_password("x") == "was not changed"

    class TestClass(unittest.TestCase):
        def test_e(self):
            self.assertEqual("Tr0ub4dor&3xyz".replace("x", ""), "k1ttenMitten7", "login #3 [bob1]")
    """
    done = run({"test_a.py": "    import unittest\n" + source})
    assert told(done.report)["test_a"][1] == [("", "'t00-short'", "'0K-long'")]
    assert told(done.report)["test_b"][1] == [("", "'was changed'", "'was not changed'")]
    assert "login #3 [bob1]" in json.dumps(done.report)


def test_a_credential_that_only_the_message_names_is_not_shown_as_a_value(run):
    tests = """
        V = "".join(["q8Zr4LpV2x", "Wt7KmN9sBd"])

        def test_url():
            t = V
            raise RuntimeError(f"cannot connect to postgres://bob:{t}@db.example.com/x")

        def test_message():
            t = V
            assert t == "x", f"access_token={t!r}"
        """
    done = run({"test_a.py": tests})
    assert "Wt7KmN9sBd" not in done.prompt
    assert "Wt7KmN9sBd" not in json.dumps(done.report)


def test_credentials_are_in_neither(run):
    source = """
    def test_a():
        password = "hunter2"
        assert password == "hunter3"
    def test_b():
        config = {"api_key": "aB3dE5aB3dE5", "x": 1}
        assert config == {"api_key": "aB3dE5aB3dE6", "x": 1}
    """
    found = told(run({"test_a.py": source}).report)
    assert found["test_a"] == ([("password", "'<redacted 1>'")], [("", "'<redacted 1>'", "'<redacted 2>'")])
    assert found["test_b"][0] == [("config", "{'api_key': '<redacted 1>', 'x': 1}")]
    assert found["test_b"][1] == [('["api_key"]', "'<redacted 1>'", "'<redacted 2>'")]
