"""Text of a file as Python reads it."""

from __future__ import annotations

import io
import tokenize


def decoded(content: bytes) -> str:
    r"""The text, by its BOM or coding cookie, else as UTF-8; what cannot be decoded becomes ``U+FFFD``.

    Every line ends in ``\n``, as for the parser: other line breaks are formatting.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        text = content.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")
