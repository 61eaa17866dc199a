"""A small library catalogue kept in memory."""

RECORDS = [
    {
        "isbn": "978-0-14-143951-8",
        "title": "Pride and Prejudice",
        "authors": ["Austen"],
        "pages": 480,
        "price": 7.5,
        "tags": ["classic", "novel"],
    },
    {
        "isbn": "978-0-13-468599-1",
        "title": "The Go Programming Language",
        "authors": ["Donovan", "Kernighan"],
        "pages": 400,
        "price": 32.0,
        "tags": ["programming"],
    },
]


def normalize(isbn):
    return isbn.replace("-", "").strip()


def field(isbn, name):
    """The value of one field of the book with this ISBN."""
    wanted = normalize(isbn)
    for record in RECORDS:
        if record["isbn"] == wanted:
            return record[name]
