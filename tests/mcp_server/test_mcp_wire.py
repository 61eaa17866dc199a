import json

import pytest

pytest.importorskip("mcp_types")

from hypothesis import given
from hypothesis import strategies as st
from mcp_types import jsonrpc_message_adapter

from loop_close.mcp_server.server import mended


@pytest.mark.parametrize(
    ("line", "after"),
    [
        (r'"a"', r'"a"'),
        (r'"\ud83d"', r'"\ufffd"'),
        (r'"\uDE00"', r'"\ufffd"'),
        (r'"\ud83d\ude00"', r'"\ud83d\ude00"'),
        (r'"\ud83d\ud83d\ude00"', r'"\ufffd\ud83d\ude00"'),
        (r'"\\ud83d"', r'"\\ud83d"'),
        (r'"\\\ud83d"', r'"\\\ufffd"'),
        (r'"\ud83d\n"', r'"\ufffd\n"'),
        ("\\", "\\"),
        (r'"\ud8', r'"\ud8'),
    ],
)
def test_halves_of_characters_are_replaced(line, after):
    assert mended(line) == after


@given(st.text(st.characters() | st.characters(categories=["Cs"])))
def test_the_package_reads_every_text(text):
    message = {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"text": text}}
    read = jsonrpc_message_adapter.validate_json(mended(json.dumps(message)))
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert len(read.params["text"]) == len(json.loads(json.dumps(text)))
    assert "\ufffd" in paired or read.params["text"] == text


@given(st.text())
def test_text_without_them_is_untouched(text):
    assert json.loads(mended(json.dumps(text))) == text
