"""Whether the machine failed and not the program: time limits, network, disk, memory, dead workers."""

from __future__ import annotations

import re

from loop_close.facts import is_a, links
from loop_close.model import Failure, Raised

_KINDS = frozenset(("timeout", "crash", "internal-error"))
#: ``TimeoutError`` and the like are found by the detector of timeouts.
_NETWORK = (
    *(
        "ConnectionError",
        "gaierror",
        "herror",
        "ConnectError",
        "EndpointConnectionError",
        "ServerNotFoundError",
    ),
    *(
        "NewConnectionError",
        "MaxRetryError",
        "ClientConnectorError",
        "NameResolutionError",
        "RemoteDisconnected",
    ),
)
_SAID = re.compile(
    r"\[Errno (?:28|122|24|23|12|101|113|110|111|-2|-3)\]|No space left on device|Disk quota exceeded"
    r"|Too many open files|Cannot allocate memory|Network is unreachable|No route to host"
    r"|Temporary failure in name resolution|Name or service not known|database or disk is full"
    r"|Cannot connect to the Docker daemon"
)

#: pytest-xdist, where the order or the ids of tests differ from process to process.
_DISAGREE = re.compile(r"Different tests were collected between ")


def is_infrastructure(kind: str, failure: Failure) -> bool:
    """Whether another run of the same code may well pass.

    By the detector's ``kind``, and by what was raised anywhere in the chain. A refused connection to a port of this
    very machine counts too: the service was not there.
    """
    is_disagreement = _DISAGREE.match(failure.message) is not None
    return is_disagreement or kind in _KINDS or any(_is_of_machine(link) for link in links(failure.raised))


def _is_of_machine(raised: Raised) -> bool:
    if is_a(raised, *_NETWORK, "MemoryError"):
        return True
    return is_a(raised, "OSError", "OperationalError") and _SAID.search(raised.message[:2_000]) is not None
