"""What hosts send: made after their documentation, and below ``recorded`` as they really sent it."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent / "payloads"


def recorded(name, **changed):
    """The bytes of a payload; keys that are given replace those in it, or take it out where they are ...."""
    data = (FOLDER / f"{name}.json").read_bytes()
    if not changed:
        return data
    document = {**json.loads(data.decode("utf-8-sig")), **changed}
    return json.dumps({key: value for key, value in document.items() if value is not ...}).encode()
