import pytest
from records import SRC, frame, in_test, raised

from loop_close.causes.statements import lacking_key, misused_key
from loop_close.model import Site


def at(type, message="", statement="total(x)", function="total", file=SRC, in_frame=None, **fields):
    here = frame(file, function)
    site = Site(frame=in_frame or here, statement=statement)
    return raised(type, message, [in_test(), here], site=site, **fields)


def lacking(owner, name="price", **fields):
    return [*lacking_key(at("AttributeError", details={"owner": owner, "name": name}, **fields))]


def misused(type="IndexError", chain=(), **fields):
    return [*misused_key(at(type, **fields), chain)]


def test_one_statement_asks_several_types_for_an_attribute():
    assert lacking("Cart") == lacking("Line") != []
    others = [lacking("Cart", "tax"), lacking("Cart", statement="x.price"), lacking("Cart", function="tax")]
    assert all(other and other != lacking("Cart") for other in others)


def test_of_a_name_or_a_module_nothing_is_lacking():
    assert not [*lacking_key(at("NameError", details={"name": "x"}))]
    assert not [*lacking_key(at("AttributeError", "no such thing"))]


def test_one_statement_gets_what_does_not_fit():
    assert misused(message="list index out of range") == misused(message="tuple index out of range") != []
    assert misused("TypeError", message="'int' is not iterable") == misused("TypeError", message="unhashable")
    others = [misused("TypeError"), misused(statement="x[0]"), misused(file="b.py"), misused(chain=("a",))]
    assert all(other and other != misused() for other in others)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "ValueError"},  # what a library found wrong is told by its words alone
        {"module": "shop.errors"},  # a class of that name
        {"template": "no {}"},
        {"statement": "raise TypeError(text)"},
        {"statement": "raise"},
        {"statement": "assert_that(x) if x else 1", "in_frame": in_test()},  # a helper judged its arguments
        {"statement": ""},
    ],
)
def test_words_tell_the_reason(fields):
    assert misused(**fields) == []


def test_a_name_that_begins_like_raise():
    assert misused(statement="raised[0]") != []


def test_in_the_test_itself():
    exc = raised("TypeError", "", [in_test()])
    assert [*misused_key(exc, ())] == []
