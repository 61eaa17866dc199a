import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st
from output_corpus import sample

from loop_close.facts import is_a
from loop_close.readers.printed import printed_tracebacks, raised_in, raised_in_line

ROOT = "/home/dev/prog"


def of_sample(name):
    text, _ = sample("traceback", name)
    return raised_in(text, ROOT)


def one_frame(said, file="/srv/shop/a.py", margin=""):
    lines = ["Traceback (most recent call last):", f'  File "{file}", line 3, in f', "    g()", said]
    return "".join(f"{margin}{line}\n" for line in lines)


@pytest.mark.parametrize(
    "text", ["", "ValueError: bad", "Traceback (most recent call last):\nValueError: bad"]
)
def test_no_traceback(text):
    assert raised_in(text) is None


@pytest.mark.parametrize("name", ["groups_312", "groups_313"])
def test_groups_with_their_chains(name):
    outer = of_sample(name)
    group = outer.cause
    assert (outer.type, group.type, group.context.type) == (
        "RuntimeError",
        "ExceptionGroup",
        "ZeroDivisionError",
    )
    assert group.message == "rows (4 sub-exceptions)\na note"
    assert [m.type for m in group.members] == ["ValueError", "ValueError", "TypeError", "ExceptionGroup"]
    assert group.members[0].message == "row 0\nsecond line"
    assert group.members[2].cause.message == "'x'"
    assert group.members[3].members[0].details == {"path": "a.txt"}
    assert [f.function for f in group.members[0].frames] == ["all_rows", "load"]


def test_chain_frames_and_modules():
    last = of_sample("chain_311")
    assert (last.type, last.context.type, last.context.cause.type) == (
        "IndexError",
        "ConfigError",
        "JSONDecodeError",
    )
    first = last.context.cause
    assert (first.module, is_a(first, "ValueError")) == ("json.decoder", True)
    assert [(f.file, f.line, f.function) for f in first.frames] == [("chain.py", 10, "load")]
    assert first.site.statement == "return json.loads(text)"


def test_statements_of_several_lines_and_repeated_frames():
    last = of_sample("multi_313")
    assert last.context.frames[0].source.lines == ('add("x",', "    2),")
    assert len(last.frames) == 4


@pytest.mark.parametrize(
    ("name", "details"),
    [
        ("missing_311", {"name": "yamlish_settings"}),
        ("attr_312", {"name": "totl", "owner": "Order"}),
        ("nofile_311", {"path": "orders/today.csv"}),
        ("bad_import_312", {"path": "bad.py", "line": "1"}),
    ],
)
def test_details(name, details):
    assert of_sample(name).details == details


@pytest.mark.parametrize(
    ("line", "module", "name", "message"),
    [
        ("KeyError", "", "KeyError", ""),
        ("socket.timeout: timed out", "socket", "timeout", "timed out"),
        ("shop.errors.Cart.Full: no: really", "shop.errors", "Cart.Full", "no: really"),
        ("shop.make.<locals>.Full: x", "shop.make", "Full", "x"),
    ],
)
def test_names_of_types(line, module, name, message):
    found = raised_in(one_frame(line))
    assert (found.module, found.type, found.message) == (module, name, message)
    assert raised_in_line(line) is not None


@pytest.mark.parametrize("margin", ["    ", "E   ", "web_1  | "])
def test_a_margin_before_every_line(margin):
    text = "start\n" + one_frame("ValueError: bad", margin=margin) + "end\n"
    ((found, start, end),) = printed_tracebacks(text)
    assert (found.message, found.frames[0].line) == ("bad", 3)
    assert (text[:start], text[end:]) == ("start\n", "\nend\n")


def test_frames_of_others_are_left_out():
    found = raised_in(one_frame("ValueError: bad", file="/usr/lib/python3.12/json/decoder.py"))
    assert (found.frames, found.site) == ((), None)


def test_test_code_is_known_by_its_name():
    assert raised_in(one_frame("ValueError: bad", file="/srv/shop/tests/a.py"), "/srv/shop").frames[0].is_test


@given(st.text("abc:( \n", min_size=1, max_size=30))
def test_messages_come_back_from_a_text_of_its_own(message):
    error = ValueError(message.strip().replace("\n\n", "\n") or "x")
    error.add_note("note")
    try:
        raise error
    except ValueError:
        text = traceback.format_exc()
    assert raised_in(text).message == f"{error}\nnote"


def test_long_messages_are_cut():
    message = raised_in(one_frame("ValueError: " + "x" * 100_000)).message
    assert message.count("x") == 16_000
