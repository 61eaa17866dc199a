import pytest
from called import CART, called, calls, nodeid
from loops import edited, loop, step
from loops import known as failing
from records import failure, verdict

from loop_close.calls import Constant
from loop_close.causes.locate import blame
from loop_close.causes.rank import found_for, scored, suspects_among
from loop_close.model import Evidence, RootCause

TOTAL = called("total", 10, passed=3, lines={1: 3, 2: 0})
TAX = called("tax", 30, passed=40, lines={1: 40})
RATES = Constant(CART, 1, 4, "", "RATES", loads=((CART, 12),))


def cause():
    found = Evidence(
        kind="test-failure", snippet="", failure=failure(verdict(test="test_a"), nodeid("test_a"))
    )
    return RootCause(id="00000000", kind="test-failure", evidence=(found,))


def known(*constants, functions=(TAX, TOTAL), ran=((0, 1), (1, 1), (1, 2))):
    return calls(*functions, passed=40, test_a=ran)._replace(constants=constants)


def found(*constants, **fields):
    return found_for(cause(), known(*constants, **fields))


def constants(candidates):
    return [each.loaded.constant.name for each in candidates if each.loaded is not None]


def test_a_constant_is_less_likely_than_the_function_that_loads_it():
    first, second = suspects_among(scored(found(RATES)))[:2]
    assert (first.function, first.constant) == ("total", "")
    assert (second.file, second.line, second.end_line, second.function) == (CART, 1, 4, "<module>")
    assert second.constant == "RATES"
    assert second.reasons == ("RATES is loaded in line 12 of total()",)
    assert (second.failed, second.passed, second.odd) == ((1, 1), (3, 40), (0, 0, 0))
    assert 0 < second.score < first.score


def test_the_features_are_those_of_the_function():
    by_name = {each.function: each for each in found(RATES)}
    constant, loader = by_name["<module>"], by_name["total"]
    assert constant.features["constant"] == 1
    assert loader.features["constant"] == 0
    same = ("line_score", "function", "naish", "contrast_rank", "file", "late", "all")
    assert [constant.features[name] for name in same] == [loader.features[name] for name in same]
    assert "name" not in constant.features


def test_what_is_a_part_of_a_constant_is_not_said_to_be_loaded_itself():
    part = RATES._replace(parts=RATES.loads)
    assert suspects_among(scored(found(part)))[1].reasons == (
        "RATES is part of what is loaded in line 12 of total()",
    )


def test_one_of_each_module_and_class():
    inner = Constant(CART, 6, 6, "Cart", "LIMIT", loads=((CART, 11),))
    other = Constant(CART, 7, 7, "", "OTHER", loads=((CART, 11), (CART, 31)))
    assert constants(found(RATES, inner, other)) == ["RATES", "LIMIT"]  # fewer passing tests load RATES
    assert suspects_among(scored(found(inner)))[1].constant == "Cart.LIMIT"


def test_the_reason_names_the_file_of_the_function():
    far = Constant("src/shop/rates.py", 1, 1, "", "RATES", loads=((CART, 12),))
    (suspect,) = [s for s in suspects_among(scored(found(far))) if s.constant]
    assert suspect.reasons == (f"RATES is loaded in line 12 of total() in {CART}",)


@pytest.mark.parametrize("line", [13, 31 + 40])
def test_lines_that_the_failing_tests_of_the_cause_did_not_run(line):
    assert constants(found(RATES._replace(loads=((CART, line),)))) == []


def test_attributes_count_where_a_method_of_the_class_ran():
    size = called("Round.size", 50, passed=1, lines={1: 1})
    limit = Constant(CART, 6, 6, "Round", "LIMIT", loads=((CART, 12),), classes=((CART, "Round"),))
    assert constants(found(limit)) == []
    ran = ((0, 1), (1, 1), (1, 2), (2, 1))
    assert constants(found(limit, functions=(TAX, TOTAL, size), ran=ran)) == ["LIMIT"]


def test_an_edited_module_is_a_suspect_by_that():
    so_far = loop(step(1, edits=edited("<module>", CART)), failing=[failing(nodeid("test_a"))])
    first = suspects_among(scored(found_for(cause(), known(RATES), so_far)))[0]
    assert (first.function, first.constant, first.edited) == ("<module>", "", 1)


def test_root_causes_are_joined_by_functions_alone():
    assert set(blame(found(RATES))) == set(blame(found()))


def test_constants_do_not_depend_on_their_order():
    several = [replace_name(RATES, f"R{n}", n) for n in range(3)]
    assert constants(found(*several)) == constants(found(*reversed(several))) == ["R0"]


def replace_name(constant, name, line):
    return constant._replace(name=name, line=line, end_line=line)


def test_probabilities_stay_below_one():
    assert sum(score for score, _ in scored(found(RATES))) < 1


def test_what_only_objects_of_a_class_have_is_as_likely_as_the_likeliest_of_its_methods():
    """All classes load it by the method of their base, which nearly all tests run."""
    base = called("Base.total", 10, passed=38, lines={1: 38, 2: 38})
    method = called("German.rate", 30, passed=1, lines={1: 1})
    unlike = Constant(CART, 1, 4, "German", "RATES", loads=((CART, 12),))
    ran = {"functions": (base, method), "ran": ((0, 1), (0, 2), (1, 1))}
    at = [
        next(share for share, each in scored(found(constant, **ran)) if each.loaded is not None)
        for constant in (unlike, unlike._replace(classes=((CART, "German"),)))
    ]
    assert at[1] > 5 * at[0]
    (suspect,) = [
        s
        for s in suspects_among(scored(found(unlike._replace(classes=((CART, "German"),)), **ran)))
        if s.constant
    ]
    assert suspect.reasons == ("RATES is loaded in line 12 of Base.total()",)
