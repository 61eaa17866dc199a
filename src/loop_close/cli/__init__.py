"""The command ``loop-close``: parse the words, call the app, print."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from loop_close.cli.parser import UsageError, parse
from loop_close.cli.streams import OutputError, Streams

#: Exit codes of the command itself (sysexits.h): wrong usage, our own fault.
USAGE, FAULT = 64, 70
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None, streams: Streams | None = None) -> int:
    """Run one command.

    :param arguments: its words, without the program's name; None for those of the process.
    :param streams: what to read and write; None for those of the process.
    :returns: the exit code: 0 green, 1 failing, 3 stuck (``status``), 64 wrong usage, 70 a fault of loop-close;
        that of ``run`` is the exit code of the command it ran.
    """
    streams = streams or Streams.of_process()
    try:
        return _run(sys.argv[1:] if arguments is None else arguments, streams)
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


def _run(arguments: Sequence[str], streams: Streams) -> int:
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
    from loop_close.text.fault import fault_text

    streams.complain(f"a fault of loop-close itself: {fault_text(fault)}")
    return FAULT
