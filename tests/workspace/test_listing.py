import os
import shutil
import subprocess
from pathlib import Path

import pytest

from loop_close import workspace
from loop_close.workspace import is_noise, list_files, walk

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def put(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{path}\n")


def git(folder, *arguments):
    settings = (
        "user.name=A",
        "user.email=a@b.invalid",
        "protocol.file.allow=always",
        "init.defaultBranch=main",
    )
    options = [part for setting in settings for part in ("-c", setting)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *options, *arguments], cwd=folder, check=True, capture_output=True, env=environment
    )
    return done.stdout.decode("utf-8", "replace").strip()


def repository(folder, *paths):
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q")
    put(folder, *paths)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first", "--allow-empty")
    return folder


@pytest.mark.parametrize(
    "path",
    [
        *("a.pyc", "a/__pycache__/b.py", "a.so", "a.cpython-311.so.1", "x.PNG", "a.whl", "db.sqlite3-wal"),
        *(
            ".github/ci.yml",
            "a/.idea/x.xml",
            ".coverage",
            ".coverage.host.12",
            "coverage.xml",
            "out/junit.xml",
        ),
        *(
            "my-junit-3.xml",
            "test-results.xml",
            "a.log",
            "a.py~",
            ".a.py.swp",
            "#a.py#",
            "p.egg-info/PKG-INFO",
        ),
        *(".gitignore", "a/.gitattributes", "venv/lib/python3.11/site-packages/x.py", ".DS_Store"),
        ".loop-close-nh9l4n45",
    ],
)
def test_what_is_written_by_itself_is_noise(path):
    assert is_noise(path)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "a.py",
            "Makefile",
            ".coveragerc",
            ".env",
            "a/b.json",
            "a.cfg",
            "x.toml",
            "y.yaml",
            "q.sql",
            "d.csv",
        ),
        *(
            "t.html",
            "r.txt",
            "a.py.txt",
            "logs.py",
            "build/x.py",
            "dist.py",
            "feed.xml",
            "data",
            "pyc",
            "a.lock",
        ),
        *("junit.py", "coverage/x.py", "a\nb.py", "__pycache__"),
    ],
)
def test_what_tests_may_depend_on_is_kept(path):
    assert not is_noise(path)


def test_walk_leaves_out_what_is_not_the_project(tmp_path):
    put(tmp_path, "a.py", "pkg/b.py", "pkg/deep/c.json", "tests/build/no.py", "dist/no.py", ".hidden/no.py")
    put(tmp_path, "my_env/pyvenv.cfg", "my_env/no.py", "node_modules/x/no.js", "p.egg-info/no", "a.pyc")
    (tmp_path / "linked").symlink_to(tmp_path / "pkg")
    (tmp_path / "loop").symlink_to(tmp_path)
    expected = ["a.py", "linked", "loop", "pkg/b.py", "pkg/deep/c.json"]
    assert sorted(walk(tmp_path)) == expected
    assert list_files(tmp_path) == (expected, "walk", "")
    assert walk(tmp_path, "pkg") == ["pkg/b.py", "pkg/deep/c.json"]


def test_walk_is_bounded(tmp_path, monkeypatch):
    put(tmp_path, *(f"{n:02}.txt" for n in range(9)), "z/z.py", "/".join(["d"] * 40) + "/deep.py")
    assert not any("deep" in path for path in walk(tmp_path))
    monkeypatch.setattr(workspace, "MAX_FILES", 5)
    found = list_files(tmp_path)
    assert found.problem == "the project has more than 5 files; some were not looked at"
    assert len(found.paths) == 5


def test_folder_that_is_not_there_has_no_files(tmp_path):
    assert list_files(tmp_path / "gone") == ([], "walk", "")


@needs_git
def test_git_lists_what_is_tracked_and_what_is_new_but_not_what_is_ignored(tmp_path):
    repository(tmp_path, "a.py", "src/b.py", "build/kept.py", "gone.py")
    put(tmp_path, "new.py", "ignored/x.py", "src/c.pyc")
    (tmp_path / ".gitignore").write_text("ignored/\n")
    (tmp_path / "gone.py").unlink()
    assert list_files(tmp_path) == (["a.py", "build/kept.py", "gone.py", "new.py", "src/b.py"], "git", "")


