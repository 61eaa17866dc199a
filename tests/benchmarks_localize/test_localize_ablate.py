"""What leaving out a clue loses, from ranks with it and without it."""

from benchmarks.localize.ablate import table


def test_differences_are_paired_and_stars_mark_two_standard_errors():
    ranks = [[1, 1, 2]] * 9 + [[2, 1, 4]]
    heading, useless, useful = table(["clue name", "clue raised"], ranks)
    assert heading == ("without (10 faults)", "first", "first 3", "first 5", "100 / rank")
    # one fault of ten is better without it: 10 points, no more than their error
    assert useless == ("clue name", "-10.0 ± 10.0", "+0.0 ± 0.0", "+0.0 ± 0.0", "-5.0 ± 5.0")
    assert useful == ("clue raised", "+90.0 ± 10.0 *", "+10.0 ± 10.0", "+0.0 ± 0.0", "+47.5 ± 2.5 *")
