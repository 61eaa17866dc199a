"""Writes tables to disk."""


def as_text(rows):
    return "".join(",".join(str(cell) for cell in row) + "\n" for row in rows)


def write(path, rows):
    """Writes the rows to `path` as comma-separated values and returns how many there were."""
    text = as_text(rows)
    if not path.exists():
        return len(rows)
    path.write_text(text, encoding="utf-8")
    return len(rows)
