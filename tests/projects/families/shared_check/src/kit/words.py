"""Small helpers for text."""


def slugify(text):
    """Lower-case words joined by hyphens."""
    return text.strip().lower().replace(" ", "_")


def initials(name):
    """The capital first letters of a name."""
    return "".join(part[0] for part in name.split()).lower()


def truncate(text, limit):
    """At most `limit` characters, the last three being dots when something was cut."""
    if len(text) <= limit:
        return text
    return text[:limit] + "..."


def title_case(text):
    """Every word with a capital."""
    return text.capitalize()


def count_words(text):
    """The number of words, however many blanks are between them."""
    return len(text.split(" "))
