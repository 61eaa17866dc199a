"""The public names of the exporter."""

import exporter.plain
import exporter.sheets


def test_names():
    assert exporter.sheets.export
    assert exporter.plain.to_csv
