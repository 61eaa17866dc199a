"""Objects of a program that note every method of theirs that runs."""

#: The names of the methods that ran.
ran = []


def _noting(name):
    def method(*args, **kwargs):
        ran.append(name)
        raise SystemExit(name)

    return method


NAMES = (
    *("__repr__", "__str__", "__format__", "__eq__", "__ne__", "__lt__", "__hash__", "__bool__", "__len__"),
    *("__iter__", "__next__", "__contains__", "__getitem__", "__getattribute__", "__getattr__", "__call__"),
    *(
        "__int__",
        "__index__",
        "__float__",
        "__bytes__",
        "__fspath__",
        "__dir__",
        "__sizeof__",
        "__reversed__",
    ),
    *("__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__", "__length_hint__", "__missing__", "__del__"),
    *("keys", "items", "values", "get", "index", "count", "total", "__get__", "__instancecheck__"),
)
NOTING = {name: _noting(name) for name in NAMES if name != "__del__"}


class Meta(type):
    """Its classes are hostile themselves."""

    __repr__ = _noting("Meta.__repr__")
    __eq__ = _noting("Meta.__eq__")
    __hash__ = _noting("Meta.__hash__")
    __instancecheck__ = _noting("Meta.__instancecheck__")
    __subclasscheck__ = _noting("Meta.__subclasscheck__")
    __getattribute__ = _noting("Meta.__getattribute__")
    __call__ = type.__call__


def make(*bases, names=NOTING, meta=type, **more):
    """A class with the noting methods, and what else is given."""
    return meta("Evil", bases, {**names, "__module__": __name__, **more})


def instances():
    """An object of each kind, by a word for it."""
    plain = make(__class__=property(NOTING["__len__"]), field=property(NOTING["__len__"]))()
    object.__setattr__(plain, "held", 1)
    slots = make(__slots__=("held",))
    shadowed = make(__dict__=property(NOTING["__len__"]))
    key = make(names={"__hash__": lambda self: hash("a"), "__eq__": NOTING["__eq__"]})()
    found = {
        "object": plain,
        "slots": object.__new__(slots),
        "dict as a property": object.__new__(shadowed),
        "metaclass": object.__new__(make(meta=Meta)),
        "list of a metaclass": list.__new__(make(list, meta=Meta)),
        "tuple of a metaclass": tuple.__new__(make(tuple, meta=Meta), (1,)),
        "str": str.__new__(make(str), "text"),
        "int": int.__new__(make(int), 3),
        "float": float.__new__(make(float), 0.5),
        "bytes": bytes.__new__(make(bytes), b"x"),
        "list": list.__new__(make(list)),
        "tuple": tuple.__new__(make(tuple), (1, 2)),
        "named": tuple.__new__(make(tuple, _fields=("a", "b")), (1, 2)),
        "dict": dict.__new__(make(dict)),
        "set": set.__new__(make(set)),
        "exception": BaseException.__new__(make(Exception), 1),
        "key": {key: 1, 5: 2},
        "dataclass": object.__new__(make(__dataclass_fields__={"a": plain})),
    }
    list.append(found["list"], plain)
    dict.__setitem__(found["dict"], "a", plain)
    set.add(found["set"], 1)
    ran.clear()
    return found
