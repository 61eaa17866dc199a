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
COMMAND = (
    "--rootdir=code/tests",
    "-c",
    "code/tests/pytest.ini",
    "code/tests",
    "--loop-close-file=nextprompt.md",
)


@needs_monitoring
def test_suspects(run):
    done = run(FILES, *COMMAND, own_process=True)
    causes = {cause["location"]["function"] or cause["title"]: cause for cause in done.report["root_causes"]}
    suspects = [s for cause in causes.values() for s in cause["suspects"] if s["function"] == "rate"]
    assert [s["file"] for s in suspects] == ["../src/shop/cost.py"]
    assert "if weight < 0:" in done.prompt  # its source is shown


def test_a_test_that_leaves_its_folder(run):
    """Where the files are is found out before the tests."""
    leaving = """
        import os, shutil

        def test_gone(tmp_path, monkeypatch):
            monkeypatch.setenv("HOME", "/nowhere")
            os.chdir(tmp_path)
            shutil.rmtree(tmp_path)
            assert 1 == 2
        """
    done = run({**FILES, "code/tests/test_cost.py": leaving}, *COMMAND, own_process=True)
    assert done.report["root_causes"][0]["location"]["line"] == 8
    assert "assert 1 == 2" in done.prompt
