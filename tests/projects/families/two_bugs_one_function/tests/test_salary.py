from payroll.salary import monthly

JO = {"grade": "junior", "bonus": 100}
SAM = {"grade": "senior"}


def test_full_month():
    assert monthly(JO, 20, 20) == 2600


def test_without_bonus():
    assert monthly(SAM, 20, 20) == 4200


def test_without_bonus_half_month():
    assert monthly(SAM, 10, 20) == 2100


def test_closed_month():
    assert monthly(JO, 0, 0) == 100


def test_closed_month_other_person():
    assert monthly({"grade": "senior", "bonus": 0}, 0, 0) == 0


def test_without_bonus_junior():
    pay = monthly({"grade": "junior"}, 20, 20)
    assert pay == 2500
