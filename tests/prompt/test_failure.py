import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt
from msgspec.structs import replace
from records import exceptions, failure, frame, in_test, raised

from loop_close.model import Site
from loop_close.prompt.failure import missing_lines, value_lines

HOME = {"name": "parse_dat", "home": "src/shop/dates.py"}
NEAR = ("parse_date", "parse_dates")


def about(type="AttributeError", nearest=NEAR, base="Exception", **details):
    return raised(type, nearest=nearest, bases=(base,), details=details)


def cycle(*files, owner="a"):
    message = f"cannot import name 'A' from partially initialized module '{owner}'"
    frames = [frame(file, "<module>") for file in files]
    return raised("ImportError", message, frames, details={"name": "A", "owner": owner})


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (
            about(**HOME),
            "Nearest existing names: `parse_date`, `parse_dates`. `src/shop/dates.py` does not define `parse_dat`.",
        ),
        (about(nearest=tuple("abcdef")), "Nearest existing names: `a`, `b`, `c`."),
        (about("NameError", (), **HOME), "`src/shop/dates.py` neither defines nor imports `parse_dat`."),
        (about("FixtureLookupError", ("cart",), fixture="crt"), "Nearest fixtures: `cart`."),
        (
            about(
                "ModuleNotFoundError", ("shop.dates",), "ImportError", name="shop.dats", home="shop/dats.py"
            ),
            "Nearest modules: `shop.dates`. `shop/dats.py` does not exist.",
        ),
        (cycle("a.py", "b.py"), "Import cycle: `a.py` -> `b.py` -> `a.py`."),
    ],
)
def test_words(exc, expected):
    assert list(missing_lines(exc)) == [expected]


def test_long_cycle_is_cut():
    (line,) = missing_lines(cycle("a.py", *(f"b{n}.py" for n in range(20))))
    assert line.startswith("Import cycle: `a.py` -> `b0.py` -> ")
    assert line.endswith("`b6.py` -> … -> `a.py`.")


@settings(max_examples=50)
@given(exceptions)
def test_any_exception(exc):
    for kind in ("KeyError", "TypeError", "ModuleNotFoundError", "SyntaxError", exc.type):
        lines = [*missing_lines(replace(exc, type=kind))]
        kinds = {token.type for token in MarkdownIt("commonmark").parse("\n".join(lines))}
        assert kinds <= {"paragraph_open", "inline", "paragraph_close", "fence"}


def test_values_of_a_statement_of_the_code_under_test_have_its_function():
    of_code = Site(frame=frame(function="Parser.need"), statement="raise E(text)", values=(("text", "')'"),))
    of_test = Site(frame=in_test(), statement="f(text)", values=(("text", "'1'"),))
    assert list(value_lines(failure(raised(site=of_code)))) == ["With `text = ')'` in `Parser.need`."]
    assert list(value_lines(failure(raised(site=of_test)))) == ["With `text = '1'`."]
