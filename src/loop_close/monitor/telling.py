"""What turns an exception or the operands of an assertion into words: a ``__repr__`` that it calls is not tested."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType

# Functions that tell, each with the module that has to call it where others may do so for their own ends. Where
# one of pytest's is gone, such reprs just count.
_TELLING = (
    ("pytest", "ExceptionInfo.getrepr", ""),
    ("_pytest.assertion.rewrite", "_saferepr", ""),
    ("_pytest.assertion.rewrite", "_call_reprcompare", ""),
    ("unittest.util", "safe_repr", ""),
    ("pprint", "pformat", "unittest.case"),
)


class Telling:
    """Follows the telling that is going on, from where it begins to where it returns.

    One that ends by an exception never returns: what it ran counts, as it may be why the test fails (a time limit).

    :ivar codes: the functions that tell, by the id of their code objects.
    :ivar frame: where the telling that goes on began; None for none.
    """

    def __init__(self) -> None:
        self.codes: dict[int, CodeType] = {}
        self._callers: dict[int, str] = {}
        for module, name, caller in _TELLING:
            function = _attribute(sys.modules.get(module), name)
            if isinstance(function, FunctionType):
                self.codes[id(function.__code__)] = function.__code__
                self._callers[id(function.__code__)] = caller
        self.frame: FrameType | None = None
        self._begun = 0

    def begin(self, frame: FrameType, now: int) -> None:
        """One of those functions is called; whether it begins to tell, or is part of a telling, is found out here.

        :param now: how much ran until now.
        """
        caller, above = self._callers[id(frame.f_code)], frame.f_back
        if caller and (above is None or above.f_globals.get("__name__") != caller):
            return
        if self.frame is None or all(each is not self.frame for each in _above(frame)):
            self.frame, self._begun = frame, now

    def end(self, frame: FrameType) -> int | None:
        """One of those functions returns.

        :return: how much had run when the telling began; None where it goes on.
        """
        if frame is not self.frame:
            return None
        self.frame = None
        return self._begun

    def forget(self) -> None:
        """What began will not return, or what ran until now was taken already."""
        self.frame = None


def _attribute(owner: object, path: str) -> object:
    for name in path.split("."):
        owner = getattr(owner, name, None)
    return owner


def _above(frame: FrameType) -> Iterator[FrameType]:
    above = frame.f_back
    while above is not None:
        yield above
        above = above.f_back
