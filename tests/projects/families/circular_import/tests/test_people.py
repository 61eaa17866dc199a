from crm.people import Person


def test_name():
    assert Person("Jo", None).name == "Jo"
