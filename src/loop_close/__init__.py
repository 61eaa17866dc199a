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
    from loop_close.agent.strategies import Decision, ExitStrategy, FixPlan, FixStep, Standing, parse_strategy
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
    from loop_close.memory import Breaker, Progress, Signal, Thresholds
    from loop_close.model import Evidence, Failure, Frame, Observation, Raised, Report, RootCause
    from loop_close.prompt.compose import Section

    __version__: str

_HOMES = {
    "Breaker": "loop_close.memory",
    "CompletionSignal": "loop_close.agent.response",
    "FixPlan": "loop_close.agent.strategies",
    "FixStep": "loop_close.agent.strategies",
    "LimitReached": "loop_close.agent.guard",
    "Progress": "loop_close.memory",
    "Signal": "loop_close.memory",
    "StuckSignal": "loop_close.agent.response",
    "SupervisorLimits": "loop_close.agent.supervisor",
    "Thresholds": "loop_close.memory",
    "Trip": "loop_close.agent.supervisor",
    "AnalysisContext": "loop_close.agent.response",
    "AnalysisResult": "loop_close.agent.response",
    "DEFAULT_DETECTORS": "loop_close.detectors",
    "Decision": "loop_close.agent.strategies",
    "Detector": "loop_close.detectors.contract",
    "Evidence": "loop_close.model",
    "ExitStrategy": "loop_close.agent.strategies",
    "Failure": "loop_close.model",
    "Frame": "loop_close.model",
    "Limits": "loop_close.agent.guard",
    "Observation": "loop_close.model",
    "Raised": "loop_close.model",
    "Report": "loop_close.model",
    "ResponseAnalyzer": "loop_close.agent.analyzer",
    "RootCause": "loop_close.model",
    "SafetyGuard": "loop_close.agent.guard",
    "Section": "loop_close.prompt.compose",
    "Standing": "loop_close.agent.strategies",
    "Supervisor": "loop_close.agent.supervisor",
    "ToolResult": "loop_close.agent.supervisor",
    "parse_strategy": "loop_close.agent.strategies",
    "LoopClosureReport": "loop_close.library",
    "close_loop": "loop_close.library",
    "emit_no_stall_report": "loop_close.library",
    "emit_report": "loop_close.library",
    "list_detector_ids": "loop_close.library",
    "observe": "loop_close.library",
    "run_detectors": "loop_close.library",
    "LogSummary": "loop_close.library",
    "combine_summaries": "loop_close.library",
    "summary_json": "loop_close.library",
    "summary_of_log": "loop_close.library",
    "summary_text": "loop_close.library",
    "unread_log": "loop_close.library",
    "log_names": "loop_close.log_files",
    "summary_of_file": "loop_close.log_files",
}

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
    "LoopClosureReport",
    "Observation",
    "Progress",
    "Raised",
    "Report",
    "ResponseAnalyzer",
    "RootCause",
    "SafetyGuard",
    "Section",
    "Signal",
    "Standing",
    "StuckSignal",
    "Supervisor",
    "SupervisorLimits",
    "Thresholds",
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
