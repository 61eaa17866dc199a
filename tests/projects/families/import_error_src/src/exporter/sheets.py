"""Exports tables as spreadsheets."""

import sheetwriter_pro


def export(rows, path):
    book = sheetwriter_pro.Workbook(path)
    for row in rows:
        book.append(row)
    book.close()
    return path


def header(names):
    return [name.title() for name in names]


def columns(rows):
    return len(rows[0]) if rows else 0
