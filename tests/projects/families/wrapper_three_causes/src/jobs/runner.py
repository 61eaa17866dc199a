"""Runs jobs by name."""

from jobs import tasks


class JobError(Exception):
    """A job did not finish."""


def run(name, data):
    task = getattr(tasks, name)
    try:
        return task(data)
    except Exception as error:
        raise JobError("job did not finish") from error
