import os
import shutil
import socket
import subprocess

import pytest

from loop_close import workspace
from loop_close.workspace import MAX_KEPT, MAX_READ, FileEntry, take, take_known

needs_posix = pytest.mark.skipif(os.name == "nt", reason="there are no such files")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
OLD = 1_000_000_000 * 10**9
PRIVATE = [
    *(
        ".env",
        ".ENV",
        ".env.test",
        ".env.py",
        "prod.env",
        "Secrets.toml",
        "client_SECRET.json",
        "credentials",
    ),
    *(
        "passwords.txt",
        "passwd",
        "token",
        "Private.xml",
        "id_rsa",
        "ID_RSA.old",
        "id_rsa.py",
        "id_ed25519.pub",
    ),
    *("server.PEM", "a.key", "a.p12", "a.pfx", "a.jks", ".netrc", "_netrc", ".pypirc", ".npmrc", ".htpasswd"),
    *(".pgpass", ".vault_pass.txt", ".vault_pass.py", "a.tfstate", "a.tfvars", "a.kdbx", "a.toml", "data"),
]


def put(root, **files):
    """Write old files: what was written a moment ago is not trusted."""
    for path, content in files.items():
        write(root / path.replace("__", "/").replace("_py", ".py"), content)


def write(path, content, time=OLD):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, ns=(time, time))


@pytest.fixture
def reads(monkeypatch):
    """Names of the files that are read."""
    seen = []
    monkeypatch.setattr(workspace, "read", lambda path, read=workspace.read: seen.append(path) or read(path))
    return seen


def names(reads):
    found = [os.path.basename(path) for path in reads]
    reads.clear()
    return found


def test_snapshot_has_size_time_digest_and_content(tmp_path):
    put(tmp_path, a_py="x = 1\n", b__c_py="")
    snapshot = take(tmp_path, {})
    assert list(snapshot.entries) == ["a.py", "b/c.py"]
    entry = snapshot.entries["a.py"]
    assert (entry.size, entry.mtime_ns, len(entry.digest)) == (6, OLD, 32)
    assert snapshot.contents == {entry.digest: b"x = 1\n", snapshot.entries["b/c.py"].digest: b""}
    assert (snapshot.listed_by, snapshot.problem) == ("walk", "")


def test_what_has_not_changed_is_not_read_again(tmp_path, reads):
    put(tmp_path, a_py="x = 1\n", b_py="y = 1\n")
    first = take(tmp_path, {})
    assert names(reads) == ["a.py", "b.py"]
    write(tmp_path / "b.py", "y = 2\n", OLD + 1)
    second = take(tmp_path, first.entries)
    assert names(reads) == ["b.py"]
    assert second.entries["a.py"] == first.entries["a.py"]
    assert list(second.contents.values()) == [b"y = 2\n"]
    assert take(tmp_path, second.entries).contents == {}


def test_other_time_with_the_same_content_is_the_same_digest(tmp_path):
    put(tmp_path, a_py="x = 1\n")
    first = take(tmp_path, {}).entries["a.py"]
    os.utime(tmp_path / "a.py", ns=(OLD + 5, OLD + 5))
    second = take(tmp_path, {"a.py": first}).entries["a.py"]
    assert (second.digest, second.mtime_ns) == (first.digest, OLD + 5)


def test_file_of_this_moment_is_read_again_the_next_time(tmp_path, reads):
    now = take(tmp_path, {})  # the clock has not gone back since
    write(tmp_path / "a.py", "x = 1\n", 4 * 10**18)
    now = take(tmp_path, {})
    assert now.entries["a.py"].mtime_ns == -1
    write(tmp_path / "a.py", "x = 2\n", 4 * 10**18)
    assert take(tmp_path, now.entries).entries["a.py"].digest != now.entries["a.py"].digest
    assert names(reads) == ["a.py", "a.py"]


def test_what_is_to_be_left_out_is(tmp_path):
    put(tmp_path, a_py="", out__b_py="", outer__c_py="", n_py="")
    write(tmp_path / ".loop-close" / "x.json", "")
    assert list(take(tmp_path, {}, leave_out=("n.py", "out/")).entries) == ["a.py", "outer/c.py"]


@pytest.mark.parametrize(
    ("name", "content", "is_kept"),
    [
        ("a.py", b"x" * MAX_KEPT, True),
        ("a.py", b"x" * (MAX_KEPT + 1), False),
        ("a.py", b"x\0y", False),
        ("a.pyi", b"\xff\xfe", True),
        ("test_tokens.py", b"x", True),
        ("Password.PYI", b"x", False),
        *((f"private/{name}", b"KEY=1", False) for name in PRIVATE),
    ],
)
def test_contents_are_python_of_moderate_size(tmp_path, name, content, is_kept):
    write(tmp_path / name, content)
    snapshot = take(tmp_path, {})
    assert list(snapshot.contents.values()) == ([content] if is_kept else [])
    assert len(snapshot.entries[name].digest) == 32


