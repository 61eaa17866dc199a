"""Turn a red test run into the next prompt for a coding agent.

Public names are imported when they are first used: pytest loads this package on every run through its
entry point, asked for or not, and that has to cost next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loop_close.detectors import DEFAULT_DETECTORS, Detector
    from loop_close.library import (
        LogSummary,
        LoopClosureReport,
        close_loop,
        combine_summaries,
        detect_fixme_markers,
        detect_incomplete_functions,
        detect_missing_modules,
        detect_not_implemented,
        detect_stack_traces,
        detect_syntax_errors,
        detect_test_failures,
        detect_todo_markers,
        detect_typecheck_errors,
        detect_unhandled_async,
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
    from loop_close.seeds.analyzer import (
        AnalysisContext,
        AnalysisResult,
        CompletionSignal,
        ResponseAnalyzer,
        StuckSignal,
    )
    from loop_close.seeds.guard import LimitReached, Limits, SafetyGuard
    from loop_close.seeds.strategies import (
        Breaker,
        Decision,
        ExitStrategy,
        FixPlan,
        FixStep,
        Standing,
        parse_strategy,
    )
    from loop_close.seeds.supervisor import Supervisor, SupervisorLimits, ToolResult, Trip

    __version__: str

#: The names by the module that each is imported from.
_NAMES = {
    "loop_close.detectors": ("DEFAULT_DETECTORS", "Detector"),
    "loop_close.library": (
        "LogSummary",
        "LoopClosureReport",
        "close_loop",
        "combine_summaries",
        "detect_fixme_markers",
        "detect_incomplete_functions",
        "detect_missing_modules",
        "detect_not_implemented",
        "detect_stack_traces",
        "detect_syntax_errors",
        "detect_test_failures",
        "detect_todo_markers",
        "detect_typecheck_errors",
        "detect_unhandled_async",
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
    "loop_close.seeds.analyzer": (
        "AnalysisContext",
        "AnalysisResult",
        "CompletionSignal",
        "ResponseAnalyzer",
        "StuckSignal",
    ),
    "loop_close.seeds.guard": ("LimitReached", "Limits", "SafetyGuard"),
    "loop_close.seeds.strategies": (
        "Breaker",
        "Decision",
        "ExitStrategy",
        "FixPlan",
        "FixStep",
        "Standing",
        "parse_strategy",
    ),
    "loop_close.seeds.supervisor": ("Supervisor", "SupervisorLimits", "ToolResult", "Trip"),
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
    "detect_fixme_markers",
    "detect_incomplete_functions",
    "detect_missing_modules",
    "detect_not_implemented",
    "detect_stack_traces",
    "detect_syntax_errors",
    "detect_test_failures",
    "detect_todo_markers",
    "detect_typecheck_errors",
    "detect_unhandled_async",
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
