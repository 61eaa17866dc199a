from crm.companies import Company


def test_staff():
    assert Company("Paper Ltd").staff == []
