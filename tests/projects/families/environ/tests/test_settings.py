import os

from service import settings


def test_database_url():
    assert settings.database()["url"].startswith("postgresql://")


def test_database_pool():
    assert settings.database()["pool"] == 5


def test_cache():
    assert settings.cache()["ttl"] == 60


def test_mail():
    assert settings.mail()["port"] == 25


def test_bucket():
    assert settings.storage()["bucket"]


def test_region():
    assert settings.read("LEDGER_REGION") == "eu-west-1"


def test_log_level():
    assert settings.read("LEDGER_LOG_LEVEL") in {"info", "debug"}


def test_path_is_there():
    assert os.environ["PATH"]
