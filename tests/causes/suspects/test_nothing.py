import pytest
from records import failure, raised, verdict

from loop_close.causes.suspects.nothing import is_about_none

SPEAKS = failure(raised(message="'NoneType' object has no attribute 'copy'"))
SILENT = failure(raised(message="NoneTypes: 3, Nonesuch"))


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([SPEAKS], True),
        ([failure(raised(message="assert None == 3"))], True),
        ([failure(raised(message="wrong", cause=SPEAKS.raised))], True),
        ([SILENT], False),
        ([SPEAKS, SILENT], True),
        ([SPEAKS, SILENT, SILENT], False),
        ([failure(None)], False),
        ([failure(verdict())], False),
        ([], False),
    ],
)
def test_at_least_half_speak_of_none(failures, expected):
    assert is_about_none(failures) is expected
