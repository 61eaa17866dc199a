"""Summarize the root causes of logs on more than one machine, with Dask.

What ``loop-close analyze DIRECTORY --json`` does with the processes of one machine, Dask does with the
workers of a cluster: it maps the same function over the same files, and the results are added up as they come. The
output is the same to the byte.

    pip install 'pytest-loop-close[big]'
    python summarize_with_dask.py DIRECTORY                         # workers on this machine
    python summarize_with_dask.py DIRECTORY tcp://scheduler:8786    # the workers of a cluster

The workers need loop-close, and the directory under the same path, for example on a network file system. For logs
that no file system has, map ``loop_close.summary_of_log(name, text)`` over the texts instead.

If a worker dies, its chunk of logs is tried again, three times by default (Dask's setting
``distributed.scheduler.allowed-failures``). Then the logs of the chunk are named as not read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import islice

from distributed import Client, KilledWorker, as_completed

from loop_close import LogSummary, combine_summaries, log_names, summary_json, summary_of_file, unread_log

CHUNK = 50
AT_ONCE = 1_000  # chunks that the scheduler holds; more are sent when some are done


def summary_of_chunk(directory: str, names: list[str], root: str) -> LogSummary:
    total = LogSummary()
    for name in names:
        total = combine_summaries(total, summary_of_file(os.path.join(directory, name), name, root))
    return total


def chunks(directory: str) -> Iterator[list[str]]:
    names = log_names(directory)
    while chunk := list(islice(names, CHUNK)):
        yield chunk


def summarize(directory: str, client: Client) -> LogSummary:
    directory, root = os.path.abspath(directory), os.getcwd()
    work = chunks(directory)
    running = {}
    results = as_completed()

    def submit(number: int) -> None:
        for names in islice(work, number):
            future = client.submit(summary_of_chunk, directory, names, root, pure=False)
            running[future] = names
            results.add(future)

    total = LogSummary()
    submit(AT_ONCE)
    for future in results:
        names = running.pop(future)
        try:
            found = future.result()
        except KilledWorker:
            found = LogSummary()
            for name in names:
                found = combine_summaries(found, unread_log(name, "the workers that read it died"))
        total = combine_summaries(total, found)
        submit(1)
    return total


def main(directory: str, *scheduler: str) -> int:
    with Client(*scheduler) if scheduler else Client(dashboard_address=None) as client:
        summary = summarize(directory, client)
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(summary_json(summary))
    return 0 if summary.is_green else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
