"""noxfile.py: every session joins one nextprompt.md. Run it with: nox."""

import nox

from loop_close import nox as loop_close


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session):
    """The tests, on each interpreter."""
    session.install("-e", ".", "pytest", "pytest-loop-close")
    loop_close.run(session, "pytest", *session.posargs)


@nox.session
def lint(session):
    """Rules."""
    session.install("ruff")
    loop_close.run(session, "ruff", "check", "src", "tests")


@nox.session
def types(session):
    """Static types."""
    session.install("mypy", "-e", ".")
    loop_close.run(session, "mypy", "src")
