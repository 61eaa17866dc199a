"""Old tests against present code, in small real projects."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs
from small_project import BROKEN, SHOP, TESTS, WEAK, Project, outcomes

from loop_close import baseline
from loop_close.baseline.objection import objection_to
from loop_close.records import Run

pytestmark = pytest.mark.slow  # each test runs pytest twice or more


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "shop").begin()


TOTAL = {"tests/test_shop.py::test_total": "failed"}


def test_weakened(project: Project) -> None:
    found = project.objection({"shop.py": BROKEN, "tests/test_shop.py": WEAK})
    assert outcomes(found) == TOTAL
    assert found is not None
    assert found.files == ("tests/test_shop.py",)
    assert "assert 0 == 3" in found.tests[0].reason
    assert "+    assert total([1, 2]) >= 0" in found.diff


FLIP = (
    "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    done = yield\n    done.get_result().outcome = 'passed'\n"
)
PLUGIN = {
    "shop-1.dist-info/METADATA": "Name: shop\nVersion: 1\n",
    "shop-1.dist-info/entry_points.txt": "[pytest11]\nx = flip\n",
}
SKIP = TESTS.replace("def test_total", "@pytest.mark.skip\ndef test_total")


@pytest.mark.parametrize(
    "edit",
    [
        {"conftest.py": FLIP},
        {"tests/conftest.py": "collect_ignore = ['test_shop.py']\n", "tests/test_new.py": "def test_a(): ...\n"},
        {"conftest.py": "def pytest_collection_modifyitems(items):\n    del items[0]\n"},
        {"pytest.ini": "[pytest]\naddopts = --deselect tests/test_shop.py::test_total\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-k empty'\n"},
        {"setup.cfg": "[metadata]\nname = shop\n\n[tool:pytest]\naddopts = -k empty\n"},
        {"flip.py": FLIP, **PLUGIN},
        {"flip.py": FLIP, "sitecustomize.py": "import os\n\nos.environ['PYTEST_ADDOPTS'] = '-p flip'\n"},
        {"tests/test_new.py": "import shop\n\nshop.total = sum\n\n\ndef test_new(): ...\n", "tests/test_shop.py": "import test_new\n" + TESTS},
        {"tests/test_aa.py": "import shop\n\nshop.total = sum\n\n\ndef test_new(): ...\n"},
        {"tests/shop.py": SHOP},
        {"tests/test_shop.py": "import pytest\n" + SKIP},
        {"tests/test_shop.py": "import pytest\n" + SKIP.replace("skip", "xfail")},
        {"tests/test_shop.py": None, "tests/test_new.py": "def test_a(): ...\n"},
        {"tests/test_shop.py": TESTS.replace("test_total", "_test_total")},
        {"tests/test_shop.py": f"import pytest\n\npytest.skip('later', allow_module_level=True)\n{TESTS}", "tests/test_new.py": "def test_a(): ...\n"},
        {"tox.ini": "# long\n" * 2_500_000 + "[pytest]\naddopts = -k empty\n"},
    ],
    ids=lambda edit: " ".join(edit)[:60],
)  # fmt: skip
def test_what_hides_a_failure(
    project: Project, edit: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "flip.py" in edit:
        monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    assert outcomes(project.objection({"shop.py": BROKEN, **edit})) == TOTAL


@pytest.mark.parametrize(
    "edit",
    [
        {"tests/test_shop.py": "import shop\n\n\ndef test_all():\n    assert (shop.total([1, 2]), shop.total([])) == (3, 0)\n"},
        {"tests/test_shop.py": WEAK},
        {"tests/test_shop.py": None, "tests/unit/test_sums.py": TESTS},
        {"tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef items(): ...\n"},
        {"pyproject.toml": "[project]\nname = 'shop'\n\n[tool.pytest.ini_options]\naddopts = '-ra'\n"},
        {"shop.py": "import pytest\n" + SHOP, "tests/test_new.py": TESTS},
    ],
    ids=lambda edit: " ".join(edit)[:60],
)  # fmt: skip
def test_good_code_is_not_objected_to(project: Project, edit: dict[str, str | None]) -> None:
    assert project.objection(edit) is None


def test_good_code_under_a_check_that_names_a_test(tmp_path: Path) -> None:
    project = Project(tmp_path / "shop")
    test = "tests/test_shop.py::test_total"

    def run() -> Run:
        project.run = project.check(test)
        return project.run

    baseline.take(project.root, project.tree(), [run()])
    project.write({"tests/test_shop.py": WEAK})
    run()
    assert project.objected() is None
    project.write({"shop.py": BROKEN})
    run()
    assert outcomes(project.objected()) == {test: "failed"}


def test_data_of_tests(tmp_path: Path) -> None:
    text = "import pathlib\n\nfrom shop import total\n\n\ndef test_gold():\n    gold = pathlib.Path(__file__).with_name('gold.txt')\n"
    test = text + "    assert str(total([1, 2])) == gold.read_text()\n"
    project = Project(
        tmp_path / "shop", {"shop.py": SHOP, "tests/test_gold.py": test, "tests/gold.txt": "3"}
    ).begin()
    found = project.objection({"shop.py": BROKEN, "tests/gold.txt": "0"})
    assert outcomes(found) == {"tests/test_gold.py::test_gold": "failed"}


def test_without_a_report(project: Project) -> None:
    project.write({"tests/test_shop.py": WEAK}).context = None
    found = project.objected()
    assert found is not None
    assert (found.files, found.tests, found.reason) == (
        ("tests/test_shop.py",),
        (),
        "pytest did not report in this check; does its environment have loop-close?",
    )


def test_an_old_test_that_was_strictly_expected_to_fail_and_passes(project: Project) -> None:
    """The feature is there now: the mark had to go."""
    strict = TESTS.replace("def test_total", "@pytest.mark.xfail(strict=True)\ndef test_total")
    project.write({"tests/test_shop.py": f"import pytest\n{strict}", "shop.py": BROKEN})
    project.begin()
    assert project.objection({"shop.py": SHOP, "tests/test_shop.py": TESTS}) is None


def test_a_module_that_the_product_has_skipped(tmp_path: Path) -> None:
    asking = TESTS.replace(
        "from shop import total", "import pytest\n\ntotal = pytest.importorskip('shop').total"
    )
    files = {"shop.py": SHOP, "tests/test_shop.py": asking, "tests/test_new.py": "def test_a(): ...\n"}
    project = Project(tmp_path / "shop", files).begin()
    found = project.objection({"shop.py": None, "store.py": BROKEN})
    assert outcomes(found) == dict.fromkeys(
        ("tests/test_shop.py::test_total", "tests/test_shop.py::test_empty"), "skipped"
    )


def test_a_hollow_command(project: Project) -> None:
    found = project.objection({"shop.py": BROKEN}, "-k", "empty")
    assert outcomes(found) == {"tests/test_shop.py::test_total": "missing"}


def test_two_pytests_of_a_check_are_asked_together(project: Project) -> None:
    """Each runs some of the tests: none is missing."""
    project.write({"tests/test_more.py": TESTS}).begin()
    assert project.context is not None
    parts = [
        structs.replace(project.context, args=("-q", f"tests/test_{name}.py")) for name in ("shop", "more")
    ]
    project.write({"tests/test_shop.py": WEAK}).check()
    found = baseline.load(project.root)
    assert found is not None
    asked = (project.root, found, project.tree(), project.run)
    assert objection_to(*asked, parts) is None
    project.write({"shop.py": BROKEN})
    assert outcomes(objection_to(*asked, parts)) == TOTAL  # the other test did not change, and fails as it is
