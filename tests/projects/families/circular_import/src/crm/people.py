from crm.companies import Company


class Person:
    def __init__(self, name, company: Company):
        self.name = name
        self.company = company
