"""What the body of a test module runs, by runs of whole projects."""

import pytest
from calls_harness import needs_monitoring

pytestmark = needs_monitoring

#: A plan is made when the module of its tests is imported, and the tests ask it for prices; others make their own.
SHOP = {
    "shop/__init__.py": "",
    "shop/plans.py": """
        class Plan:
            def __init__(self, base):
                self.base = base
                self.rates = {}

            def price(self, months):
                return self.base * months * (1 - self.rates.get(months, 0))


        def with_rates(plan, rates):
            for months, rate in rates:
                if months > 12:
                    plan.rates[months] = rate
            return plan


        def rounded(price):
            return round(price, 2)
        """,
    "tests/test_rates.py": """
        import pytest

        from shop.plans import Plan, rounded, with_rates

        PLAN = with_rates(Plan(10), [(12, 0.5), (24, 0.75)])


        @pytest.mark.parametrize("months", [12, 24])
        def test_price(months):
            assert rounded(PLAN.price(months)) == 60
        """,
    "tests/test_plans.py": """
        import pytest

        from shop.plans import Plan, rounded


        @pytest.mark.parametrize("months", range(1, 10))
        def test_price(months):
            assert rounded(Plan(2).price(months)) == 2 * months
        """,
}


def names(done):
    return [[each["function"] for each in cause["suspects"]] for cause in done.report["root_causes"]]


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_function_that_only_the_body_ran(run, workers):
    done = run(SHOP, *workers, own_process=True, plugins=("xdist",))
    ((first, *_),) = [cause["suspects"] for cause in done.report["root_causes"]]
    assert first["function"] == "with_rates"
    assert first["reasons"] == [
        "called by 1 of 1 failing and 1 of 10 passing tests",
        "the body of the tests' module ran it",
    ]
    assert "`with_rates`: 1 and 1; the body of the tests' module ran it" in done.prompt


def test_tests_of_other_modules_have_nothing_to_do_with_it(run):
    files = dict(SHOP)
    files["tests/test_rates.py"] = files["tests/test_rates.py"].replace("== 60", "> 0")
    files["tests/test_plans.py"] = files["tests/test_plans.py"].replace("range(1, 10)", "[1, 2.5, 1.234]")
    done = run(files, own_process=True)
    assert [name for each in names(done) for name in each if name == "with_rates"] == []
    assert done.report["root_causes"]


CLASSES = """
    import pytest

    from shop.plans import Plan, with_rates


    def pytest_generate_tests(metafunc):
        metafunc.parametrize("plan", [with_rates(Plan(10), [(12, 0.5)])])


    class TestIt:
        def test_price(self, plan):
            assert plan.price(12) == 60
    """


def test_parameters_that_are_made_when_a_class_is_collected(run):
    done = run({**SHOP, "tests/test_rates.py": CLASSES}, own_process=True)
    assert "with_rates" in names(done)[0][:2]
