"""What was done to a test, in one record."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

Kind = Literal["deleted", "not-run", "weakened", "replaced", "unclear", "not-compared", "hint"]

#: What is said of a test whose new name an entry of the setting ``known`` matches.
BY_KNOWN = "is named by `known`: its failure does not count"
_MAX_LINES = 12
_MAX_WIDTH = 200


@dataclass(frozen=True)
class TestChange:
    """What was done to a test since the baseline.

    :ivar file: relative, with "/"; the old name if the file is gone.
    :ivar test: qualified name, ``TestCart.test_total``; empty for a file or a configuration, the name of a hook or
        fixture for a conftest.
    :ivar kind: ``deleted``, ``not-run`` (skipped, deselected, no longer collected), ``weakened`` (it demands less),
        ``replaced`` (what it tests is patched away), ``unclear`` (a person has to look), ``not-compared`` (it is
        too large, or too much changed at once), ``hint`` (product code).
    :ivar what: one plain clause with the facts.
    :ivar before: the changed lines as they were; ``after``: as they are now.
    :ivar line: in the file as it is now, 0 where there is none.
    """

    __test__ = False  # pytest would take the name for a test class

    file: str
    test: str
    kind: Kind
    what: str
    before: str = ""
    after: str = ""
    line: int = 0

    @property
    def id(self) -> str:
        """The node id of pytest, or the path of the file."""
        return "::".join([self.file, *self.test.split(".")]) if self.test else self.file

    @property
    def blocks(self) -> bool:
        """Whether a green run is not enough until the change is undone or accepted."""
        return self.kind != "hint"


def fingerprint(change: TestChange) -> str:
    """Identify exactly this change: another edit of the same test has another fingerprint."""
    parts = (change.id, change.kind, change.what, change.before, change.after)
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def is_named_by_known(what: str) -> bool:
    """Whether a change is, or may be, such a test; the facts may have been cut to be shown."""
    return what.startswith("now `") and what.endswith((BY_KNOWN, "…"))


def excerpt(text: str) -> str:
    """The first lines of a text, each cut to a readable width."""
    lines = [line[:_MAX_WIDTH] for line in text.strip("\n").split("\n")]
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], f"… {len(lines) - _MAX_LINES + 1} more lines"]
    return "\n".join(lines)
