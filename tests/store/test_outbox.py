"""Runs that wait in the history of this machine until the shared history has them."""

import pytest
from history_cases import ask, begin, save

from loop_close.memory import Run
from loop_close.store import sqlite
from loop_close.store.sqlite import open_history


@pytest.fixture
def history(path):
    with open_history(path) as opened:
        yield opened


def put(history, name, source="pytest", **content):
    history.keep_green(begin(history, source), to_share=(name, {"name": name, **content}))


def names(history, limit=99):
    return [name for name, _ in history.unsent(limit)]


def test_oldest_comes_first_and_what_was_sent_is_gone(history):
    for name in "cab":
        put(history, name)
    assert history.unsent(2) == [("c", {"name": "c"}), ("a", {"name": "a"})]
    history.remove_sent(["c", "b", "x"])
    assert names(history) == ["a"]


@pytest.mark.large
def test_large_runs_come_few_at_a_time(history):
    """Each must arrive within seconds, or none ever would."""
    for name in "abc":
        put(history, name, text=[f"{number * 7919 % 99991:x}" for number in range(90_000)])
    assert [len(names(history)), *names(history)] in ([1, "a"], [2, "a", "b"])
    history.remove_sent(["a", "b"])
    assert names(history) == ["c"]


def test_run_that_is_not_recorded_is_not_sent(history):
    begun = begin(history)
    with pytest.raises(RuntimeError):
        _fail_after_saving(history, begun)
    assert names(history) == []


def _fail_after_saving(history, begun):
    with history.transaction(begun) as transaction:
        transaction.save(Run(number=begun.number), transaction.episode, {}, to_share=("a", {}))
        raise RuntimeError


def test_nothing_waits_without_a_shared_history(history):
    save(history, begin(history))
    assert names(history) == []


def test_reset_forgets_what_waits(history):
    put(history, "a", "one")
    put(history, "b", "two")
    history.reset("one")
    assert names(history) == ["b"]
    history.reset()
    assert names(history) == []


def test_of_too_much_the_oldest_is_dropped(history, path, monkeypatch):
    monkeypatch.setattr(sqlite, "_LARGEST_OUTBOX", 5_000)
    monkeypatch.setattr(sqlite, "_FEW", 2)
    for number in range(20):
        put(history, f"{number:02}", text="x" * 900)
    assert names(history)[-1] == "19"
    ((size,),) = ask(path, "SELECT sum(length(data)) FROM outbox")
    assert 2_000 < size <= 6_000
