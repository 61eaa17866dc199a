"""Observations kept by one version and read by another."""

import pickle

import msgspec
from benchmarks.localize import keep

from loop_close import Observation
from loop_close.model import Failure, Frame, Raised


def test_the_same_version_reads_the_same(tmp_path):
    frame = Frame(file="shop/tax.py", line=3, function="tax")
    failure = Failure(
        nodeid="t.py::a", phase="call", message="m", raised=Raised(type="E", message="m", frames=(frame,))
    )
    observation = Observation(exit_code=1, failures=(failure,))
    (tmp_path / "a.pickle").write_bytes(keep.dumps(observation))
    assert keep.load(tmp_path, "a") == observation
    assert keep.load(tmp_path, "b") is None


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
