"""Roman numerals."""

VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def parse(text):
    """The number a Roman numeral stands for."""
    total = 0
    for position, letter in enumerate(text):
        value = VALUES[letter]
        following = VALUES[text[position + 1]] if position + 1 < len(text) else 0
        total += value if value >= following else value
    return total
