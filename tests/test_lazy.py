"""Lazy classes are like those of the standard library, and every lazy pattern compiles."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
import typing
from dataclasses import field
from importlib import import_module
from pkgutil import walk_packages

import pytest

import loop_close
from loop_close import lazy, model


@lazy.dataclass(frozen=True, kw_only=True, slots=True)
class Lazy:
    """A record."""

    name: str
    size: int = 0
    parts: tuple[str, ...] = ()
    more: dict[str, int] = field(default_factory=dict)

    @property
    def double(self) -> int:
        return 2 * self.size


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Eager:
    """A record."""

    name: str
    size: int = 0
    parts: tuple[str, ...] = ()
    more: dict[str, int] = field(default_factory=dict)


@lazy.dataclass(frozen=True, slots=True)
class Positional:
    left: int
    right: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "right", self.right + 1)


class LazyRow(lazy.NamedTuple):
    """A row."""

    name: str
    size: int | None = None

    @property
    def double(self) -> int:
        return 2 * (self.size or 0)


class EagerRow(typing.NamedTuple):
    """A row."""

    name: str
    size: int | None = None


def refusal(call):
    with pytest.raises((TypeError, AttributeError)) as caught:
        call()
    return type(caught.value), str(caught.value).replace("Eager", "Lazy")


@pytest.mark.parametrize(
    "act",
    [
        lambda kind: kind(),
        lambda kind: kind("a"),
        lambda kind: kind(name="a", other=1),
        lambda kind: setattr(kind(name="a"), "name", "b"),
        lambda kind: delattr(kind(name="a"), "name"),
    ],
    ids=["missing", "positional", "unknown", "set", "delete"],
)
def test_a_lazy_dataclass_refuses_what_a_dataclass_refuses(act):
    assert refusal(lambda: act(Lazy)) == refusal(lambda: act(Eager))


@pytest.mark.parametrize(
    "value_of",
    [
        lambda kind: repr(kind(name="a", more={"b": 1})),
        lambda kind: kind(name="a") == kind(name="a", size=0),
        lambda kind: kind(name="a") == kind(name="b"),
        lambda kind: kind(name="a") == ("a", 0, (), {}),
        lambda kind: hash(kind(name="a", more=())) == hash(kind(name="a", more=())),
        lambda kind: dataclasses.asdict(kind(name="a", parts=("b",))),
        lambda kind: repr(dataclasses.replace(kind(name="a"), size=3)),
        lambda kind: [(each.name, each.type) for each in dataclasses.fields(kind)],
        lambda kind: dataclasses.is_dataclass(kind),
        lambda kind: copy.copy(kind(name="a")) == kind(name="a"),
        lambda kind: copy.deepcopy(kind(name="a", more={"b": 1})) == kind(name="a", more={"b": 1}),
        lambda kind: pickle.loads(pickle.dumps(kind(name="a"))) == kind(name="a"),
        lambda kind: kind(name="a").more is kind(name="a").more,
        lambda kind: hasattr(kind(name="a"), "__dict__"),
        lambda kind: [
            (each.name, each.kind, each.annotation) for each in inspect.signature(kind).parameters.values()
        ],
        lambda kind: inspect.signature(kind).return_annotation,
        lambda kind: (kind.__dataclass_params__.frozen, kind.__dataclass_params__.eq),
        lambda kind: (kind.__doc__, kind.__match_args__, kind.__slots__),
    ],
)
def test_a_lazy_dataclass_does_what_a_dataclass_does(value_of):
    found, expected = value_of(Lazy), value_of(Eager)
    assert (found.replace("Lazy", "Eager") if isinstance(found, str) else found) == expected


def derived_by_hand(kind):
    class Derived(kind):
        def __init__(self, name):
            super().__init__(name=name)

    made = [Derived("a"), Derived("b")]
    refused = refusal(lambda: setattr(made[1], "name", "c"))
    names = list(inspect.signature(Derived).parameters)
    return [each.name for each in made], refused, names, made[0] == made[1], "name='b'" in repr(made[1])


def derived_as_a_dataclass(kind):
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Derived(kind):
        other: int = 1

    made = Derived(name="a", other=2)
    state = made.__getstate__()
    copied = copy.copy(made)
    return repr(made).rpartition(".")[2], made == Derived(name="a"), state, (copied.name, copied.other)


def derived_as_a_dataclass_that_is_not_frozen(kind):
    return refusal(lambda: dataclasses.dataclass(type("Derived", (kind,), {})))


@pytest.mark.parametrize(
    "derive", [derived_by_hand, derived_as_a_dataclass, derived_as_a_dataclass_that_is_not_frozen]
)
def test_classes_that_users_derive_from_records(derive):
    assert derive(Lazy) == derive(Eager)


def test_a_lazy_dataclass_is_not_derived_from_another():
    with pytest.raises(TypeError, match="Derived has base classes"):
        lazy.dataclass(frozen=True, slots=True)(type("Derived", (Lazy,), {}))


def test_a_program_under_test_may_replace_what_completes_a_class(monkeypatch):
    made = lazy.dataclass(frozen=True, slots=True)(type("Late", (), {"__annotations__": {"size": "int"}}))
    monkeypatch.setattr("builtins.exec", None)
    monkeypatch.setattr(dataclasses, "fields", None)
    assert made(3).size == 3


def test_unhashable_fields_make_a_lazy_dataclass_unhashable():
    with pytest.raises(TypeError, match="unhashable type: 'dict'"):
        hash(Lazy(name="a"))


def test_a_lazy_dataclass_keeps_its_own_methods_and_runs_post_init():
    assert Lazy(name="a", size=3).double == 6
    assert (Positional(1), Positional(1, 4).right) == (Positional(left=1, right=2), 5)


@pytest.mark.parametrize("words", [{"frozen": False, "slots": True}, {"frozen": True, "slots": False}])
def test_other_dataclasses_are_not_made_lazily(words):
    with pytest.raises(TypeError, match="frozen and has slots"):
        lazy.dataclass(**words)


def test_the_init_of_a_record_is_made_when_it_is_first_called():
    code = "from loop_close.model import Frame as F; a = F.__init__; F(file='', line=1, function='');"
    code += "b = F.__init__; F(file='', line=1, function=''); print(a is b, b is F.__init__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_a_lazy_named_tuple_is_one():
    assert repr(LazyRow("a")) == repr(EagerRow("a")).replace("Eager", "Lazy")
    assert (LazyRow("a", 2), LazyRow("a", 2).double, LazyRow._fields) == (("a", 2), 4, ("name", "size"))
    assert (LazyRow.__doc__, LazyRow.__module__, LazyRow.__qualname__) == ("A row.", __name__, "LazyRow")
    assert typing.get_type_hints(LazyRow) == typing.get_type_hints(EagerRow)
    assert LazyRow._field_defaults == EagerRow._field_defaults
    assert pickle.loads(pickle.dumps(LazyRow("a"))) == LazyRow("a")


def test_a_lazy_named_tuple_is_completed_by_any_first_use():
    def kind():
        class Row(lazy.NamedTuple):
            name: str
            size: int = 1

        return Row

    made = kind()
    assert (made._fields, made.__match_args__) == (("name", "size"), ("name", "size"))
    assert made._field_defaults == {"size": 1}
    assert made._make(["a", 2]) == made("a", 2) == ("a", 2)
    with pytest.raises(TypeError, match="Expected 2 arguments, got 1"):
        kind()._make(["a"])
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        kind()()
    row = kind()(size=3, name="b")
    assert (row.name, row.size, row._asdict(), row._replace(name="c")) == (
        "b",
        3,
        {"name": "b", "size": 3},
        ("c", 3),
    )
    match row:
        case tuple(name):
            assert name == ("b", 3)
    below = type("Below", (kind(),), {"__slots__": (), "double": property(lambda self: 2 * self.size)})
    assert (type(below("a", 2)), below("a", 2).double, below._make(["a", 5]).size) == (below, 4, 5)


def test_records_of_the_package_are_dataclasses_for_its_users():
    failure = model.Failure(nodeid="t.py::test_a", phase="call", message="boom")
    assert dataclasses.asdict(failure)["message"] == "boom"
    assert list(inspect.signature(model.Failure).parameters)[:3] == ["nodeid", "phase", "message"]


def test_a_pattern_is_compiled_when_it_is_first_used(monkeypatch):
    compiled = []
    monkeypatch.setattr(lazy, "_compile_pattern", lambda *words: compiled.append(words) or re.compile(*words))
    pattern = lazy.pattern("(?P<letter>b)", re.IGNORECASE)
    assert (pattern.pattern, compiled) == ("(?P<letter>b)", [])
    assert [pattern.search(text)["letter"] for text in ("aB", "Cb", "b")] == ["B", "b", "b"]
    assert compiled == [("(?P<letter>b)", re.IGNORECASE)]
    assert dict(pattern.groupindex) == {"letter": 1}


def test_another_thread_makes_no_instance_of_a_named_tuple_that_lacks_fields(monkeypatch):
    class Late(lazy.NamedTuple):
        name: str

    there = []

    def recording(owner, name, value):
        setattr(owner, name, value)
        there.append(Late("a").name if name == "__new__" else "")

    monkeypatch.setattr(lazy, "setattr", recording, raising=False)
    assert Late("b").name == "b"
    assert "a" in there


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_pattern_can_be_copied(copied):
    assert copied(lazy.pattern("b", re.IGNORECASE)).fullmatch("B")


def test_every_lazy_pattern_compiles():
    modules = [
        import_module(each.name)
        for each in walk_packages(loop_close.__path__, "loop_close.")
        if each.name.split(".")[1] not in ("__main__", "mcp", "nox", "tox")  # need extras
    ]
    found = {
        f"{module.__name__}.{name}": value.groups
        for module in modules
        for name, value in vars(module).items()
        if type(value) is type(lazy.pattern(""))
    }
    assert len(found) > 60
