"""What functions that ran while modules were imported are suspected of, by runs of whole projects."""

import pytest
from calls_harness import needs_monitoring

pytestmark = needs_monitoring

DECORATED = {
    "shop/__init__.py": "",
    "shop/marks.py": """
        def marked(name):
            def mark(function):
                function.name = name{lost}
            return mark
        """,
    "shop/cart.py": """
        from shop.marks import marked


        @marked("total")
        def total(prices):
            return sum(prices)


        def count(prices):
            return len(prices)
        """,
    "test_cart.py": """
        from shop.cart import count, total


        def test_total():
            assert total([1, 2]) == 3


        def test_total_of_none():
            assert total([]) == 0


        def test_count():
            assert count([1]) == 1
        """,
}


def project(files, **words):
    return {name: text.replace("{lost}", words.get("lost", "")) for name, text in files.items()}


def suspects(done):
    return [
        (each["function"], each["reasons"])
        for cause in done.report["root_causes"]
        for each in cause["suspects"]
    ]


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_decorator_that_lost_its_return(run, workers):
    done = run(project(DECORATED), *workers, own_process=True, plugins=("xdist",))
    assert suspects(done)[0] == (
        "marked.<locals>.mark",
        ["gave None outside of tests, as at import, where a value is wanted"],
    )
    assert "gave None outside of tests, as at import, where a value is wanted" in done.prompt
    (only,) = done.report["root_causes"]
    assert (only["suspects"][0]["file"], only["suspects"][0]["line"]) == ("shop/marks.py", 2)


def test_one_that_gives_what_it_got(run):
    whole = project(DECORATED, lost="\n        return function")
    whole["test_cart.py"] += "\n\ndef test_wrong():\n    assert count([]) == 1\n"
    done = run(whole, own_process=True)
    assert all("None" not in reason for _, reasons in suspects(done) for reason in reasons)


FACTORY = {
    "shop/__init__.py": "",
    "shop/taxes.py": """
        def rates(country):
            if country == "none":
                return {}
            found = {"a": 1}
        """,
    "shop/cart.py": """
        from shop.taxes import rates

        RATES = rates("somewhere").copy()
        """,
    "test_cart.py": "import shop.cart\n\ndef test_a():\n    pass\n",
}


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_import_that_fails_by_the_none_of_a_function(run, workers):
    """No test runs, and the traceback shows only the module that asks."""
    done = run(FACTORY, *workers, own_process=True, plugins=("xdist",))
    (first, reasons), *_ = suspects(done)
    assert (first, reasons[0]) == ("rates", "gave None outside of tests, as at import")


def test_import_that_fails_by_something_else(run):
    """A function that may give None did so, and nobody speaks of it."""
    files = {**FACTORY, "shop/cart.py": "from shop.taxes import rates\n\nRATES = rates('it')\nint('a')\n"}
    done = run(files, own_process=True)
    assert "rates" not in [name for name, _ in suspects(done)]
