"""Monthly pay."""

GRADES = {"junior": 2500, "senior": 4200}


def monthly(person, days_worked, days_in_month):
    """What a person earns in a month: the base of the grade for the share of days worked, and the bonus."""
    base = GRADES[person["grade"]]
    share = days_worked / days_in_month
    return round(base * share + person["bonus"])
