"""The tree: which files count, what changes it, and that its cache never hides an edit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from loop_close.tree import Tree, TreeError, changed, take


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project without git."""
    root = tmp_path / "shop"
    for path in ("src/shop/calc.py", "tests/test_calc.py", "tests/prices.json", "pyproject.toml"):
        write(root, path)
    return root


@pytest.fixture
def repository(root: Path) -> Path:
    """The same in git, committed, which ignores ``ignored`` and ``*.ignored.*`` anywhere."""
    write(root, ".gitignore", "ignored/\n*.ignored*\nconftest.py\n*.egg-info/\n.venv\n")
    commit(root)
    return root


def git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")


def write(root: Path, path: str, text: str = "first\n") -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def difference(root: Path, path: str, **how: object) -> tuple[str, ...]:
    """What changes when the file is written."""
    before = take(root, **how)  # type: ignore[arg-type]
    write(root, path, "second\n")
    return changed(before, take(root, **how))  # type: ignore[arg-type]


COUNTS = (
    "src/shop/calc.py",
    "new.py",
    "tests/prices.json",
    "data.db",
    "lib.so",
    "README.md",
    "build/lib/shop.py",
    "htmlcov/shop.py",  # Python counts wherever it is
    "shop.pyc",  # Python imports it if it lies beside no source
    "conftest.py",
    "tests/conftest.py",
    "src/shop/conftest.py",
    "tests/deep/down/test_more.py",
    "sitecustomize.py",
    "sitecustomize/__init__.py",
    "pytest.ini",
    "shop.pth",
    "shop.egg-info/entry_points.txt",
    "src/shop.egg-info/entry_points.txt",
)
NOISE = (
    "src/shop/__pycache__/calc.pyc",
    ".coverage",
    ".coverage.host.1",
    "coverage.xml",
    ".hypothesis/examples/a",
    ".pytest_cache/v/lastfailed",
    "htmlcov/index.html",
    ".mypy_cache/a.json",
    ".calc.py.swp",
    ".venv/lib/python3/site-packages/x.py",
    "node_modules/x/index.js",
    ".loop-close/history.sqlite3",
    ".tox/py/x.py",
)


@pytest.mark.parametrize("path", COUNTS)
@pytest.mark.parametrize("kind", ["root", "repository"])
def test_files_that_tests_may_depend_on_count(request: pytest.FixtureRequest, kind: str, path: str) -> None:
    assert difference(request.getfixturevalue(kind), path) == (path,)


@pytest.mark.parametrize("path", NOISE)
@pytest.mark.parametrize("kind", ["root", "repository"])
def test_what_tools_write_does_not_count(request: pytest.FixtureRequest, kind: str, path: str) -> None:
    assert difference(request.getfixturevalue(kind), path) == ()


def test_what_git_ignores_does_not_count_unless_it_is_tracked_or_loaded_by_itself(repository: Path) -> None:
    assert difference(repository, "ignored/shop.py") == ()
    assert difference(repository, "src/shop/data.ignored.json") == ()
    assert difference(repository, "tests/test_hidden.ignored_test.py") == (
        "tests/test_hidden.ignored_test.py",
    )
    write(repository, "tracked.ignored.py")
    write(repository, ".jj/tracked.txt")
    git(repository, "add", "-f", "tracked.ignored.py", ".jj/tracked.txt")
    assert difference(repository, "tracked.ignored.py") == ("tracked.ignored.py",)
    assert difference(repository, ".jj/tracked.txt") == (".jj/tracked.txt",)
    assert difference(repository, ".jj/other.txt") == ()


def test_an_environment_that_git_does_not_ignore_is_left_out_but_tracked_files_never_are(
    repository: Path,
) -> None:
    write(repository, "env/pyvenv.cfg")
    assert difference(repository, "env/lib/site-packages/x.py") == ()
    write(repository, "src/pyvenv.cfg")
    assert difference(repository, "src/shop/calc.py") == ("src/shop/calc.py",)


def test_submodules_and_repositories_inside_count(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other, "lib.py")
    commit(other)
    git(repository, "submodule", "add", "-q", str(other), "vendor/other")
    write(repository, "inner/a.py")
    commit(repository / "inner")
    assert {"vendor/other/lib.py", "inner/a.py"} <= set(take(repository).files)
    assert difference(repository, "vendor/other/lib.py") == ("vendor/other/lib.py",)
    assert difference(repository, "inner/new.py") == ("inner/new.py",)


def test_a_folder_that_its_repository_ignores_is_walked(repository: Path) -> None:
    write(repository, "ignored/calc.py")
    assert difference(repository / "ignored", "calc.py") == ("calc.py",)


def test_outputs_match_no_python_and_nothing_of_the_tests(root: Path) -> None:
    outputs = ("*.csv", "out/", "*.py", "tests/*", "pytest.ini")
    for path in ("a.csv", "deep/b.csv", "out/x.json"):
        assert difference(root, path, outputs=outputs) == ()
    for path in ("out/calc.py", "tests/prices.json", "tests/a.csv", "pytest.ini"):
        assert difference(root, path, outputs=outputs) == (path,)


def test_of_an_output_that_git_tracks_only_the_content_counts(repository: Path) -> None:
    for outputs, expected in (((), ("tests/prices.json",)), (("tests/*.json",), ())):
        before = take(repository, outputs=outputs)
        os.utime(repository / "tests/prices.json", (1, 1))
        assert changed(before, take(repository, outputs=outputs)) == expected
    assert difference(repository, "tests/prices.json", outputs=("tests/*.json",)) == ("tests/prices.json",)


