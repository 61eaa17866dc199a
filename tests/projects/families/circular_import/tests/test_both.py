import crm.companies
import crm.people


def test_both():
    company = crm.companies.Company("Paper Ltd")
    assert crm.people.Person("Jo", company).company is company
