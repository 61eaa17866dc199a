import ast
from random import Random

from benchmarks.localize.faults import Mutation, load, put
from benchmarks.localize.mutate import KINDS, mutations

SOURCE = '''\
import os
from shop import tax


class Cart:
    """One."""

    def total(self, rate, net=0):
        """All of it."""
        prices = [p for p in self.lines if p.sum > rate and not p.free]
        self.seen = True
        self.lines.sort(key=rate)
        if len(prices) == 1:
            return tax.add(net + rate, "ä", rate, places=2)
        return None

    async def outer(self):
        def inner(a, b):
            return a - b

        return inner
'''


def test_every_kind_is_made_and_changes_one_line_only():
    faults = mutations(SOURCE, project="shop", file="cart.py", random=Random(1))
    assert {f.kind for f in faults} == set(KINDS)
    for fault in faults:
        changed = fault.apply(SOURCE)
        pairs = zip(SOURCE.split("\n"), changed.split("\n"), strict=True)
        assert [n for n, (old, new) in enumerate(pairs, 1) if old != new] == [fault.line]
        ast.parse(changed)


def one(**more):
    place = {"project": "p", "kind": "k", "file": "a.py", "line": 2, "column": 4, "function": "f"}
    return Mutation(**{**place, "before": "return 1", "after": "return 2", **more})


def test_a_fault_is_put_and_taken_out(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"def f():\r\n    return 1  # \xc3\xa4\r\n")
    with put(one(), tmp_path) as changed:
        assert path.read_bytes() == b"def f():\r\n    return 2  # \xc3\xa4\r\n" == changed.encode()
    assert b"return 1" in path.read_bytes()


def test_the_list_is_what_it_is_said_to_be():
    faults = load()
    assert len(faults) >= 1_000
    assert len({f.id for f in faults}) == len(faults)
    assert {f.kind for f in faults} == set(KINDS)
    assert sum(f.half == "report" for f in faults) >= 500
    assert {f.half for f in faults} == {"tune", "report"}
    assert all(f.failing for f in faults)
    assert max(sum(f.kind == kind for f in faults) for kind in ("broken-import", "not-implemented")) <= 24
