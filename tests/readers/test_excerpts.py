from loop_close.readers.checks import excerpt_at, notes_at

SEVERAL = """\
  --> src/a.py:36:1
   |
35 |   before()
36 | / read(
37 | |     1,
38 | | )
   | |_^ bad call
info: Function defined here
  --> src/b.py:4:5
   |
 4 | def read(key):
   |     ^^^^
help: Remove it
   |
   - read(
36 + other(
   |
info: rule `x` is enabled by default

after
"""
SEVERAL_LINES = SEVERAL.splitlines()


def test_no_excerpt():
    assert excerpt_at(["see --> src/a.py:3:1"], 0) is None
    assert excerpt_at([" --> src/a.py"], 0) is None
    assert excerpt_at([], 0) is None


def test_lines_without_the_margin_of_several():
    excerpt = excerpt_at(SEVERAL_LINES, 0)
    finding = excerpt.finding("m", "c")
    assert (finding.source_start, finding.source) == (35, ["before()", "read(", "    1,", ")"])
    assert (finding.line, finding.column, excerpt.label) == (36, 1, "bad call")


def test_notes_name_their_places_and_leave_fixes_out():
    assert notes_at(SEVERAL_LINES, 7) == (["Function defined here (src/b.py:4)", "help: Remove it"], 18)


def test_line_with_carets_is_the_place_when_the_named_one_has_dashes():
    lines = [
        " --> a.py:8:26",
        "  |",
        "8 | def f() -> str:",
        "  |            --- here",
        "9 |     return 1",
        "  |            ^ bad",
    ]
    finding = excerpt_at(lines, 0).finding("m", "c")
    assert (finding.line, finding.column) == (9, 12)


def test_cells():
    assert excerpt_at([" --> a.ipynb:cell 2:3:1"], 0).cell == "2"
    assert excerpt_at([" --> a.ipynb#2:3:1"], 0).cell == "2"