@needs_git
def test_root_may_be_a_folder_of_the_repository(tmp_path):
    repository(tmp_path, "a.py", "sub/b.py")
    put(tmp_path, "sub/new.py")
    assert list_files(tmp_path / "sub") == (["b.py", "new.py"], "git", "")


@needs_git
def test_root_that_the_repository_ignores_is_walked(tmp_path):
    repository(tmp_path, "a.py")
    (tmp_path / ".gitignore").write_text("scratch/\n")
    put(tmp_path, "scratch/b.py")
    assert list_files(tmp_path / "scratch") == (["b.py"], "walk", "")


@needs_git
def test_environment_that_is_not_ignored_is_left_out(tmp_path):
    repository(tmp_path, "a.py")
    put(tmp_path, "env/pyvenv.cfg", "env/bin/x.py", "env.py")
    assert list_files(tmp_path).paths == ["a.py", "env.py"]


@needs_git
def test_work_tree_lists_its_own_files_and_is_none_of_the_repository(tmp_path):
    main = repository(tmp_path / "main", "a.py")
    git(main, "worktree", "add", "-q", "other")
    put(main, "other/b.py")
    assert list_files(main / "other").paths == ["a.py", "b.py"]
    assert list_files(main).paths == ["a.py"]


@needs_git
def test_repositories_inside_are_listed_as_folders(tmp_path):
    library = repository(tmp_path / "library", "lib.py")
    main = repository(tmp_path / "main", "a.py")
    git(main, "submodule", "--quiet", "add", str(library), "sub")
    repository(main / "clone", "c.py")
    assert list_files(main) == (["a.py", "clone", "sub"], "git", "")


@needs_git
def test_conflict_lists_a_file_once(tmp_path):
    repository(tmp_path, "a.py")
    git(tmp_path, "checkout", "-qb", "other")
    for branch in ("other", "main"):
        git(tmp_path, "checkout", "-q", branch)
        (tmp_path / "a.py").write_text(branch)
        git(tmp_path, "commit", "-qam", branch)
    with pytest.raises(subprocess.CalledProcessError):
        git(tmp_path, "merge", "other")
    assert list_files(tmp_path).paths == ["a.py"]


@needs_git
def test_variables_of_a_hook_do_not_mislead(tmp_path, monkeypatch):
    repository(tmp_path / "one", "a.py")
    other = repository(tmp_path / "two", "b.py")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    monkeypatch.setenv("GIT_PREFIX", "x/")
    assert list_files(tmp_path / "one") == (["a.py"], "git", "")


@needs_git
def test_names_may_hold_any_bytes(tmp_path):
    repository(tmp_path, "a b.py", "ä.py", "line\nbreak.py", '"q".py', "-x.py")
    with open(os.fsencode(tmp_path) + b"/\xff.py", "w"):
        pass
    assert set(list_files(tmp_path).paths) == {
        *("a b.py", "ä.py", "line\nbreak.py", '"q".py', "-x.py", "\udcff.py")
    }


@needs_git
def test_configuration_and_python_files_come_first_where_there_are_too_many(tmp_path, monkeypatch):
    repository(tmp_path, "a.txt", "b.txt", "y.py", "z.py", "pyproject.toml")
    monkeypatch.setattr(workspace, "MAX_FILES", 4)
    found = list_files(tmp_path)
    assert found.paths == ["a.txt", "pyproject.toml", "y.py", "z.py"]
    monkeypatch.setattr(workspace, "MAX_FILES", 1)
    assert list_files(tmp_path).paths == ["pyproject.toml"]
    assert found.problem.startswith("the project has more than 4 files")


def fake_git(folder, script):
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    return str(folder)


SCRIPTED = pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")


