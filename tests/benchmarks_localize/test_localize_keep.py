"""Observations kept by one version and read by another."""

import pickle

import msgspec
from benchmarks.localize import keep


class Record(msgspec.Struct, frozen=True, kw_only=True):
    old: int = 0
    gone: int = 1


def test_new_fields_have_their_defaults_and_those_that_are_gone_are_left_out(monkeypatch):
    data = keep.dumps(Record(old=5, gone=7))
    changed = msgspec.defstruct(
        "Record", [("new", tuple, ()), ("old", int, 0)], frozen=True, kw_only=True, module=__name__
    )
    monkeypatch.setitem(globals(), "Record", changed)
    read = pickle.loads(data)
    assert (read.new, read.old) == ((), 5)
