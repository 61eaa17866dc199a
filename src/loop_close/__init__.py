"""Turn a red test run into the next prompt for a coding agent.

Public names are imported when they are first used: pytest loads this package on every run through its
entry point, asked for or not, and that has to cost next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loop_close.agent.analyzer import ResponseAnalyzer
    from loop_close.agent.guard import LimitReached, Limits, SafetyGuard
    from loop_close.agent.response import AnalysisContext, AnalysisResult, CompletionSignal, StuckSignal
    from loop_close.agent.strategies import (
        Breaker,
        Decision,
        ExitStrategy,
        FixPlan,
        FixStep,
        Standing,
        parse_strategy,
    )
    from loop_close.agent.supervisor import Supervisor, SupervisorLimits, ToolResult, Trip
    from loop_close.detectors import DEFAULT_DETECTORS
    from loop_close.detectors.contract import Detector
    from loop_close.library import (
        LogSummary,
        LoopClosureReport,
        close_loop,
        combine_summaries,
        emit_no_stall_report,
        emit_report,
        list_detector_ids,
        observe,
        run_detectors,
        summary_json,
        summary_of_log,
        summary_text,
        unread_log,
    )
    from loop_close.log_files import log_names, summary_of_file
    from loop_close.model import Evidence, Failure, Frame, Observation, Raised, Report, RootCause
    from loop_close.prompt.compose import Section
    from loop_close.records import Loop, Signal, State

    __version__: str

#: The names by the module that each is imported from.
_NAMES = {
    "loop_close.agent.analyzer": ("ResponseAnalyzer",),
    "loop_close.agent.guard": ("LimitReached", "Limits", "SafetyGuard"),
    "loop_close.agent.response": ("AnalysisContext", "AnalysisResult", "CompletionSignal", "StuckSignal"),
    "loop_close.agent.strategies": (
        "Breaker",
        "Decision",
        "ExitStrategy",
        "FixPlan",
        "FixStep",
        "Standing",
        "parse_strategy",
    ),
    "loop_close.agent.supervisor": ("Supervisor", "SupervisorLimits", "ToolResult", "Trip"),
    "loop_close.detectors": ("DEFAULT_DETECTORS",),
    "loop_close.detectors.contract": ("Detector",),
    "loop_close.library": (
        "LogSummary",
        "LoopClosureReport",
        "close_loop",
        "combine_summaries",
        "emit_no_stall_report",
        "emit_report",
        "list_detector_ids",
        "observe",
        "run_detectors",
        "summary_json",
        "summary_of_log",
        "summary_text",
        "unread_log",
    ),
    "loop_close.log_files": ("log_names", "summary_of_file"),
    "loop_close.model": ("Evidence", "Failure", "Frame", "Observation", "Raised", "Report", "RootCause"),
    "loop_close.prompt.compose": ("Section",),
    "loop_close.records": ("Loop", "Signal", "State"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "DEFAULT_DETECTORS",
    "AnalysisContext",
    "AnalysisResult",
    "Breaker",
    "CompletionSignal",
    "Decision",
    "Detector",
    "Evidence",
    "ExitStrategy",
    "Failure",
    "FixPlan",
    "FixStep",
    "Frame",
    "LimitReached",
    "Limits",
    "LogSummary",
    "Loop",
    "LoopClosureReport",
    "Observation",
    "Raised",
    "Report",
    "ResponseAnalyzer",
    "RootCause",
    "SafetyGuard",
    "Section",
    "Signal",
    "Standing",
    "State",
    "StuckSignal",
    "Supervisor",
    "SupervisorLimits",
    "ToolResult",
    "Trip",
    "__version__",
    "close_loop",
    "combine_summaries",
    "emit_no_stall_report",
    "emit_report",
    "list_detector_ids",
    "log_names",
    "observe",
    "parse_strategy",
    "run_detectors",
    "summary_json",
    "summary_of_file",
    "summary_of_log",
    "summary_text",
    "unread_log",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home, once.

    There is no ``__dir__`` beside it: a package that walks ``sys.modules``, such as freezegun, would import them all.
    """
    if name == "__version__":
        from importlib.metadata import version  # 20 ms that most starts of the command can do without

        value: Any = version("pytest-loop-close")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
