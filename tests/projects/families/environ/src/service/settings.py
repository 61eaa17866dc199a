"""Settings come from the environment."""

import os


def read(name):
    return os.environ[name]


def database():
    return {"url": read("LEDGER_DATABASE_URL"), "pool": 5}


def cache():
    return {"url": read("LEDGER_CACHE_URL"), "ttl": 60}


def mail():
    return {"host": read("LEDGER_MAIL_HOST"), "port": 25}


def storage():
    return {"bucket": read("LEDGER_BUCKET")}
