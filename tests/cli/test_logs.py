"""The end of what is longer than is read."""

import io

import pytest

from loop_close.cli import Streams
from loop_close.cli.analyze import log_of
from loop_close.log_files import TAIL, Tail
from loop_close.readers.streams import MAX_STREAM
from loop_close.text import decoded


def read(tmp_path, data, way):
    path = tmp_path / "log"
    path.write_bytes(data)
    streams = Streams(input=io.BytesIO(data), output=io.StringIO(), errors=io.StringIO())
    return log_of(str(path) if way == "file" else "-", streams)


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 20, 21, 1_000])
@pytest.mark.parametrize("piece", [1, 3, 1_000])
def test_tail_is_the_end(size, piece):
    data = bytes(65 + n % 26 for n in range(size))
    tail = Tail(limit=10)
    for at in range(0, size, piece):
        tail.add(data[at : at + piece])
    kept = tail.text()
    assert data.decode().endswith(kept)
    assert min(size, 10) <= len(kept) <= 11


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("size", [1, 4, 5, 6, 50, 333])
@pytest.mark.parametrize("piece", [1, 2, 3, 1_000])
def test_tail_of_two_byte_characters_is_read_as_such(encoding, size, piece):
    text = "".join(chr(0x100 + n) for n in range(size))
    data = f"\ufeff{text}".encode(encoding)
    tail = Tail(limit=10)
    for at in range(0, len(data), piece):
        tail.add(data[at : at + piece])
    kept = tail.text()
    assert text.endswith(kept)
    assert len(kept) >= min(size, 4)


@pytest.mark.large
@pytest.mark.parametrize("way", ["file", "pipe"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("extra", [0, 1, 2, 3])
def test_log_longer_than_the_tail_is_read_at_its_end(tmp_path, way, encoding, extra):
    text = "x" * extra + "é\n" * (TAIL * 2 // 3) + "the end"
    kept = read(tmp_path, text.encode(encoding), way)
    assert kept == text[-(MAX_STREAM + 1) :]


@pytest.mark.parametrize("way", ["file", "pipe"])
def test_short_log_is_read_whole(tmp_path, way):
    assert read(tmp_path, b"", way) == ""
    assert read(tmp_path, b"\xff\xfe", way) == ""
    assert read(tmp_path, "a\r\né".encode(), way) == "a\r\né"


def test_invalid_text_is_read_with_replacements():
    assert decoded(b"a\xffb\x00") == "a\ufffdb\x00"
    assert decoded(b"\xff\xfea\x00b") == "a\ufffd"
