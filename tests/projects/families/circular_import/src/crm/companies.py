from crm.people import Person


class Company:
    def __init__(self, name):
        self.name = name
        self.staff: list[Person] = []
