"""Letter templates, one text file each."""

from pathlib import Path

FOLDER = Path(__file__).parent / "texts"


def load(name):
    with open(FOLDER / f"{name}.txt", encoding="utf-8") as file:
        return file.read()


def render(name, /, **values):
    return load(name).format(**values)