@SCRIPTED
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("printf 'half\\0'; exit 1", "it ended with 1"),
        ("printf '\\033[31m\\377' >&2; exit 1", "\ufffd"),
        ("exec sleep 30", "no answer within 0.2 seconds"),
    ],
)
def test_without_an_answer_of_git_a_repository_is_not_walked(tmp_path, monkeypatch, script, why):
    put(tmp_path, "alone/a.py", "project/sub/ignored.py")
    monkeypatch.setenv("PATH", f"{fake_git(tmp_path / 'bin', script)}:/bin:/usr/bin")
    monkeypatch.setattr(workspace, "_SECONDS", 0.2)
    assert list_files(tmp_path / "alone") == (["a.py"], "walk", "")
    for make in (Path.mkdir, Path.touch):  # a file in a work tree and in a submodule
        make(tmp_path / "project" / ".git")
        for folder in ("project", "project/sub"):
            assert list_files(tmp_path / folder) == ([], "walk", f"git could not list the files: {why}")
        (tmp_path / "project" / ".git").rename(tmp_path / f"{make.__name__}.old")


@SCRIPTED
@pytest.mark.parametrize(
    "script", [None, "echo 'fatal: detected dubious ownership in repository' >&2; echo more >&2; exit 128"]
)
def test_where_git_never_lists_a_repository_is_walked(tmp_path, monkeypatch, script):
    put(tmp_path, "project/a.py")
    (tmp_path / "project" / ".git").mkdir()
    found = fake_git(tmp_path / "bin", script) if script else str(tmp_path)
    monkeypatch.setenv("PATH", f"{found}:/bin:/usr/bin" if script else found)
    assert list_files(tmp_path / "project") == (["a.py"], "walk", "")


def with_lazy_fetch(folder, script, url):
    """A repository of which git has to fetch a part from a remote to know what is ignored."""
    folder.mkdir()
    (folder / ".gitignore").write_text("*.o\n")
    repository(folder, "a.py")
    blob = git(folder, "rev-parse", "HEAD:.gitignore")
    git(folder, "update-index", "--skip-worktree", ".gitignore")
    (folder / ".gitignore").unlink()
    (folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for name, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": url.format(script=script, folder=folder),
        "remote.origin.uploadpack": script,
        "core.sshCommand": script,
        "core.gitProxy": script,
        "core.askPass": script,
        "core.fsmonitor": script,
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
    }.items():
        git(folder, "config", name, str(value))
    put(folder, "new.py")


@SCRIPTED
@needs_git
@pytest.mark.parametrize("is_older", [False, True])
@pytest.mark.parametrize(
    "url", ["ssh://x.invalid/y", "ext::{script}", "file://{folder}", "git://x.invalid/y"]
)
def test_prepared_repository_runs_nothing(tmp_path, monkeypatch, url, is_older):
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 1\n")
    script.chmod(0o755)
    with_lazy_fetch(tmp_path / "project", script, url)
    if is_older:  # than 2.45, to which the variable says nothing
        environment = workspace._environment
        monkeypatch.setattr(workspace, "_environment", lambda: {**environment(), "GIT_NO_LAZY_FETCH": "0"})
    found = list_files(tmp_path / "project")
    assert not (tmp_path / "ran").exists()
    assert found.paths == ["a.py", "new.py"] or found.problem


@needs_git
def test_part_that_is_not_fetched_is_no_reason_to_fail(tmp_path):
    with_lazy_fetch(tmp_path / "project", tmp_path / "none", "ssh://x.invalid/y")
    assert list_files(tmp_path / "project") == (["a.py", "new.py"], "git", "")


@SCRIPTED
@needs_git
@pytest.mark.timeout(30)
def test_pipe_in_the_place_of_settings_is_not_waited_for(tmp_path, monkeypatch):
    repository(tmp_path, "a.py")
    (tmp_path / ".git" / "info").mkdir(exist_ok=True)
    (tmp_path / ".git" / "info" / "exclude").unlink(missing_ok=True)
    os.mkfifo(tmp_path / ".git" / "info" / "exclude")
    assert workspace._SECONDS <= 3
    monkeypatch.setattr(workspace, "_SECONDS", 0.3)
    found = list_files(tmp_path)
    assert found == ([], "walk", "git could not list the files: no answer within 0.3 seconds")
