"""Methods that Python itself calls (its data model): which have a value to give, and which have none."""

from __future__ import annotations

_GIVE = """
new prepare class_getitem mro_entries instancecheck subclasscheck getattr getattribute getitem dir len length_hint
contains iter reversed repr str bytes format fspath hash bool int float complex index round trunc floor ceil neg pos
abs invert lt le eq ne gt ge sizeof copy deepcopy replace reduce reduce_ex getstate getnewargs getnewargs_ex
"""
_OPERATE = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or"
_DO = """
init post_init init_subclass set_name del setstate setattr delattr set delete setitem delitem enter exit aenter aexit
call get missing
"""

#: What they give is used, whoever the caller is.
GIVERS = frozenset(
    f"__{name}__"
    for name in (*_GIVE.split(), *(f"{p}{name}" for name in _OPERATE.split() for p in ("", "r", "i")))
)
#: They have nothing to give, or need not.
PROCEDURES = frozenset(f"__{name}__" for name in _DO.split())
