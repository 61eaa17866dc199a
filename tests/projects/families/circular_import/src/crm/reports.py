from crm.people import Person


def line(person: Person):
    return f"{person.name} ({person.company.name})"
