"""The tables of pytest and of the checks in files that other tools share: read, compared, put back."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from loop_close.conventions import OF_PYTEST, SHARED, TEST_FOLDERS

_TOML_HEADER = re.compile(r"^(?=\[\[?[^\[\]\n]+\]\]?[ \t]*(?:#.*)?$)", re.M)
_INI_HEADER = re.compile(r"^(?=\[)", re.M)
_TOML_OURS = re.compile(r"\[\[?\s*tool\s*\.\s*[\"']?pytest\b")
_INI_OURS = re.compile(r"\[(?:tool:)?pytest\]")
# Up to the next key or table.
_FILES = re.compile(r"^\s*python_files\s*=((?:.*\n(?!\s*[\w.-]+\s*=|\[[\w.:]+\]\s*$))*.*)", re.M)
_PATTERN = re.compile(r"[\w*?-]+\.py\b|[\w?-]+\*")


class SpliceError(ValueError):
    """The tables cannot be put back."""


def is_shared(path: str) -> bool:
    """Whether only some tables of the file count. Below test folders it is data of the tests."""
    *folders, name = path.split("/")
    return name in SHARED and TEST_FOLDERS.isdisjoint(folders)


def is_own(path: str) -> bool:
    """Whether the file configures pytest and nothing else."""
    return path.rpartition("/")[2] in OF_PYTEST


def of(path: str, text: str) -> str:
    """What counts of a file that others share, as text to compare; all of it if it cannot be read."""
    if not path.endswith(".toml"):
        return "\n".join(part.strip() for part in _INI_HEADER.split(text) if _INI_OURS.match(part))
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return text
    return json.dumps(_table(document.get("tool")).get("pytest"), default=str, sort_keys=True)


def checks(text: str) -> dict[str, str]:
    """The checks that a ``pyproject.toml`` names; none if it cannot be read."""
    try:
        found = _table(_table(_table(tomllib.loads(text)).get("tool")).get("loop-close")).get("checks")
    except tomllib.TOMLDecodeError:
        return {}
    return {str(name): str(command) for name, command in _table(found).items()}


def patterns(texts: Iterable[str]) -> tuple[str, ...]:
    """How pytest is told that test modules are named, in INI or TOML; not a pattern that matches every module."""
    found = [word for text in texts for match in _FILES.finditer(text) for word in _PATTERN.findall(match[1])]
    return tuple(dict.fromkeys(each for each in found if each != "*.py"))


def put_back(path: str, present: str, old: str) -> str:
    """The present file with the tables of pytest as they were.

    :raises SpliceError: where the tables of a TOML file are written in a way that cannot be taken apart.
    """
    is_toml = path.endswith(".toml")
    header, ours = (_TOML_HEADER, _TOML_OURS) if is_toml else (_INI_HEADER, _INI_OURS)
    text = "".join(part for part in header.split(present) if not ours.match(part)).rstrip() + "\n"
    text += "".join(f"\n{part.rstrip()}\n" for part in header.split(old) if ours.match(part))
    try:
        if is_toml and _apart(text) != (_apart(old)[0], _apart(present)[1]):
            raise SpliceError(f"the tables of pytest in {path} cannot be put back")
    except tomllib.TOMLDecodeError as error:
        raise SpliceError(f"{path} is not valid TOML: {error}") from None
    return text


def _apart(text: str) -> tuple[Any, Any]:
    """What is of pytest in a TOML file, and the rest."""
    document = tomllib.loads(text)
    tool = dict(_table(document.pop("tool", {})))
    pytest = tool.pop("pytest", None)
    return pytest, (document, tool)


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
