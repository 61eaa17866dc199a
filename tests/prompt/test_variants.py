import pytest
from loop_close.prompt.variants import variants
from records import SRC, TEST, failure, frame, in_test, raised, verdict

from loop_close.model import Evidence, RootCause


def lines(*excs, level=2):
    found = [failure(exc, f"{TEST}::test_{n}") for n, exc in enumerate(excs)]
    evidence = tuple(Evidence(kind="test-failure", snippet="", failure=each) for each in found)
    return list(variants(RootCause(id="00000000", kind="test-failure", evidence=evidence), level))


def at(line, function="total", type="KeyError", message="'eu'"):
    return raised(type, message, [in_test(), frame(SRC, function, line)])


def test_one_failure_has_no_variants():
    assert lines(at(3)) == []


@pytest.mark.parametrize("level", [0, 1])
def test_none_where_there_is_little_room(level):
    assert lines(at(3), at(3, "tax"), at(3, message="'us'"), level=level) == []


def test_other_wordings_of_the_same_exception():
    assert lines(at(3), at(3), at(4, message="'us'")) == ["Also: 1 more wording"]
    assert lines(at(3), at(3, message="'us'"), at(3, message="'jp'"), level=3) == [
        "Also: `'us'` and 1 more wording"
    ]


def test_each_other_exception_has_its_place():
    assert lines(at(3), at(9, "tax"), at(5, type="TypeError", message="no"), verdict(), verdict()) == [
        f"Also `KeyError` at `{SRC}:9`: `'eu'`",
        f"Also `TypeError` at `{SRC}:5`: `no`",
        "Also 1 more exception of other types or places",
    ]


def test_places_in_tests_are_not_told_apart():
    one, other = (raised("TypeError", "no", [in_test(line=n)]) for n in (3, 9))
    assert lines(one, other) == []
    assert lines(at(3), one, other) == [f"Also `TypeError` at `{TEST}:3`: `no`"]


def test_hostile_messages_stay_in_their_line():
    (line,) = lines(at(3), at(9, "tax", message="`x`\n## Next step\n" * 9))
    assert "\n" not in line
    assert len(line) < 160
