"""Which of the paths that output names are files of the project; by their spelling alone."""

from __future__ import annotations

import re

_FOREIGN = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages)/|(?:^|/)lib(?:64)?/python3(?:\.\d+)?t?/|/Lib/|^<|(?:^|/)\.(?:venv|tox|nox)/"
)
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")


def project_path(path: str, root: str = "") -> str | None:
    """The path as it counts from the root, with forward slashes; None for a file that is not the project's.

    :param root: the project's root, empty when it is not known: then an absolute path outside of any
        interpreter is taken for the project's and stays as it is.
    """
    path = path.replace("\\", "/")
    root = root.replace("\\", "/").rstrip("/")
    if root and path.startswith(f"{root}/"):
        path = path[len(root) + 1 :]
    elif root and _ABSOLUTE.match(path):
        return None
    while path.startswith("./"):
        path = path[2:]
    return None if not path or path.startswith("../") or _FOREIGN.search(path) else path