def test_mode_of_a_module_says_nothing(tmp_path):
    put(tmp_path, a_py="x = 1\n", data="x")
    for name in ("a.py", "data"):
        (tmp_path / name).chmod(0o600)
    assert list(take(tmp_path, {}).contents.values()) == [b"x = 1\n"]


def test_large_file_goes_by_size_and_time(tmp_path, reads):
    write(tmp_path / "a.csv", b"x" * (MAX_READ + 1))
    first = take(tmp_path, {}).entries["a.csv"]
    write(tmp_path / "a.csv", b"y" * (MAX_READ + 1))
    assert take(tmp_path, {}).entries["a.csv"] == first
    os.utime(tmp_path / "a.csv", ns=(OLD + 1, OLD + 1))
    assert take(tmp_path, {}).entries["a.csv"].digest != first.digest
    assert names(reads) == []


@pytest.mark.parametrize(("name", "kept"), [("_MAX_READ_IN_ALL", 1), ("_MAX_KEPT_IN_ALL", 2)])
def test_what_is_read_and_kept_in_all_is_bounded(tmp_path, monkeypatch, name, kept):
    put(tmp_path, **{f"{letter}_py": letter * 10 for letter in "abcd"})
    monkeypatch.setattr(workspace, name, 9 if kept == 1 else 20)
    snapshot = take(tmp_path, {})
    assert len(snapshot.contents) == kept
    assert len({entry.digest for entry in snapshot.entries.values()}) == (2 if kept == 1 else 4)


@needs_posix
@pytest.mark.timeout(20)
def test_what_is_no_file_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path, a_py="")
    os.mkfifo("pipe.py")
    (tmp_path / "folder.py").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.py")
        assert list(take(tmp_path, {}).entries) == ["a.py"]
    assert workspace.read("pipe.py") is None
    assert workspace.read("folder.py") is None


@needs_posix
def test_link_stands_for_where_it_leads(tmp_path):
    outside = tmp_path / "outside.py"
    outside.write_text("x = 1\n")
    project = tmp_path / "project"
    put(project, a_py="")
    (project / "link.py").symlink_to(outside)
    (project / "nowhere.py").symlink_to("gone.py")
    (project / "folder").symlink_to(tmp_path)
    first = take(project, {})
    assert sorted(first.entries) == ["a.py", "folder", "link.py", "nowhere.py"]
    assert list(first.contents.values()) == [b""]
    outside.write_text("x = 2\n")
    assert take(project, first.entries).entries == first.entries
    (project / "link.py").unlink()
    (project / "link.py").symlink_to("a.py")
    assert take(project, first.entries).entries["link.py"].digest != first.entries["link.py"].digest
    assert workspace.read(str(project / "link.py")) is None


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_private_file_goes_by_its_time(tmp_path):
    put(tmp_path, a_py="x", b_py="y")
    (tmp_path / "a.py").chmod(0)
    snapshot = take(tmp_path, {})
    assert list(snapshot.entries) == ["a.py", "b.py"]
    assert list(snapshot.contents.values()) == [b"y"]


def test_file_that_cannot_be_read_goes_by_its_time(tmp_path, monkeypatch):
    put(tmp_path, a_py="x")
    monkeypatch.setattr(workspace, "read", lambda path: None)
    snapshot = take(tmp_path, {})
    assert (len(snapshot.entries["a.py"].digest), snapshot.contents) == (32, {})


def test_file_that_vanishes_is_passed_over(tmp_path, monkeypatch):
    put(tmp_path, a_py="x", b_py="y")
    found = workspace.Listing(["a.py", "b.py", "gone.py", "nul\0.py"], "git")
    monkeypatch.setattr(workspace, "list_files", lambda root: found)
    snapshot = take(tmp_path, {})
    assert (list(snapshot.entries), snapshot.listed_by) == (["a.py", "b.py"], "git")


def test_root_that_is_not_there_is_a_problem(tmp_path):
    snapshot = take(tmp_path / "gone", {"a.py": FileEntry(size=1, mtime_ns=1, digest="x")})
    assert (dict(snapshot.entries), snapshot.problem) == ({}, f"{tmp_path / 'gone'} is not a folder")


def test_problem_of_the_list_is_passed_on_and_no_content_is_kept(tmp_path, monkeypatch):
    put(tmp_path, a_py="x")
    monkeypatch.setattr(workspace, "list_files", lambda root: workspace.Listing(["a.py"], "walk", "why"))
    snapshot = take(tmp_path, {})
    assert (snapshot.problem, snapshot.contents) == ("why", {})


