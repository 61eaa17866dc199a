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
        ["returned None at import or before the tests, where a value is expected"],
    )
    assert "eturned None at import or before the tests, where a value is expected" in done.prompt
    first = done.report["root_causes"][0]["suspects"][0]
    assert (first["file"], first["line"]) == ("shop/marks.py", 3)


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
    assert first == "rates"
    assert "returned None at import or before the tests" in reasons


def test_import_that_fails_by_something_else(run):
    """A function that may give None did so, and nobody speaks of it."""
    files = {**FACTORY, "shop/cart.py": "from shop.taxes import rates\n\nRATES = rates('it')\nint('a')\n"}
    done = run(files, own_process=True)
    assert "rates" not in [name for name, _ in suspects(done)]


REGISTERED = {
    "shop/__init__.py": "",
    "shop/events.py": """
        HANDLERS = {}


        def on(name):
            def register(function):
                HANDLERS[name] = function
            return register


        @on("start")
        def _(app):
            return app


        class Pool:
            def close(self):
                self.closed = True


        def greet(name):
            return "hi " + name
        """,
    "test_events.py": """
        import json

        import pytest

        from shop.events import Pool, greet


        @pytest.fixture(scope="session", autouse=True)
        def pool():
            pool = Pool()
            yield pool
            done = pool.close()


        def test_greet():
            assert greet("you") == "hi you"


        def test_length():
            assert len([1]) == 2


        def test_other():
            assert json.dumps({"a": None}) == "{}"


        def test_none():
            None.close()
        """,
    "test_broken.py": "def f(:\n",
    "test_missing.py": "def test_a(no_such):\n    pass\n",
}


def test_decorators_that_only_register_are_not_suspected(run):
    """Nor is what a fixture's teardown gave, or joined what has nothing in common."""
    done = run(REGISTERED, "--continue-on-collection-errors", own_process=True)
    named = {name for name, _ in suspects(done)}
    assert named <= {"on.<locals>.register"}
    causes = done.report["root_causes"]
    assert len(causes) == 5
    assert [each["suspects"] for each in causes if "NoneType" not in each["message"]] == [[]] * 4


#: Two faults, each of which many passing tests run; the modules of the failing tests both load what no test uses.
LOADED = {
    "shop/__init__.py": "",
    "shop/conf.py": """
        def load(text):
            return dict(part.split("=") for part in text.split(","))
        """,
    "shop/units.py": """
        UNITS = {"m": 1, "km": 1001}


        def metres(number, unit):
            return number * UNITS[unit]
        """,
    "shop/greetings.py": """
        GREETINGS = {"de": "Halo", "en": "Hello"}


        def greet(language, name):
            return GREETINGS[language] + " " + name
        """,
    "test_km.py": """
        from shop.conf import load
        from shop.units import metres

        CONF = load("a=1,b=2")


        def test_km():
            assert metres(1, "km") == 1000
        """,
    "test_greet.py": """
        from shop.conf import load
        from shop.greetings import greet

        CONF = load("a=1,b=2")


        def test_de():
            assert greet("de", "Eva") == "Hallo Eva"
        """,
    "test_others.py": """
        import pytest

        from shop.greetings import greet
        from shop.units import metres


        @pytest.mark.parametrize("number", range(10))
        def test_metres(number):
            assert metres(number, "m") == number


        @pytest.mark.parametrize("number", range(10))
        def test_greeting(number):
            assert greet("en", str(number)) == f"Hello {number}"
        """,
}


def test_what_the_body_of_a_test_module_ran_is_not_suspected(run):
    """Nor does it make one root cause of two."""
    done = run(LOADED, own_process=True)
    named = [
        [each["function"] for each in cause["suspects"] if "constant" not in each]
        for cause in done.report["root_causes"]
    ]
    assert sorted(named) == [["greet"], ["metres"]]