def test_a_folder_is_an_environment_if_it_has_an_interpreter(root: Path) -> None:
    """Python files count below it, too, but for those of the folders that an environment has."""
    write(root, "src/pyvenv.cfg")
    assert difference(root, "src/lib/calc.py") == ("src/lib/calc.py",)
    write(root, "src/bin/python")
    assert difference(root, "src/lib/calc.py") == ()
    assert difference(root, "src/shop/calc.py") == ("src/shop/calc.py",)


def test_our_own_files_are_left_out_but_never_python(root: Path) -> None:
    ours = ("nextprompt.md", "src/shop/calc.py")
    assert difference(root, "nextprompt.md", leave_out=ours) == ()
    assert difference(root, "src/shop/calc.py", leave_out=ours) == ("src/shop/calc.py",)


def test_what_an_installation_writes_again_did_not_change(repository: Path) -> None:
    write(repository, "src/shop.egg-info/entry_points.txt", "second\n")
    assert difference(repository, "src/shop.egg-info/entry_points.txt") == ()


def test_a_python_file_that_was_replaced_by_the_same_text_changed(root: Path) -> None:
    before = take(root)
    write(root, "src/shop/calc.py", "meanwhile\n")
    write(root, "src/shop/calc.py")
    after = take(root)
    assert after.digest == before.digest
    assert changed(before, after) == ("src/shop/calc.py",)


def test_a_removed_a_renamed_and_an_executable_file_change_the_tree(root: Path) -> None:
    before = take(root)
    (root / "tests/prices.json").rename(root / "tests/costs.json")
    (root / "pyproject.toml").chmod(0o755)
    assert changed(before, take(root)) == ("pyproject.toml", "tests/costs.json", "tests/prices.json")


def test_a_link_counts_by_its_target_and_the_content_of_a_file_there(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text("1", encoding="utf-8")
    (root / "data.json").symlink_to(outside)
    (root / "broken").symlink_to("nowhere")
    (root / "all").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    before = take(root)
    outside.write_text("2", encoding="utf-8")
    assert changed(before, take(root)) == ("data.json",)
    (root / "broken").unlink()
    (root / "broken").symlink_to("elsewhere")
    assert changed(before, take(root)) == ("broken", "data.json")


def test_a_hostile_environment_and_index_lead_nowhere_else(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "elsewhere/secret.py")
    git(repository, "config", "core.fsmonitor", f"touch {tmp_path}/started; false")
    (repository / "src").rename(tmp_path / "src")
    (repository / "src").symlink_to(tmp_path / "src")  # the index still names src/shop/calc.py
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", "/dev/null")
    files = take(repository).files
    assert "tests/test_calc.py" in files
    assert "src" in files
    assert not [path for path in files if path.startswith("src/")]
    assert not (tmp_path / "started").exists()


def test_without_git_the_files_are_walked(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "src/shop/calc.py" in take(repository).files


def test_names_may_be_any_bytes(root: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \n\xff.py")
    before = take(root)
    (root / name).write_bytes(b"1")
    assert len(changed(before, take(root))) == 1


def test_a_root_that_is_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="is not a folder"):
        take(tmp_path / "missing")


class TestCache:
    """Only what is older than the look by a tick is believed."""

    @pytest.fixture
    def cache(self, root: Path) -> Path:
        (root / ".loop-close").mkdir()
        return root / ".loop-close" / "tree"

    def old(self, root: Path, monkeypatch: pytest.MonkeyPatch, seconds: int = 10) -> None:
        """Let the clock be ahead of all times of files."""
        now = max(os.lstat(path).st_ctime_ns for path in root.rglob("*"))
        monkeypatch.setattr("loop_close.tree.time.time_ns", lambda: now + seconds * 10**9)

    def reads(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        found: list[str] = []
        from loop_close import tree

        real = tree._read
        monkeypatch.setattr(tree, "_read", lambda path: found.append(os.path.basename(path)) or real(path))
        return found

    def test_an_old_file_is_read_once_and_again_when_it_changes(
        self, root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.old(root, monkeypatch)
        first = take(root, cache=cache)
        reads = self.reads(monkeypatch)
        assert take(root, cache=cache) == first
        assert reads == []
        calc = root / "src/shop/calc.py"
        status = calc.stat()
        calc.write_text("FIRST\n", encoding="utf-8")  # of the same size
        os.utime(calc, ns=(status.st_atime_ns, status.st_mtime_ns))  # with the same time
        assert changed(first, take(root, cache=cache)) == ("src/shop/calc.py",)
        assert reads == ["calc.py"]

    def test_a_file_written_just_before_the_look_is_read_again(
        self, root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.old(root, monkeypatch, seconds=1)
        take(root, cache=cache)
        reads = self.reads(monkeypatch)
        take(root, cache=cache)
        assert sorted(reads) == ["calc.py", "prices.json", "pyproject.toml", "test_calc.py"]

    @pytest.mark.parametrize("content", [b"", b"\xff\x00nonsense", b"\x81\xa1a\x95\x01\x02\x03\x04\x05"])
    def test_a_damaged_cache_is_none(self, root: Path, cache: Path, content: bytes) -> None:
        cache.write_bytes(content)
        assert take(root, cache=cache) == take(root)

    def test_a_cache_that_cannot_be_written_costs_nothing(
        self, root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.old(root, monkeypatch)
        cache.mkdir()
        assert isinstance(take(root, cache=cache), Tree)
        assert os.listdir(cache.parent) == ["tree"]