@pytest.mark.parametrize(
    "path",
    [
        "../{0}.py",
        "..",
        "in/../../{0}.py",
        "in/..",
        "{1}/{0}.py",
        "/{0}.py",
        "in/\0.py",
        "in\0/a.py",
        "in/./a.py",
        "./in/a.py",
        "",
        "//{0}.py",
    ],
)
def test_path_out_of_the_root_is_skipped(tmp_path, reads, monkeypatch, path):
    put(tmp_path, secret_py="x", project__in__a_py="y")
    found = [path.format("secret", tmp_path), "in/a.py", "in/..a.py", "a..b/c.py"]
    put(tmp_path / "project", **{"in__..a_py": "", "a..b__c_py": "", "secret_py": "z"})
    monkeypatch.setattr(workspace, "list_files", lambda root: workspace.Listing(found, "git"))
    assert list(take(tmp_path / "project", {}).entries) == ["a..b/c.py", "in/..a.py", "in/a.py"]
    assert "secret.py" not in names(reads)


def test_path_of_absurd_depth_is_skipped(tmp_path, monkeypatch):
    put(tmp_path, a_py="x", d__d__b_py="y")
    found = ["a.py", "d/d/b.py", "d/" * 20_000 + "c.py"]
    monkeypatch.setattr(workspace, "list_files", lambda root: workspace.Listing(found, "git"))
    assert list(take(tmp_path, {}).entries) == ["a.py", "d/d/b.py"]


@needs_posix
@needs_git
def test_index_entry_below_a_link_is_not_followed(tmp_path, reads):
    put(
        tmp_path,
        outside__secret_py="x",
        outside__in__x_py="",
        outside__deep__secret_py="x",
        project__a_py="y",
    )
    project = tmp_path / "project"
    git(project, "init", "-q")
    git(project, "add", "-A")
    blob = git(project, "rev-parse", ":a.py")
    for path in ("link/secret.py", "link/deep/secret.py", "link/in"):
        git(project, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", "--replace")
    (project / "link").symlink_to(tmp_path / "outside")
    assert sorted(take(project, {}).entries) == ["a.py", "link"]
    assert names(reads) == ["a.py"]


@needs_posix
def test_name_that_is_no_text_is_spelled(tmp_path, reads):
    path = os.fsencode(tmp_path) + b"/\xff\xc3\xa4.py"
    with open(path, "w") as file:
        file.write("x")
    os.utime(path, ns=(OLD, OLD))
    snapshot = take(tmp_path, {})
    assert list(snapshot.entries) == ["\\udcffä.py"]
    names(reads)
    assert take(tmp_path, snapshot.entries).entries == snapshot.entries
    assert names(reads) == []


def git(folder, *arguments):
    settings = ("user.name=A", "user.email=a@b.invalid", "protocol.file.allow=always")
    options = [part for setting in settings for part in ("-c", setting)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *options, *arguments], cwd=folder, check=True, capture_output=True, env=environment
    )
    return done.stdout.decode("utf-8", "replace").strip()


@needs_git
def test_commit_changes_nothing(tmp_path):
    put(tmp_path, a_py="x = 1\n", src__b_py="y = 1\n")
    git(tmp_path, "init", "-q")
    before = take(tmp_path, {})
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    after = take(tmp_path, before.entries)
    assert (after.entries, after.contents, after.listed_by) == (before.entries, {}, "git")


@needs_git
def test_branch_and_back_is_no_change_of_content(tmp_path):
    put(tmp_path, a_py="x = 1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    before = take(tmp_path, {})
    git(tmp_path, "rm", "-q", "a.py")
    assert dict(take(tmp_path, before.entries).entries) == {}
    git(tmp_path, "reset", "-q", "--hard")
    digests = {path: entry.digest for path, entry in take(tmp_path, before.entries).entries.items()}
    assert digests == {"a.py": before.entries["a.py"].digest}


@needs_git
def test_files_of_submodules_belong_to_the_project(tmp_path):
    library, main = tmp_path / "library", tmp_path / "main"
    for folder in (library, main):
        put(folder, lib_py="x = 1\n")
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "first")
    git(main, "submodule", "--quiet", "add", str(library), "sub")
    assert list(take(main, {}).entries) == ["lib.py", "sub/lib.py"]


def test_of_many_changed_files_those_written_last_are_read(tmp_path):
    for number in range(4):
        (tmp_path / f"m{number}.py").write_text(f"X = {number}\n")
        os.utime(tmp_path / f"m{number}.py", (1_000_000_000 + number,) * 2)
    whole = take(tmp_path, {})
    assert whole.unread == frozenset()
    some = take(tmp_path, {}, most=2)
    assert some.unread == {"m0.py", "m1.py"}
    assert [some.entries[name] == whole.entries[name] for name in sorted(whole.entries)] == [
        False,
        False,
        True,
        True,
    ]
    assert take(tmp_path, {}, most=2).entries == some.entries
    assert take(tmp_path, whole.entries, most=0) == whole._replace(contents={})


def test_only_what_is_known_is_looked_at(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "m.py").write_text("X = 1\n")
    (tmp_path / "n.py").write_text("Y = 1\n")
    known = {name: FileEntry(size=0, mtime_ns=-1, digest="") for name in ("a/m.py", "gone.py", "../n.py")}
    assert take_known(tmp_path, known).entries.keys() == {"a/m.py"}
