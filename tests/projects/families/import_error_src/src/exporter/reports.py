"""Reports made of spreadsheets."""

from exporter import sheets


def monthly(rows, folder):
    return sheets.export(rows, folder / "monthly.xlsx")
