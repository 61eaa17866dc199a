def test_journal_is_open(journal):
    assert journal.open


def test_entries(journal):
    journal.write("DE-X-10042-7 arrived")
    assert journal.entries == ["DE-X-10042-7 arrived"]


def test_end_of_day(journal):
    journal.write("end of day")
    assert len(journal.entries) == 1
