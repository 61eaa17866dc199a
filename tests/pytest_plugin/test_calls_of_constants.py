"""Statements outside of functions whose values failing tests load are suspects."""

import pytest
from calls_harness import needs_monitoring

FILES = {
    "shop/__init__.py": "",
    "shop/rates.py": """
        FAST = 5
        RATES = {
            "slow": 3,
            "fast": FAST,
        }
        """,
    "shop/cost.py": """
        from shop.rates import RATES

        class Parcel:
            STEP = 5

            def rounded(self, amount):
                return amount - amount % self.STEP

        def cost(weight, kind):
            return weight * RATES[kind]
        """,
    "test_cost.py": """
        import pytest
        from shop.cost import Parcel, cost

        @pytest.mark.parametrize("n", range(9))
        def test_other(n): assert n >= 0
        def test_fast(): assert cost(2, "fast") == 12
        def test_rounded(): assert Parcel().rounded(14) == 8
        """,
}


def suspects(done):
    return {s["constant"]: s for c in done.report["root_causes"] for s in c["suspects"] if s["constant"]}


@needs_monitoring
@pytest.mark.parametrize("plugins", [(), ("xdist",)], ids=["serial", "workers"])
def test_suspects(run, plugins):
    options = ("-n", "2") if plugins else ()
    done = run(FILES, *options, "--loop-close-suspects=on", own_process=True, plugins=plugins)
    found = suspects(done)
    assert found.keys() == {"FAST", "Parcel.STEP"}
    step = found["Parcel.STEP"]
    assert (step["file"], step["line"], step["function"]) == ("shop/cost.py", 5, "Parcel")
    assert step["reasons"][0].startswith("STEP is loaded in line 8 of Parcel.rounded(), run by ")
    assert "`shop/cost.py:5` `Parcel.STEP`" in done.prompt
    assert found["FAST"]["file"] == "shop/rates.py"
