import builtins

import pytest

from loop_close.readers.printed import bases_of

BUILTIN = [
    c
    for name, c in vars(builtins).items()
    if isinstance(c, type) and issubclass(c, BaseException) and not name.startswith("_")
]


@pytest.mark.parametrize("cls", BUILTIN, ids=lambda cls: cls.__name__)
def test_bases_of_a_builtin(cls):
    assert bases_of(cls.__name__) == tuple(c.__name__ for c in cls.__mro__[1:-1])


def test_bases_in_the_standard_library_and_elsewhere():
    assert bases_of("ShopError", "") == bases_of("ValueError", "shop") == ()
    assert bases_of("JSONDecodeError", "json.decoder") == ("ValueError", "Exception", "BaseException")
