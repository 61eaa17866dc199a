"""Where the product lies: old tests import the present one, in a copy, and nothing reaches the project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path

import msgspec
import pytest
from small_project import BROKEN, FLAT, SHOP, TESTS, WEAK, Project, outcomes

pytestmark = pytest.mark.slow  # each test runs pytest twice or more


def with_venv(root: Path, at: str = ".venv") -> tuple[str, Path]:
    """An environment that sees the packages of ours; its interpreter and its site-packages."""
    venv.create(root / at, symlinks=True)
    site = next((root / at).glob("lib/python*/site-packages"))
    (site / "ours.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return str(root / at / "bin" / "python"), site


def check(project: Project, product: str) -> None:
    """Weakened tests are objected to over a faulty product and not over a good one."""
    tests = next(str(path.relative_to(project.root)) for path in project.root.rglob("test_shop.py"))
    project.begin()
    weak = (
        project.root.joinpath(tests)
        .read_text()
        .replace("assert total([1, 2]) == 3", "assert total([1, 2]) >= 0")
    )
    assert project.objection({tests: weak}) is None
    found = project.objection({product: BROKEN})
    assert outcomes(found) == {f"{tests}::test_total": "failed"}
    assert not [path for path in project.root.rglob("*") if path.name == "written.txt"]


WRITES = "\n\ndef test_written():\n    import pathlib\n\n    pathlib.Path('written.txt').write_text('x')\n    pathlib.Path(__file__).with_name('written.txt').write_text('x')\n    pathlib.Path('written.txt').unlink()\n    pathlib.Path(__file__).with_name('written.txt').unlink()\n"  # fmt: skip


def test_src_layout_with_its_own_configuration(tmp_path: Path) -> None:
    files = {
        "src/shop/__init__.py": SHOP,
        "tests/test_shop.py": TESTS + WRITES,
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\n",
    }
    check(Project(tmp_path / "shop", files), "src/shop/__init__.py")


def test_tests_inside_the_package(tmp_path: Path) -> None:
    files = {"shop/__init__.py": SHOP, "shop/tests/__init__.py": "", "shop/tests/test_shop.py": TESTS}
    check(Project(tmp_path / "shop", files), "shop/__init__.py")


def test_installed_editable_by_a_path_file(tmp_path: Path) -> None:
    python, site = with_venv(tmp_path / "shop")
    (site / "shop.pth").write_text(f"{tmp_path / 'shop' / 'src'}\n")
    files = {"src/shop/__init__.py": SHOP, "tests/test_shop.py": TESTS}
    check(Project(tmp_path / "shop", files, python), "src/shop/__init__.py")


def test_installed_editable_by_a_finder(tmp_path: Path) -> None:
    python, site = with_venv(tmp_path, "elsewhere")
    finder = (
        "import sys\nfrom importlib.util import spec_from_file_location\n\n\nclass Finder:\n    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n        if name == 'shop':\n"
        f"            return spec_from_file_location(name, {str(tmp_path / 'shop/lib/shop/__init__.py')!r})\n\n\n"
        "def install():\n    sys.meta_path.append(Finder)\n"
    )
    (site / "__editable___shop_finder.py").write_text(finder)
    (site / "__editable__.shop.pth").write_text("import __editable___shop_finder as f; f.install()\n")
    files = {"lib/shop/__init__.py": SHOP, "tests/test_shop.py": TESTS}
    check(Project(tmp_path / "shop", files, python), "lib/shop/__init__.py")


def test_ignored_files_are_there(tmp_path: Path) -> None:
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("no compiler")
    source = (
        "#include <Python.h>\nstatic struct PyModuleDef def = {PyModuleDef_HEAD_INIT, \"fast\"};\n"
        "PyMODINIT_FUNC PyInit_fast(void) { return PyModule_Create(&def); }\n"
    )  # fmt: skip
    test = "import fast\nimport version\n" + TESTS
    ignore = ".gitignore\n*.so\nversion.py\n"
    files = {
        **FLAT,
        "tests/test_shop.py": test,
        "version.py": "V = 1\n",
        "fast.c": source,
        ".gitignore": ignore,
    }
    project = Project(tmp_path / "shop", files)
    include = sysconfig.get_path("include")
    words = [compiler, "-shared", "-fPIC", f"-I{include}", "fast.c", "-o", "fast.so"]
    if subprocess.run(words, cwd=project.root, capture_output=True, check=False).returncode:
        pytest.skip("the compiler has no headers of Python")
    project.git("init", "-q")
    check(project, "shop.py")


def test_bytecode_of_the_same_time_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytecode of the weak tests, which has the time and the size of the old ones, does not come back."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    project = Project(tmp_path / "shop").begin()
    shutil.rmtree(project.root / "tests/__pycache__")
    file = project.root / "tests/test_shop.py"
    status = file.stat()
    same = TESTS.replace("assert total([1, 2]) == 3", "assert total([1, 2]) != 3")
    project.write({"shop.py": BROKEN, "tests/test_shop.py": same, "tests/conftest.py": "X = 1\n"})
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    project.check()
    assert outcomes(project.objected()) == {"tests/test_shop.py::test_total": "failed"}


def test_a_child_process_imports_from_the_copy(tmp_path: Path) -> None:
    test = (
        "import subprocess, sys\n\n\ndef test_total():\n    code = 'import shop; print(shop.__file__, shop.total([1]))'\n"
        "    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout.split()\n"
        "    assert out[1] == '1'\n    assert out[0].startswith(__file__.rsplit('/', 2)[0])\n"
    )
    files = {**FLAT, "tests/test_shop.py": test}
    project = Project(tmp_path / "shop", files).begin()
    assert project.objection({"tests/test_shop.py": test + "\n"}) is None
    found = project.objection({"shop.py": BROKEN, "tests/test_shop.py": "def test_total(): ...\n"})
    assert outcomes(found) == {"tests/test_shop.py::test_total": "failed"}


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("import pathlib\n\n\ndef test_total():\n    pathlib.Path(ROOT, 'x.txt').write_text('x')\n", "they write into the project: x.txt"),
        ("def test_total():\n    assert open(ROOT + '/tests/gold.txt').read()\n", "a file was read outside of the copy"),
    ],
    ids=["write", "read"],
)  # fmt: skip
def test_a_test_that_leaves_the_copy(tmp_path: Path, test: str, reason: str) -> None:
    root = tmp_path / "shop"
    test = f"import os\n\nROOT = {str(root.parent)!r} + os.sep + 'shop'\n" + test
    project = Project(root, {**FLAT, "tests/test_shop.py": test, "tests/gold.txt": "1"}).begin()
    found = project.objection({"tests/gold.txt": "2"})
    assert found is not None
    assert reason in found.reason


def test_a_change_of_the_interface_names_the_import(tmp_path: Path) -> None:
    project = Project(tmp_path / "shop").begin()
    new = {"shop.py": SHOP.replace("total", "sum_up"), "tests/test_shop.py": TESTS.replace("total", "sum_up")}
    found = project.objection(new)
    assert outcomes(found) == {"tests/test_shop.py": "failed"}
    assert found is not None
    assert "cannot import name 'total'" in found.tests[0].reason


def test_a_test_that_fails_because_it_is_a_copy_is_no_objection(tmp_path: Path) -> None:
    test = "import pathlib\n\n\ndef test_git():\n    assert pathlib.Path('.git').exists()\n"
    project = Project(tmp_path / "shop", {**FLAT, "tests/test_git.py": test})
    project.git("init", "-q")
    project.begin()
    assert project.objection({"tests/test_shop.py": WEAK}) is None
    assert outcomes(project.objection({"shop.py": BROKEN})) == {"tests/test_shop.py::test_total": "failed"}


def test_a_product_that_makes_a_test_skip(tmp_path: Path) -> None:
    test = (
        "import pytest, shop\n\n\n@pytest.mark.skipif(shop.VERSION > 1, reason='of old')\n"
        + TESTS.partition("\n\n\n")[2]
    )
    test = test.replace("total(", "shop.total(").replace("test_shop.", "test_")
    project = Project(
        tmp_path / "shop", {**FLAT, "shop.py": SHOP + "VERSION = 1\n", "tests/test_shop.py": test}
    ).begin()
    found = project.objection({"shop.py": BROKEN + "VERSION = 2\n"})
    assert outcomes(found) == {next(iter(outcomes(found))): "skipped"}
    assert found is not None
    assert "of old" in found.tests[0].reason


def test_arguments_and_variables_that_name_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "shop"
    monkeypatch.setenv("GOLD", str(root / "tests"))
    test = "import os\n\nfrom shop import total\n\n\ndef test_total():\n    assert str(total([1, 2])) == open(os.environ['GOLD'] + '/gold.txt').read()\n"
    project = Project(root, {"shop.py": SHOP, "tests/test_shop.py": test, "tests/gold.txt": "3"})
    project.begin(str(root / "tests"))
    found = project.objection({"shop.py": BROKEN, "tests/gold.txt": "0"}, str(root / "tests"))
    assert outcomes(found) == {"tests/test_shop.py::test_total": "failed"}


def test_workers_of_xdist(tmp_path: Path) -> None:
    project = Project(tmp_path / "shop").begin()
    project.write({"shop.py": BROKEN, "tests/test_shop.py": WEAK}).check()
    assert project.context is not None
    project.context = msgspec.structs.replace(project.context, args=("-p", "xdist", "-n", "2"))
    assert outcomes(project.objected()) == {"tests/test_shop.py::test_total": "failed"}
