"""A PostgreSQL server of its own for the tests that need one: in a temporary folder, by a socket alone."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

#: Fewer than the writers of the tests: those that are refused have to try again.
CONNECTIONS = 60
_USERS = ("postgres", "nobody")


class Server:
    """A running server.

    :ivar folder: has its data and its socket.
    """

    def __init__(self, folder, programs, user):
        self.folder, self._programs, self._user = Path(folder), programs, user
        self._number = 0

    def program(self, name, *words, check=True):
        """Run one of its programs; as root, by another user: the server refuses root."""
        process = (
            {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []} if self._user else {}
        )
        return subprocess.run(
            [self._programs / name, *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=check,
            **process,
        )

    def start(self):
        """Start it, and wait until it answers."""
        options = f"-c listen_addresses='' -c max_connections={CONNECTIONS} -c fsync=off -k {self.folder}"
        self.program("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def stop(self):
        """Stop it; connections are closed."""
        self.program("pg_ctl", "-D", "data", "-w", "-m", "immediate", "stop", check=False)

    def url(self, database="postgres", user="loop"):
        """The URL of a database."""
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def new_database(self):
        """The URL of an empty database."""
        import psycopg

        self._number += 1
        name = f"test_{self._number}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)


def _programs():
    """The folder of its programs; Debian puts them on no path."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@pytest.fixture(scope="session")
def postgres_server():
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
    user = None
    if os.name == "posix" and os.getuid() == 0:
        import pwd

        for name in _USERS:
            with contextlib.suppress(KeyError):
                user = user or pwd.getpwnam(name)
        if user is None:
            pytest.skip("PostgreSQL does not run as root, and there is no other user to run it")
    # Not below pytest's own folder, which no other user may enter, and short: the path of a socket is.
    folder = Path(tempfile.mkdtemp(prefix="lc-pg-"))
    try:
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        server = Server(folder, programs, user)
        server.program(
            "initdb", "-D", "data", "-A", "trust", "-U", "loop", "--no-sync", "-E", "UTF8", "--no-locale"
        )
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database(postgres_server):
    """The URL of an empty database."""
    return postgres_server.new_database()
