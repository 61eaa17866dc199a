"""Regular expressions that are compiled when they are first used: a run imports modules with many, and uses few."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_compile_pattern = re.compile  # programs under test replace functions while we run


def pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled when one of its methods is first used.

    :param source: as for :func:`re.compile`, like ``flags``; an error in it shows at the first use.
    """
    return cast("re.Pattern[AnyStr]", _Uncompiled(source, flags))


class _Uncompiled:
    """The attributes of a compiled pattern, each looked up there once."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self.pattern = source
        self._flags = flags

    def __reduce__(self) -> tuple[Any, ...]:
        return _Uncompiled, (self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(_compile_pattern(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value
