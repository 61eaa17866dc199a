"""Turn a red test run into the next prompt for a coding agent.

Public names are imported when they are first used: pytest loads this package on every run through its
entry point, asked for or not, and that has to cost next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers, which read no table
    # isort: off
    from loop_close.detectors import DEFAULT_DETECTORS as DEFAULT_DETECTORS, Detector as Detector
    from loop_close.library import (
        LogSummary as LogSummary,
        LoopClosureReport as LoopClosureReport,
        close_loop as close_loop,
        combine_summaries as combine_summaries,
        detect_fixme_markers as detect_fixme_markers,
        detect_incomplete_functions as detect_incomplete_functions,
        detect_missing_modules as detect_missing_modules,
        detect_not_implemented as detect_not_implemented,
        detect_stack_traces as detect_stack_traces,
        detect_syntax_errors as detect_syntax_errors,
        detect_test_failures as detect_test_failures,
        detect_todo_markers as detect_todo_markers,
        detect_typecheck_errors as detect_typecheck_errors,
        detect_unhandled_async as detect_unhandled_async,
        emit_no_stall_report as emit_no_stall_report,
        emit_report as emit_report,
        list_detector_ids as list_detector_ids,
        observe as observe,
        run_detectors as run_detectors,
        summary_json as summary_json,
        summary_of_log as summary_of_log,
        summary_text as summary_text,
    )
    from loop_close.model import (
        Evidence as Evidence,
        Failure as Failure,
        Frame as Frame,
        Observation as Observation,
        Raised as Raised,
        Report as Report,
        RootCause as RootCause,
    )
    from loop_close.records import Loop as Loop, Signal as Signal, State as State
    from loop_close.seeds.analyzer import (
        AnalysisContext as AnalysisContext,
        AnalysisResult as AnalysisResult,
        CompletionSignal as CompletionSignal,
        ResponseAnalyzer as ResponseAnalyzer,
        StuckSignal as StuckSignal,
    )
    from loop_close.seeds.guard import (
        LimitReached as LimitReached,
        Limits as Limits,
        SafetyGuard as SafetyGuard,
    )
    from loop_close.seeds.strategies import (
        Decision as Decision,
        ExitStrategy as ExitStrategy,
        FixPlan as FixPlan,
        FixStep as FixStep,
        Standing as Standing,
        parse_strategy as parse_strategy,
    )
    from loop_close.seeds.supervisor import Supervisor as Supervisor, ToolResult as ToolResult

    __version__: str

#: The public names by the module that each is imported from.
_NAMES = {
    "loop_close.detectors": "DEFAULT_DETECTORS Detector",
    "loop_close.library": (
        "LogSummary LoopClosureReport close_loop combine_summaries detect_fixme_markers "
        "detect_incomplete_functions detect_missing_modules detect_not_implemented detect_stack_traces "
        "detect_syntax_errors detect_test_failures detect_todo_markers detect_typecheck_errors "
        "detect_unhandled_async emit_no_stall_report emit_report list_detector_ids observe run_detectors "
        "summary_json summary_of_log summary_text"
    ),
    "loop_close.model": "Evidence Failure Frame Observation Raised Report RootCause",
    "loop_close.records": "Loop Signal State",
    "loop_close.seeds.analyzer": (
        "AnalysisContext AnalysisResult CompletionSignal ResponseAnalyzer StuckSignal"
    ),
    "loop_close.seeds.guard": "LimitReached Limits SafetyGuard",
    "loop_close.seeds.strategies": "Decision ExitStrategy FixPlan FixStep Standing parse_strategy",
    "loop_close.seeds.supervisor": "Supervisor ToolResult",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", *_HOMES]


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
