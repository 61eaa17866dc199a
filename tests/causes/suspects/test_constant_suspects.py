import pytest
from called import CART, called, calls, nodeid
from loops import edited, loop, step
from loops import known as failing
from records import failure, verdict

from loop_close.calls import Constant
from loop_close.causes.rank import candidates, scored, suspects_among
from loop_close.model import Evidence, RootCause
from loop_close.records import NO_LOOP

TOTAL = called("total", 10, passed=3, lines={1: 3, 2: 0})
TAX = called("tax", 30, passed=40, lines={1: 40})
RATES = Constant(file=CART, line=1, end_line=4, owner="", name="RATES", loads=((CART, 12),))


def cause():
    found = Evidence(
        kind="test-failure", snippet="", failure=failure(verdict(test="test_a"), nodeid("test_a"))
    )
    return RootCause(id="00000000", kind="test-failure", evidence=(found,))


def found(*constants, functions=(TAX, TOTAL), ran=((0, 1), (1, 1), (1, 2)), so_far=NO_LOOP):
    known = calls(*functions, passed=40, test_a=ran)._replace(constants=constants)
    return candidates(cause(), known, so_far)


def names(candidates):
    return [each.loaded[0].name for each in candidates if each.loaded is not None]


def test_a_constant_is_less_likely_than_the_function_that_loads_it():
    first, second = suspects_among(scored(found(RATES)))[:2]
    assert (first.function, first.constant) == ("total", "")
    assert (second.file, second.line, second.end_line, second.function) == (CART, 1, 4, "<module>")
    assert second.constant == "RATES"
    assert second.reasons == ("RATES is loaded in line 12 of total()",)
    assert (second.failed, second.passed, second.odd) == ((1, 1), (3, 40), (0, 0, 0))
    assert 0 < second.score < first.score


def test_one_of_each_module_and_class():
    inner = RATES._replace(line=6, end_line=6, owner="Cart", name="LIMIT", loads=((CART, 11),))
    other = RATES._replace(line=7, end_line=7, name="OTHER", loads=((CART, 11), (CART, 31)))
    assert names(found(RATES, inner, other)) == ["RATES", "LIMIT"]  # fewer passing tests load RATES
    assert [s.constant for s in suspects_among(scored(found(inner))) if s.constant] == ["Cart.LIMIT"]


def test_the_reason_names_the_file_of_the_function():
    far = RATES._replace(file="src/shop/rates.py")
    (suspect,) = [s for s in suspects_among(scored(found(far))) if s.constant]
    assert suspect.reasons == (f"RATES is loaded in line 12 of total() in {CART}",)


@pytest.mark.parametrize("line", [13, 31 + 40])
def test_lines_that_the_failing_tests_of_the_cause_did_not_run(line):
    assert names(found(RATES._replace(loads=((CART, line),)))) == []


def test_an_edited_module_is_a_suspect_for_the_edit():
    so_far = loop(step(1, edits=edited("<module>", CART)), failing=[failing(nodeid("test_a"))])
    first = suspects_among(scored(found(RATES, so_far=so_far)))[0]
    assert (first.function, first.constant) == ("<module>", "")


def test_constants_do_not_depend_on_their_order():
    several = [RATES._replace(name=f"R{n}", line=n, end_line=n) for n in range(3)]
    assert names(found(*several)) == names(found(*reversed(several))) == ["R0"]


def test_an_attribute_of_a_class_is_as_likely_as_the_likeliest_of_its_methods():
    """All classes load it in the method of their base, which nearly all tests run."""
    base = called("Base.total", 10, passed=38, lines={1: 38, 2: 38})
    method = called("German.rate", 30, passed=1, lines={1: 1})
    ran = {"functions": (base, method), "ran": ((0, 1), (0, 2), (1, 1))}
    shares = {}
    for owner in ("German", "French"):
        scores = scored(found(RATES._replace(owner=owner), **ran))
        shares[owner] = next(share for share, each in scores if each.loaded is not None)
    assert shares["German"] > 5 * shares["French"]
