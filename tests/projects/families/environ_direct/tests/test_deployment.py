"""The tests read the environment themselves, as deployment checks do."""

import os
import sys


def test_host():
    assert os.environ["LEDGER_HOST"] == "localhost"


def test_port():
    assert int(os.environ["LEDGER_PORT"]) > 1024


def test_user():
    user = os.environ["LEDGER_USER"]
    assert user


def test_tls():
    assert os.environ["LEDGER_TLS"] in ("on", "off")


def test_data_dir():
    assert os.path.isabs(os.environ["LEDGER_DATA_DIR"])


def test_token():
    assert len(os.environ["LEDGER_TOKEN"]) == 32


def test_platform():
    assert sys.platform
