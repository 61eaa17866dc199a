"""pytest's root directory is a folder of the project: code above it is the project's, too."""

from calls_harness import needs_monitoring

FILES = {
    "code/.git/HEAD": "ref: refs/heads/main\n",
    "code/src/shop/__init__.py": "",
    "code/src/shop/cost.py": """
        def rate(kind):
            if kind == "fast":
                return 5
            return 3

        def cost(weight, kind):
            if weight < 0:
                raise ValueError(f"negative weight: {weight}")
            return weight * rate(kind)
        """,
    "code/tests/pytest.ini": "[pytest]\npythonpath = ../src\n",
    "code/tests/helpers.py": "def parcel(kind):\n    return 2, kind\n",
    "code/tests/test_cost.py": """
        from helpers import parcel
        from shop.cost import cost

        def test_fast(): assert cost(*parcel("fast")) == 12
        def test_slow(): assert cost(*parcel("slow")) == 6
        def test_negative(): assert cost(-1, "slow") == 0
        """,
}
# in a folder of its own, as pytester makes its folder the home
ROOT = ("--rootdir=code/tests", "-c", "code/tests/pytest.ini", "code/tests")


@needs_monitoring
def test_suspects(run):
    done = run(FILES, *ROOT, "--loop-close-file=nextprompt.md", own_process=True)
    causes = {cause["location"]["function"] or cause["title"]: cause for cause in done.report["root_causes"]}
    suspects = [s for cause in causes.values() for s in cause["suspects"] if s["function"] == "rate"]
    assert [s["file"] for s in suspects] == ["../src/shop/cost.py"]
    assert "if weight < 0:" in done.prompt  # its source is shown
