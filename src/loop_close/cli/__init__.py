"""The command ``loop-close``: parse the arguments, call the app, print."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from loop_close.cli.streams import OutputError, Streams, UsageError

#: Exit codes of the command itself (sysexits.h): wrong usage, internal error.
USAGE, FAULT = 64, 70
#: A variable that says in what a command runs: ``drive`` or ``hook``.
INSIDE = "LOOP_CLOSE_INSIDE"
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None, streams: Streams | None = None) -> int:
    """Run one command.

    :param arguments: its words, without the program's name; None for those of the process.
    :param streams: what to read and write; None for those of the process.
    :returns: the exit code: 0 green, 1 failing, 3 stuck (``status``), 64 wrong usage, 70 internal error;
        that of ``run`` is the exit code of the command it ran.
    """
    is_process = arguments is None and streams is None
    words, streams = list(sys.argv[1:] if arguments is None else arguments), streams or Streams.of_process()
    try:
        match words:
            case ["hook", "--host", name] if not name.startswith("-"):
                return _hook(name, streams, is_process=is_process)
        return _run(words, streams)
    except UsageError as error:
        streams.complain(str(error))
        return USAGE
    except BrokenPipeError:
        streams.forget_output()
        return 0
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as fault:
        return _told(fault, streams)


def _hook(name: str, streams: Streams, *, is_process: bool) -> int:
    """Answer a host at once: it waits, and to make the parsers of all commands takes a while."""
    if is_process:
        gc.disable()  # it is over before there is anything to collect
        os.environ[INSIDE] = "hook"  # for what an exit strategy starts
    from loop_close.cli.hook import asked

    code = asked(name, streams)
    if is_process:
        os._exit(code)  # what is said is written, and to take down what was loaded takes a tenth of the time
    return code


def _run(arguments: Sequence[str], streams: Streams) -> int:
    from loop_close.cli.parser import parse

    try:
        options = parse(arguments)
    except SystemExit as ended:
        streams.put("")  # what argparse has written for --help and --version goes out now, not at the end
        return int(ended.code or 0)
    code: int = options.command(options, streams)
    return code


def _told(fault: Exception, streams: Streams) -> int:
    if isinstance(fault, OutputError):
        streams.complain(str(fault))
        streams.forget_output()
        return FAULT
    from loop_close.text import fault_text

    streams.complain(f"internal error of loop-close: {fault_text(fault)}")
    return FAULT
