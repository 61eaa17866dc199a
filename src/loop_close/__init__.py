"""Turn a red test run into the next prompt for a coding agent.

Public names are imported when they are first used: pytest loads this package on every run through its
entry point, asked for or not, and that has to cost next to nothing.
"""

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loop_close.detectors.contract import Detector
    from loop_close.model import Evidence, Failure, Frame, Observation, Raised, Report, RootCause
    from loop_close.prompt.section import Section

    __version__: str

_HOMES = {
    "Detector": "loop_close.detectors.contract",
    "Evidence": "loop_close.model",
    "Failure": "loop_close.model",
    "Frame": "loop_close.model",
    "Observation": "loop_close.model",
    "Raised": "loop_close.model",
    "Report": "loop_close.model",
    "RootCause": "loop_close.model",
    "Section": "loop_close.prompt.section",
}

__all__ = [
    "Detector",
    "Evidence",
    "Failure",
    "Frame",
    "Observation",
    "Raised",
    "Report",
    "RootCause",
    "Section",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home, once."""
    if name == "__version__":
        value: Any = metadata.version("pytest-loop-close")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Names that are there or can be had."""
    return sorted({*globals(), *__all__})
